# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of a journal of runs: which events there are, which fields each has, as text and back.

A line is a JSON object with `HEAD`, then the fields of its event. Every line says by itself what it is, as
runs that go on at the same time append to the same file. docs/journal.md has the words of this file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from ..envelope import json_object
from ..errors import FormatError
from ..records import COUNT, TEXT, WHOLE_NUMBER, Kind, Record, Value, list_of, mapping_of, parse_base64, that
from ..text import shown

VERSION = 1
"""Of the format; a line of another one is refused."""

_REMEDY = "Give a file that runs of this collection have written as their journal, as they wrote it"
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Event(str, Enum):
    """What a line tells."""

    STARTED = "started"
    SWITCHING = "switching"
    MOVED = "moved"
    REHEATED = "reheated"
    UNDONE = "undone"
    COPIES_REMOVED = "copies_removed"
    DEFERRED = "deferred"
    FAILED = "failed"
    ATTACHING = "attaching"
    ATTACH_UNDONE = "attach_undone"
    TWIN_DROPPING = "twin_dropping"
    TWIN_MOVED = "twin_moved"
    REPAIRING = "repairing"
    WRITING = "writing"
    REPAIRED = "repaired"
    LEFT = "left"
    RESTORING = "restoring"
    RESTORED = "restored"
    ENDED = "ended"


class Field(NamedTuple):
    """A field of an event: its kind, and what it says, for documentation."""

    kind: Kind
    meaning: str
    optional: bool = False


class Description(NamedTuple):
    """When an event is written, for documentation, and its fields in the order of the line."""

    when: str
    fields: Mapping[str, Field]


def _base64(text: object) -> object:
    """The text as it is, which results of modules show; raises Unfit where it stands for no bytes."""
    parse_base64(text)
    return text


_PARTS = Record(
    {
        "part": TEXT,
        "digest": that(lambda text: isinstance(text, str) and _DIGEST.fullmatch(text) is not None, "SHA-256"),
        "replicas": list_of(TEXT, "a list of names"),
    },
    {"data": Value(_base64, "base64")},
)
_TEXTS = list_of(TEXT, "a list of texts")
_SHARD_PATH = Field(TEXT, "ZooKeeper path of the table")
_PARTITION = Field(TEXT, "id of the partition")
_PLACE = {"shard_path": _SHARD_PATH, "partition": _PARTITION}
_SWITCHED = {
    **_PLACE,
    "parts": Field(COUNT, "how many parts went over, of all replicas"),
    "znodes": Field(COUNT, "how many znodes registered them"),
    "bytes": Field(COUNT, "how many bytes of data these had"),
    "zxid": Field(COUNT, "the transaction of hot that did it, `mZxid` of State right after; 0 if not known"),
}
_WAY = Field(TEXT, "`COLD` for the way to the twin, `HOT` for the way back")
_REFUSED = {
    **_PLACE,
    "gate": Field(TEXT, "name of the [gate](gates.md)"),
    "reason": Field(TEXT, "what it saw"),
}
_REPAIR = {
    **_PLACE,
    "replica": Field(TEXT, "name of the replica"),
    "kind": Field(TEXT, "what it was"),
}

HEAD: Mapping[str, Field] = {
    "version": Field(COUNT, "version of this format"),
    "time": Field(TEXT, "when the line was written, in UTC, by the clock of the host that the module ran on"),
    "run": Field(TEXT, "id of the run, 32 hexadecimal digits"),
    "event": Field(TEXT, "name of the event"),
}
"""What every line begins with."""

