# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Marks JSON records with a format and a version, and opens only records with the expected marks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .errors import FormatError, PartMoveError


class Envelope(NamedTuple):
    """The keys ``format`` and ``version`` of a JSON record.

    name: the record in messages, such as "plan".
    remedy: the remedy of every error.
    error: the error class for text without the expected format.
    other_version: the error class for a record of the same format with another version.
    """

    name: str
    format: str
    version: int
    remedy: str
    error: type[PartMoveError] = FormatError
    other_version: type[PartMoveError] = FormatError

    def around(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Return the fields with format and version in front."""
        return {"format": self.format, "version": self.version, **fields}

    def parsed(self, data: bytes, where: str) -> dict[str, Any]:
        """Parse a JSON object and return its fields as `opened` does. Raises the same errors."""
        try:
            value = json_object(data)
        except ValueError as error:
            raise self.error(f"{where} is no JSON object: {error}", remedy=self.remedy) from error
        return self.opened(value, where)

    def opened(self, value: object, where: str) -> dict[str, Any]:
        """Return the fields without format and version. Raises ``error`` or ``other_version``."""
        fields = dict(value) if isinstance(value, dict) else {}
        if fields.pop("format", None) != self.format:
            raise self.error(
                f"{where}: this is no {self.name}, its format is not {self.format}", remedy=self.remedy
            )
        version = fields.pop("version", None)
        if isinstance(version, bool) or not isinstance(version, int) or version != self.version:
            raise self.other_version(
                f"{where}: its version is {version!r}, this collection reads version {self.version}",
                remedy=self.remedy,
            )
        return fields


def json_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError for other data and for duplicate keys."""
    try:
        value = _DECODER.decode(data.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is a JSON value of another type")
    return value


def named_version(data: bytes, versions: Collection[int]) -> int:
    """Return the version that a record names if it is among ``versions``, otherwise the newest of them."""
    try:
        version = json_object(data).get("version")
    except ValueError:
        return max(versions)
    return version if isinstance(version, int) and version in versions else max(versions)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


# json.loads would build a decoder for each text, as soon as it gets a hook.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates)
