# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Schemas for records from files, znodes, YAML and playbooks.

A `Record` has a schema for each field and checks mappings. An error names the place of the record, the wrong
field and the expected value.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

from .errors import FormatError, PartMoveError
from .text import cut

_SHOWN_CHARACTERS = 200
_FOREVER = 1_000_000_000


class InvalidValue(Exception):
    """A value, or a value inside a list or mapping, does not fit its schema.

    The check of a value raises this error without arguments; the enclosing schemas add the other fields.

    problem, remedy: sentences for a PartMoveError.
    place: path from the checked value to the wrong value, such as ``.cold.hosts[0]``.
    value: the wrong value; None if ``problem`` already has the text.
    """

    def __init__(self, problem: str = "", remedy: str = "", place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.place = place
        self.value: object = None

    def locate(self, place: str, schema: Schema, value: object) -> None:
        """Prepend the enclosing field to the place; the first call also sets value and remedy."""
        if not self.remedy:
            self.value, self.remedy = value, f"It has to be {schema.expected}"
        self.place = place + self.place


class FieldType(NamedTuple):
    """The schema of a single value.

    check: returns the parsed value. Raises InvalidValue, or FormatError with a complete message.
    expected: a description of valid values for messages, such as ``a whole number``.
    """

    check: Callable[[Any], Any]
    expected: str


def satisfying(is_valid: Callable[[Any], bool], expected: str) -> FieldType:
    """Accept the values for which ``is_valid`` returns true, and return them unchanged."""

    def check(value: object) -> object:
        if is_valid(value):
            return value
        raise InvalidValue

    return FieldType(check, expected)


def one_of(*words: str) -> FieldType:
    """Accept only the given words."""
    return satisfying(words.__contains__, " or ".join(words))


def word_of(values: Mapping[str, Any]) -> FieldType:
    """Accept the keys of the mapping, and return the value of the key."""

    def check(word: object) -> Any:
        if isinstance(word, str) and word in values:
            return values[word]
        raise InvalidValue

    return FieldType(check, " or ".join(values))


def list_of(schema: Schema, expected: str = "a list") -> FieldType:
    """Accept lists of any length in which every value fits the schema."""

    def check(value: object) -> list[Any]:
        if isinstance(value, list):
            return [_checked(f"[{index}]", schema, each) for index, each in enumerate(value)]
        raise InvalidValue

    return FieldType(check, expected)


def mapping_of(schema: Schema) -> FieldType:
    """Accept mappings with any text as keys in which every value fits the schema."""

    def check(value: object) -> dict[str, Any]:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: _checked(f"[{key!r}]", schema, each) for key, each in value.items()}
        raise InvalidValue

    return FieldType(check, "a mapping")


def or_none(schema: Schema) -> FieldType:
    """Accept None and the values of the schema."""
    check = schema.check
    return FieldType(lambda value: None if value is None else check(value), f"null or {schema.expected}")


def or_its_text(schema: FieldType, parse: Callable[[str], Any]) -> FieldType:
    """Accept the values of the schema, and texts of which ``parse`` makes one.

    Templates of ansible-core before 2.19 return text for a number, and only modules convert the text back.

    parse: raises ValueError for other texts.
    """

    def check(value: object) -> Any:
        if isinstance(value, str):
            try:
                value = parse(value)
            except ValueError:
                raise InvalidValue from None
        return schema.check(value)

    return FieldType(check, schema.expected)


def _flag_of(text: str) -> bool:
    flags = {"true": True, "false": False}
    if text.lower() not in flags:
        raise ValueError
    return flags[text.lower()]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: object) -> int:
    # Plans have millions of counts; calling a predicate as `satisfying` does would be slower.
    if isinstance(value, int) and value >= 0 and not isinstance(value, bool):
        return value
    raise InvalidValue


def _is_time(value: object) -> bool:
    # A whole number may be too large for a float.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_FOREVER < value < _FOREVER


TEXT = satisfying(lambda value: isinstance(value, str), "text in quotes")
FLAG = satisfying(lambda value: isinstance(value, bool), "true or false")
WHOLE_NUMBER = satisfying(_is_whole, "a whole number")
COUNT = FieldType(_count, "a whole number, 0 or more")
SECONDS = satisfying(_is_time, "a number of seconds, below a thousand million")