EVENTS: Mapping[Event, Description] = {
    Event.STARTED: Description(
        "All was checked that can be before anything is written to a table.",
        {
            "module": Field(TEXT, "name of the module"),
            "collection": Field(TEXT, "version of the collection"),
            "user": Field(TEXT, "the user that the module ran as"),
            "host": Field(TEXT, "the host that it ran on"),
            "process": Field(COUNT, "id of the process there"),
            "hot": Field(TEXT, "members and chroot of the hot ensemble, as they were given"),
            "cold": Field(TEXT, "those of the cold ensemble; empty where only servers speak with it"),
            "work": Field(TEXT, "what the run was given to do"),
            "state": Field(TEXT, "`COLD` or `HOT`, for a move", optional=True),
            "shard_paths": Field(COUNT, "how many shard paths it has to do with", optional=True),
            "partitions": Field(COUNT, "how many partitions, where that is known", optional=True),
        },
    ),
    Event.SWITCHING: Description(
        "A partition is about to be switched by a multi on hot. Where no line after it tells what became of"
        " it, the multi was applied or not. It may be tried again, with another line.",
        {
            **_PLACE,
            "state": Field(TEXT, "State after the switch, `COLD` or `HOT`"),
            "state_before": Field(TEXT, "State as it was read"),
            "state_version": Field(COUNT, "data version of State as it was read"),
            "parts": Field(
                list_of(_PARTS, "a list of mappings"),
                "the registrations that go over: each `part`, the `digest` of its znodes, and the `replicas`"
                " for which it is registered with them; of a part without children also the `data` of its"
                " znode, in base64",
            ),
        },
    ),
    Event.MOVED: Description("A partition was switched to cold.", _SWITCHED),
    Event.REHEATED: Description("A partition was switched to hot.", _SWITCHED),
    Event.UNDONE: Description("A partition was switched to cold and is registered in hot again.", _REFUSED),
    Event.COPIES_REMOVED: Description(
        "The copies of a partition that hot registers were removed from cold.", _PLACE
    ),
    Event.DEFERRED: Description("The run is done with the shard path, and the partition stayed.", _REFUSED),
    Event.FAILED: Description(
        "The run is done with the shard path, and a person has to look at the partition.", _REFUSED
    ),
    Event.ATTACHING: Description(
        "A partition is about to be cloned from a table to its twin. Where no line after it tells what became"
        " of it, both tables may have it; the next run goes on.",
        {**_PLACE, "state": _WAY, "parts": Field(_TEXTS, "names of the parts that the source had")},
    ),
    Event.ATTACH_UNDONE: Description(
        "Clones are about to be dropped from the destination, as they are not what the source has.",
        {
            **_PLACE,
            "parts": Field(_TEXTS, "names of the parts of the destination"),
            "reason": Field(TEXT, "what was seen"),
        },
    ),
    Event.TWIN_DROPPING: Description(
        "Every replica has a clone of each of these parts, and they are about to be dropped from the source.",
        {**_PLACE, "parts": Field(_TEXTS, "names of the parts of the source")},
    ),
    Event.TWIN_MOVED: Description(
        "A partition went over to the other table.",
        {
            **_PLACE,
            "state": _WAY,
            "parts": Field(COUNT, "how many parts went over, on each replica"),
            "rows": Field(COUNT, "how many rows these had"),
            "bytes": Field(COUNT, "how many bytes they have on disk"),
            "left_behind": Field(_TEXTS, "names of the parts that came meanwhile, and stayed"),
        },
    ),
    Event.REPAIRING: Description(
        "A partition is about to be repaired, for one replica.",
        {
            **_REPAIR,
            "parts": Field(_TEXTS, "the parts that it was so for, or paths of what is no part"),
            "backup": Field(TEXT, "the file that keeps what will be deleted or changed, once something is"),
        },
    ),
    Event.WRITING: Description(
        "A repair is about to send a multi.",
        {
            "shard_path": _SHARD_PATH,
            "operations": Field(_TEXTS, "what the multi writes, in order"),
        },
    ),
    Event.REPAIRED: Description("An audit after the repair did not find it any more.", _REPAIR),
    Event.LEFT: Description(
        "A partition was not repaired.",
        {**_PLACE, "kind": Field(TEXT, "what it is"), "reason": Field(TEXT, "why")},
    ),
    Event.RESTORING: Description(
        "What a repair deleted or changed is about to be put back.",
        {
            "shard_path": _SHARD_PATH,
            "backup": Field(TEXT, "the file that it is put back from"),
            "znodes": Field(COUNT, "how many znodes that file has"),
        },
    ),
    Event.RESTORED: Description(
        "It was put back, or as much of it as could be.",
        {
            "shard_path": _SHARD_PATH,
            "created": Field(COUNT, "how many znodes were missing"),
            "set_back": Field(COUNT, "how many had other data"),
            "unchanged": Field(COUNT, "how many were as in the file"),
        },
    ),
    Event.ENDED: Description(
        "The run is over. One without it was killed, or goes on.",
        {
            "counts": Field(mapping_of(WHOLE_NUMBER), "the counts of the result of the module"),
            "error": Field(TEXT, "why it ended before it was done; empty if it was done"),
        },
    ),
}


class JournalLine(NamedTuple):
    """A line that was understood."""

    time: str
    run: str
    event: Event
    fields: Mapping[str, Any]


def _record(fields: Mapping[str, Field]) -> Record:
    needed = {name: each.kind for name, each in fields.items() if not each.optional}
    optional = {name: each.kind for name, each in fields.items() if each.optional}
    return Record(needed, optional, remedy=_REMEDY)


RECORDS: Mapping[Event, Record] = {event: _record(each.fields) for event, each in EVENTS.items()}
"""What the fields of each event have to be."""

_BY_NAME = {each.value: each for each in Event}
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded_lines(time: str, run: str, event: Event, rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """A line for each row of fields; the event has to have at least one field."""
    # The same for all rows, of which a run writes hundreds of thousands.
    head = _ENCODE(dict(zip(HEAD, (VERSION, time, run, event.value))))[:-1]
    for row in rows:
        yield f"{head},{_ENCODE(row)[1:]}\n".encode()


def parse_line(data: bytes, where: str) -> JournalLine:
    """What `encoded_lines` wrote, which messages call ``where``; raises FormatError for anything else."""
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
    """Number and meaning of each line of a file, but for empty ones; None stands for one that is cut off.

    Raises FormatError for what is no line of a journal.
    """
    for number, data in enumerate(lines, 1):
        text = data.rstrip(b"\r\n")
        if text and (text == data or is_cut(text)):
            yield number, None
        elif text:
            yield number, parse_line(text, f"{where}, line {number}")


def is_cut(data: bytes) -> bool:
    """Whether a line, without its line end, is the beginning of a line that was not written to its end."""
    return not data.endswith(b"}") and data[: len(_BEGIN)] == _BEGIN[: len(data)]


_BEGIN = f'{{"version":{VERSION},'.encode()
