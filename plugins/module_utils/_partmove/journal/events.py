# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The events of a journal of runs: which there are, and which fields the line of each has.

A line is a JSON object with `HEAD`, then the fields of its event. Every line says by itself what it is, as
runs that go on at the same time append to the same file. docs/reference/journal.md has the words of this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from ..records import (
    COUNT,
    TEXT,
    WHOLE_NUMBER,
    FieldType,
    Record,
    Schema,
    list_of,
    mapping_of,
    parse_base64,
    satisfying,
)

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
    EXCHANGING = "exchanging"
    REPAIRING = "repairing"
    WRITING = "writing"
    REPAIRED = "repaired"
    LEFT = "left"
    RESTORING = "restoring"
    RESTORED = "restored"
    ENDED = "ended"


class Field(NamedTuple):
    """A field of an event: its kind, and what it says, for documentation."""

    kind: Schema
    meaning: str
    optional: bool = False


class Description(NamedTuple):
    """When an event is written, for documentation, and its fields in the order of the line."""

    when: str
    fields: Mapping[str, Field]


def _base64(text: object) -> object:
    """The text as it is, which results of modules show; raises InvalidValue where it stands for no bytes."""
    parse_base64(text)
    return text


_PARTS = Record(
    {
        "part": TEXT,
        "digest": satisfying(
            lambda text: isinstance(text, str) and _DIGEST.fullmatch(text) is not None, "SHA-256"
        ),
        "replicas": list_of(TEXT, "a list of names"),
    },
    {"data": FieldType(_base64, "base64")},
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
    Event.EXCHANGING: Description(
        "A replica is about to exchange the names of a table and its twin.",
        {
            "shard_path": _SHARD_PATH,
            "replica": Field(TEXT, "name of the replica"),
            "table": Field(TEXT, "database and name that the table has for people"),
            "place": Field(TEXT, "ensemble and path of the table that gets the name"),
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