FLAG_SETTING = or_its_text(FLAG, _flag_of)
PORT_SETTING = or_its_text(WHOLE_NUMBER, int)
SECONDS_SETTING = or_its_text(SECONDS, float)


def parse_base64(text: object) -> bytes:
    """Decode base64 text. Raises InvalidValue for other values."""
    if not isinstance(text, str):
        raise InvalidValue
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise InvalidValue from None


class Record:
    """The schema of a mapping.

    fields: name → schema of the required fields. optional: name → schema of the optional fields.
    error: the class of the error of `read`.
    remedy: a sentence for every error, after the description of the expected value.
    extra_keys: whether unknown keys are allowed; they are dropped.
    """

    def __init__(
        self,
        fields: Mapping[str, Schema],
        optional: Mapping[str, Schema] | None = None,
        *,
        error: type[PartMoveError] = FormatError,
        remedy: str = "",
        extra_keys: bool = False,
    ) -> None:
        self._required = fields
        self._schemas = {**fields, **(optional or {})}
        self._checks = [(name, schema.check) for name, schema in self._schemas.items()]
        self._error = error
        self._remedy = remedy
        self._extra_keys = extra_keys
        self.expected = f"a mapping of {', '.join(self._schemas)}"

    def read(self, value: object, where: str) -> dict[str, Any]:
        """Return the present fields, parsed. Raises the error class of the record.

        where: the place of the record, for messages, such as a path or a file and line.
        """
        try:
            return self.check(value)
        except InvalidValue as invalid:
            self._explain(invalid, "", self, value)
            subject = f"{where}: {invalid.place.lstrip('.')}" if invalid.place else where
            raise self._refused(f"{subject} {invalid.problem}", invalid.remedy) from None
        except FormatError as error:
            raise self._refused(f"{where}: {error.message}", error.remedy) from error

    def check(self, value: Any) -> dict[str, Any]:
        """Do the work of `read` for a nested record. Raises InvalidValue or FormatError."""
        if not isinstance(value, dict):
            raise InvalidValue
        if value.keys() != self._schemas.keys():
            self._check_keys(value)
        fields = {}
        try:
            for name, check in self._checks:
                if name in value:
                    fields[name] = check(value[name])
        except InvalidValue as invalid:
            self._explain(invalid, _place(name), self._schemas[name], value[name])
            raise
        return fields

    def shown(self, value: object) -> str:
        """Describe a wrong value for messages."""
        return f"is {cut(repr(value), _SHOWN_CHARACTERS)}"

    def _explain(self, invalid: InvalidValue, place: str, schema: Schema, value: object) -> None:
        invalid.locate(place, schema, value)
        invalid.problem = invalid.problem or self.shown(invalid.value)

    def _check_keys(self, value: Mapping[Any, Any]) -> None:
        for key in value:
            if key not in self._schemas and not self._extra_keys:
                raise InvalidValue("is not a known key", f"Known are {', '.join(self._schemas)}", _place(key))
        for name, schema in self._required.items():
            if name not in value:
                raise InvalidValue("is missing", f"It has to be {schema.expected}", _place(name))

    def _refused(self, message: str, remedy: str) -> PartMoveError:
        return self._error(message, remedy=". ".join(filter(None, (remedy, self._remedy))))


class Settings(Record):
    """The schema of connection settings, of which only the ``required`` ones are mandatory.

    A setting of None counts as absent. Messages show no values, because a value may be a secret.
    """

    def __init__(
        self,
        fields: Mapping[str, Schema],
        *,
        required: Mapping[str, Schema] | None = None,
        error: type[PartMoveError] = PartMoveError,
    ) -> None:
        super().__init__(required or {}, fields, error=error)

    def check(self, value: Any) -> dict[str, Any]:
        """Return the settings that are not None, parsed. Raises InvalidValue."""
        if isinstance(value, dict):
            value = {name: each for name, each in value.items() if each is not None}
        return super().check(value)

    def shown(self, value: object) -> str:
        """Describe a wrong value by its type only."""
        return f"is of type {type(value).__name__}"


def _checked(place: str, schema: Schema, value: object) -> Any:
    try:
        return schema.check(value)
    except InvalidValue as invalid:
        invalid.locate(place, schema, value)
        raise


def _place(key: object) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


Schema = Union[FieldType, Record]
