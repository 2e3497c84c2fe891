# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encodes and parses the lines of a journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..envelope import json_object
from ..errors import FormatError
from ..records import Record
from ..text import shown
from .events import EVENTS, HEAD, Event, Field

VERSION = 1
"""The version of the format; lines of other versions are refused."""

_REMEDY = "Give an unchanged journal file of this collection"


class JournalLine(NamedTuple):
    """A parsed line; ``fields`` are the fields of the event."""

    time: str
    run: str
    event: Event
    fields: Mapping[str, Any]


def _record(fields: Mapping[str, Field]) -> Record:
    required = {name: each.schema for name, each in fields.items() if not each.optional}
    optional = {name: each.schema for name, each in fields.items() if each.optional}
    return Record(required, optional, remedy=_REMEDY)


RECORDS: Mapping[Event, Record] = {event: _record(each.fields) for event, each in EVENTS.items()}
"""Event → schema of its fields."""

_BY_NAME = {each.value: each for each in Event}
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded_lines(time: str, run: str, event: Event, rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Encode a line for each row of fields. The event must have at least one field."""
    # The head is encoded once, because a run writes hundreds of thousands of rows.
    head = _ENCODE(dict(zip(HEAD, (VERSION, time, run, event.value))))[:-1]
    for row in rows:
        yield f"{head},{_ENCODE(row)[1:]}\n".encode()


def parse_line(data: bytes, where: str) -> JournalLine:
    """Parse a line of `encoded_lines`. ``where``: the line, for messages. Raises FormatError."""
    try:
        fields = json_object(data)
    except ValueError as error:
        raise FormatError(f"{where} is no JSON object: {error}", remedy=_REMEDY) from error
    head = {name: fields.pop(name, None) for name in HEAD}
    version, event = head["version"], head["event"]
    if isinstance(version, bool) or version != VERSION:
        raise FormatError(
            f"{where}: its version is {version!r}, this collection reads version {VERSION}", remedy=_REMEDY
        )
    known = _BY_NAME.get(event) if isinstance(event, str) else None
    if known is None:
        raise FormatError(
            f"{where}: there is no event {shown(str(event))}",
            remedy=f"{_REMEDY}; a later version of the collection may know it",
        )
    time, run = head["time"], head["run"]
    if not isinstance(time, str) or not isinstance(run, str):
        raise FormatError(f"{where}: time and run are no texts", remedy=_REMEDY)
    return JournalLine(time, run, known, RECORDS[known].read(fields, where))


def read_lines(lines: Iterable[bytes], where: str) -> Iterator[tuple[int, JournalLine | None]]:
    """Parse the lines of a file, and yield number and content of each. Empty lines are skipped.

    The content of an unfinished line is None. Raises FormatError for lines of another format.
    """
    for number, data in enumerate(lines, 1):
        text = data.rstrip(b"\r\n")
        if text and text == data:
            yield number, None
        elif text:
            yield number, _parse_unless_cut(text, f"{where}, line {number}")


def is_cut(data: bytes) -> bool:
    """Whether ``data``, without its line end, is the beginning of an unfinished line."""
    if data[: len(_BEGIN)] != _BEGIN[: len(data)]:
        return False
    if not data.endswith(b"}"):
        return True
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        # A row has objects, after each of which the line may end.
        return error.pos == len(error.doc)
    except ValueError:
        pass
    return False


def _parse_unless_cut(data: bytes, where: str) -> JournalLine | None:
    # Nearly all lines are whole, and are parsed once.
    if not data.endswith(b"}") and is_cut(data):
        return None
    try:
        return parse_line(data, where)
    except FormatError:
        if is_cut(data):
            return None
        raise


_BEGIN = f'{{"version":{VERSION},'.encode()
