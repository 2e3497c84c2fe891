# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records that come from files, znodes, YAML and playbooks: their fields, and what each of these may be.

A `Record` is described once, by a kind for each field, and then checks mappings. What is refused is told in
one sentence: where the record is, which field of it is wrong, and what that field has to be.
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
    """A value, or something in it, is not of its kind.

    The check of a value raises it without arguments; what is around the value adds the rest.

    problem, remedy: for a PartMoveError. place: where it is in what was checked, such as ``.cold.hosts[0]``.
    value: what is not of its kind; None where ``problem`` says what is wrong.
    """

    def __init__(self, problem: str = "", remedy: str = "", place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.place = place
        self.value: object = None

    def locate(self, place: str, kind: Schema, value: object) -> None:
        """Say it of what has, in that place, the value that was checked; it had to be of that kind."""
        if not self.remedy:
            self.value, self.remedy = value, f"It has to be {kind.expected}"
        self.place = place + self.place


class FieldType(NamedTuple):
    """The kind of a value by itself.

    check: gives what is kept of a value. It raises Unfit, or FormatError with a message that says it all.
    expected: what a value of this kind is, for a sentence: ``a whole number``.
    """

    check: Callable[[Any], Any]
    expected: str


def satisfying(is_fit: Callable[[Any], bool], expected: str) -> FieldType:
    """Values that are kept as they are if they pass the test."""

    def check(value: object) -> object:
        if is_fit(value):
            return value
        raise InvalidValue

    return FieldType(check, expected)


def one_of(*words: str) -> FieldType:
    """Some words, and no other text."""
    return satisfying(words.__contains__, " or ".join(words))


def word_of(values: Mapping[str, Any]) -> FieldType:
    """The words that are keys of the mapping, of which the value is kept."""

    def check(word: object) -> Any:
        if isinstance(word, str) and word in values:
            return values[word]
        raise InvalidValue

    return FieldType(check, " or ".join(values))


def list_of(kind: Schema, expected: str = "a list") -> FieldType:
    """Lists of any length, of values of one kind."""

    def check(value: object) -> list[Any]:
        if isinstance(value, list):
            return [_checked(f"[{index}]", kind, each) for index, each in enumerate(value)]
        raise InvalidValue

    return FieldType(check, expected)


def mapping_of(kind: Schema) -> FieldType:
    """Mappings with any text as keys, and with values of one kind."""

    def check(value: object) -> dict[str, Any]:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: _checked(f"[{key!r}]", kind, each) for key, each in value.items()}
        raise InvalidValue

    return FieldType(check, "a mapping")


def or_none(kind: Schema) -> FieldType:
    """Values of one kind, and None."""
    check = kind.check
    return FieldType(lambda value: None if value is None else check(value), f"null or {kind.expected}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: object) -> int:
    # Plans have millions of these, so it is written out.
    if isinstance(value, int) and value >= 0 and not isinstance(value, bool):
        return value
    raise InvalidValue


def _is_time(value: object) -> bool:
    # Some whole numbers are more than a float can hold.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_FOREVER < value < _FOREVER


TEXT = satisfying(lambda value: isinstance(value, str), "text in quotes")
FLAG = satisfying(lambda value: isinstance(value, bool), "true or false")
WHOLE_NUMBER = satisfying(_is_whole, "a whole number")
COUNT = FieldType(_count, "a whole number, 0 or more")
SECONDS = satisfying(_is_time, "a number of seconds, below a thousand million")


def parse_base64(text: object) -> bytes:
    """The bytes that a text in base64 stands for; raises Unfit for anything else."""
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else _unfit()
    except (NotBase64, ValueError):
        return _unfit()


def _unfit() -> bytes:
    raise InvalidValue


class Record:
    """The kind of a mapping: ``fields`` by name, and those that may be left out as ``optional``.

    error: what `read` raises. remedy: the way out, beside what the field has to be. others: whether there may
    be other keys, of which nothing is kept.
    """

    def __init__(
        self,
        fields: Mapping[str, Schema],
        optional: Mapping[str, Schema] | None = None,
        *,
        error: type[PartMoveError] = FormatError,
        remedy: str = "",
        others: bool = False,
    ) -> None:
        self._required = fields
        self._kinds = {**fields, **(optional or {})}
        self._checks = [(name, kind.check) for name, kind in self._kinds.items()]
        self._error = error
        self._remedy = remedy
        self._others = others
        self.expected = f"a mapping of {', '.join(self._kinds)}"

    def read(self, value: object, where: str) -> dict[str, Any]:
        """The fields that are there; raises the error of the record. ``where`` is what messages call it."""
        try:
            return self.check(value)
        except InvalidValue as unfit:
            self._explain(unfit, "", self, value)
            subject = f"{where}: {unfit.place.lstrip('.')}" if unfit.place else where
            raise self._refused(f"{subject} {unfit.problem}", unfit.remedy) from None
        except FormatError as error:
            raise self._refused(f"{where}: {error.message}", error.remedy) from error

    def check(self, value: Any) -> dict[str, Any]:
        """What `read` gives, for a record that is inside of another; raises Unfit or FormatError."""
        if not isinstance(value, dict):
            raise InvalidValue
        if value.keys() != self._kinds.keys():
            self._check_keys(value)
        fields = {}
        try:
            for name, check in self._checks:
                if name in value:
                    fields[name] = check(value[name])
        except InvalidValue as unfit:
            self._explain(unfit, _place(name), self._kinds[name], value[name])
            raise
        return fields

    def shown(self, value: object) -> str:
        """What messages say of a value that is refused."""
        return f"is {cut(repr(value), _SHOWN_CHARACTERS)}"

    def _explain(self, unfit: InvalidValue, place: str, kind: Schema, value: object) -> None:
        unfit.locate(place, kind, value)
        unfit.problem = unfit.problem or self.shown(unfit.value)

    def _check_keys(self, value: Mapping[Any, Any]) -> None:
        for key in value:
            if key not in self._kinds and not self._others:
                raise InvalidValue("is not a known key", f"Known are {', '.join(self._kinds)}", _place(key))
        for name, kind in self._required.items():
            if name not in value:
                raise InvalidValue("is missing", f"It has to be {kind.expected}", _place(name))

    def _refused(self, message: str, remedy: str) -> PartMoveError:
        return self._error(message, remedy=". ".join(filter(None, (remedy, self._remedy))))


class Settings(Record):
    """A record of connection settings as people write them: what is None counts as left out.

    Every setting may be left out but the ``needed`` ones. No message shows a value: it may be a secret.
    """

    def __init__(
        self,
        fields: Mapping[str, Schema],
        *,
        needed: Mapping[str, Schema] | None = None,
        error: type[PartMoveError] = PartMoveError,
    ) -> None:
        super().__init__(needed or {}, fields, error=error)

    def check(self, value: Any) -> dict[str, Any]:
        """The settings that are given; raises Unfit."""
        if isinstance(value, dict):
            value = {name: each for name, each in value.items() if each is not None}
        return super().check(value)

    def shown(self, value: object) -> str:
        """What messages say of a value that is refused: nothing but its type."""
        return f"is of type {type(value).__name__}"


def _checked(place: str, kind: Schema, value: object) -> Any:
    try:
        return kind.check(value)
    except InvalidValue as unfit:
        unfit.locate(place, kind, value)
        raise


def _place(key: object) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


Schema = Union[FieldType, Record]
