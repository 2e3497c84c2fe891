# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The format and the version around a record that is written as JSON: only those meant are opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .errors import FormatError, PartMoveError


class Envelope(NamedTuple):
    """The format and the version that stand in a record beside its fields.

    name: what messages call such a record. remedy: the way out for one that is refused. other_version: the
    error for a record of the same format in another version.
    """

    name: str
    format: str
    version: int
    remedy: str
    error: type[PartMoveError] = FormatError
    other_version: type[PartMoveError] = FormatError

    def around(self, fields: Mapping[str, object]) -> dict[str, object]:
        """The fields with the format and the version before them."""
        return {"format": self.format, "version": self.version, **fields}

    def parsed(self, data: bytes, where: str) -> dict[str, Any]:
        """The fields of a record that is written as a JSON object; raises one of the errors."""
        try:
            value = json_object(data)
        except ValueError as error:
            raise self.error(f"{where} is no JSON object: {error}", remedy=self.remedy) from error
        return self.opened(value, where)

    def opened(self, value: object, where: str) -> dict[str, Any]:
        """The fields without the format and the version; raises one of the errors."""
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
    """The JSON object in the data; raises ValueError for anything else, and for a key that is there twice."""
    try:
        value = _DECODER.decode(data.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is another JSON value")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


# Made once: json.loads makes a new one for each text.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates)
