# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The events of the journal and the fields of their lines.

A line is a JSON object with the fields of `HEAD`, then the fields of its event. Every line is complete by
itself, because concurrent runs append to the same file. docs/reference/journal.md repeats the descriptions of
this file.
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
    """The name of an event in a line."""

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
    LEDGER_WRITING = "ledger_writing"
    EXCHANGING = "exchanging"
    TABLE_ENDED = "table_ended"
    ALTERING = "altering"
    ALTERED = "altered"
    REPAIRING = "repairing"
    WRITING = "writing"
    REPAIRED = "repaired"
    LEFT = "left"
    RESTORING = "restoring"
    RESTORED = "restored"
    OWNER_SET = "owner_set"
    ENDED = "ended"


class Field(NamedTuple):
    """A field of an event: its schema, and its meaning for documentation."""

    schema: Schema
    meaning: str
    optional: bool = False


class Description(NamedTuple):
    """The description of an event for documentation, and its fields in the order of the line."""

    when: str
    fields: Mapping[str, Field]


def _base64(text: object) -> object:
    """Return the text unchanged, for results of modules. Raises InvalidValue for text other than base64."""
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
    "parts": Field(COUNT, "number of moved parts, of all replicas"),
    "znodes": Field(COUNT, "number of their znodes"),
    "bytes": Field(COUNT, "bytes of data in these znodes"),
    "zxid": Field(COUNT, "transaction id of the switch in hot, `mZxid` of State right after; 0 if unknown"),
}
_DIRECTION = Field(TEXT, "`COLD` for a move to the twin, `HOT` for a move back to the table")
_REFUSED = {
    **_PLACE,
    "gate": Field(TEXT, "name of the [gate](gates.md)"),
    "reason": Field(TEXT, "reason of the gate"),
}
_REPAIR = {
    **_PLACE,
    "replica": Field(TEXT, "name of the replica"),
    "kind": Field(TEXT, "kind of the finding"),
}

HEAD: Mapping[str, Field] = {
    "version": Field(COUNT, "version of this format"),
    "time": Field(TEXT, "time of the line in UTC, by the clock of the module's host"),
    "run": Field(TEXT, "id of the run, 32 hexadecimal digits"),
    "event": Field(TEXT, "name of the event"),
}
"""The first fields of every line."""

EVENTS: Mapping[Event, Description] = {
    Event.STARTED: Description(
        "The run has finished all checks that precede the first write to a table.",
        {
            "module": Field(TEXT, "name of the module"),
            "collection": Field(TEXT, "version of the collection"),
            "user": Field(TEXT, "user of the module's process"),
            "host": Field(TEXT, "host of the module's process"),
            "process": Field(COUNT, "process id of the module"),
            "hot": Field(TEXT, "configured members and chroot of the hot ensemble"),
            "cold": Field(
                TEXT,
                "configured members and chroot of the cold ensemble; empty if only servers connect to the"
                " cold ensemble",
            ),
            "work": Field(TEXT, "description of the work of the run"),
            "state": Field(TEXT, "`COLD` or `HOT`, for a move", optional=True),
            "shard_paths": Field(COUNT, "number of shard paths of the run", optional=True),
            "partitions": Field(COUNT, "number of partitions of the run, if known", optional=True),
        },
    ),
    Event.SWITCHING: Description(
        "A partition is about to be switched by a multi on hot. Without a later line about the partition,"
        " the multi may or may not have been applied. A retry writes another line.",
        {
            **_PLACE,
            "state": Field(TEXT, "State after the switch, `COLD` or `HOT`"),
            "state_before": Field(TEXT, "State before the switch"),
            "state_version": Field(COUNT, "data version of State before the switch"),
            "parts": Field(
                list_of(_PARTS, "a list of mappings"),
                "the part znodes to move: each `part`, the `digest` of its znodes, and the `replicas` with"
                " these znodes; for a part znode without children also its `data` in base64",
            ),
        },
    ),
    Event.MOVED: Description("A partition was switched to cold.", _SWITCHED),
    Event.REHEATED: Description("A partition was switched to hot.", _SWITCHED),
    Event.UNDONE: Description("A partition was switched to cold and is registered in hot again.", _REFUSED),
    Event.COPIES_REMOVED: Description(
        "The copies of a partition's part znodes were removed from cold; the originals are in hot.", _PLACE
    ),
    Event.DEFERRED: Description(
        "The run has finished the shard path and left the partition unchanged.", _REFUSED
    ),
    Event.FAILED: Description(
        "The run has finished the shard path; the partition needs manual action.", _REFUSED
    ),
    Event.ATTACHING: Description(
        "A partition is about to be cloned from a table to its twin. Without a later line about the"
        " partition, both tables may have its rows; the next run continues.",
        {**_PLACE, "state": _DIRECTION, "parts": Field(_TEXTS, "names of the parts of the source")},
    ),
    Event.ATTACH_UNDONE: Description(
        "Clones are about to be dropped from the destination, because they differ from the parts of the"
        " source.",
        {
            **_PLACE,
            "parts": Field(_TEXTS, "names of the parts of the destination"),
            "reason": Field(TEXT, "the difference"),
        },
    ),
    Event.TWIN_DROPPING: Description(
        "Every replica has a clone of each of the parts, and the parts are about to be dropped from the"
        " source.",
        {**_PLACE, "parts": Field(_TEXTS, "names of the parts of the source")},
    ),
    Event.TWIN_MOVED: Description(
        "A partition has moved to the other table.",
        {
            **_PLACE,
            "state": _DIRECTION,
            "parts": Field(COUNT, "number of moved parts, on each replica"),
            "rows": Field(COUNT, "rows of these parts"),
            "bytes": Field(COUNT, "bytes of these parts on disk"),
            "left_behind": Field(_TEXTS, "names of parts inserted during the move, which stayed"),
        },
    ),
    Event.LEDGER_WRITING: Description(
        "The module `twin_ledger` or `twin_alter` is about to change the ledger of a twin.",
        {
            "shard_path": _SHARD_PATH,
            "entered": Field(_TEXTS, "ids of the partitions whose entry is written"),
            "removed": Field(_TEXTS, "ids of the partitions that leave the ledger"),
        },
    ),
    Event.EXCHANGING: Description(
        "A replica is about to exchange the names of a table and its twin.",
        {
            "shard_path": _SHARD_PATH,
            "replica": Field(TEXT, "name of the replica"),
            "table": Field(TEXT, "database and name of the table, as used by queries"),
            "place": Field(TEXT, "ensemble and path of the table that gets this name"),
        },
    ),
    Event.TABLE_ENDED: Description(
        "A run over all tables of a root is done with a table; a line for each shard path.",
        {
            "shard_path": _SHARD_PATH,
            "table": Field(TEXT, "database and name of the table, as used by queries"),
            "outcome": Field(TEXT, "`finished`, `left` or `refused`"),
            "gate": Field(TEXT, "name of the [gate](gates.md); empty without one"),
            "reason": Field(TEXT, "why the table is not finished; empty if it is"),
        },
    ),
    Event.ALTERING: Description(
        "A statement of twin_alter is about to be executed. Without a later line `altered`, the next run of"
        " twin_alter finds out whether the statement took effect.",
        {
            "shard_path": _SHARD_PATH,
            "replica": Field(TEXT, "name of the replica whose server executes the statement"),
            "statement": Field(TEXT, "the SQL statement"),
        },
    ),
    Event.ALTERED: Description(
        "A statement of twin_alter took effect on both tables, on every replica.",
        {
            "shard_path": _SHARD_PATH,
            "statement": Field(TEXT, "the statement without the name of the table"),
        },
    ),
    Event.REPAIRING: Description(
        "A partition is about to be repaired, for one replica.",
        {
            **_REPAIR,
            "parts": Field(_TEXTS, "names of the affected parts, or paths of other affected znodes"),
            "backup": Field(
                TEXT, "backup file for deleted and changed znodes; created with the first of them"
            ),
        },
    ),
    Event.WRITING: Description(
        "A repair is about to send a multi, or to execute SQL statements.",
        {
            "shard_path": _SHARD_PATH,
            "operations": Field(_TEXTS, "operations of the multi, or the statements, in order"),
        },
    ),
    Event.REPAIRED: Description("An audit after the repair no longer reports the finding.", _REPAIR),
    Event.LEFT: Description(
        "A partition was not repaired.",
        {
            **_PLACE,
            "kind": Field(TEXT, "kind of the finding"),
            "reason": Field(TEXT, "why the repair was not done"),
        },
    ),
    Event.RESTORING: Description(
        "Znodes deleted or changed by a repair are about to be restored.",
        {
            "shard_path": _SHARD_PATH,
            "backup": Field(TEXT, "the backup file"),
            "znodes": Field(COUNT, "number of znodes in the backup file"),
        },
    ),
    Event.RESTORED: Description(
        "The znodes were restored, as far as possible.",
        {
            "shard_path": _SHARD_PATH,
            "created": Field(COUNT, "number of znodes that were missing"),
            "set_back": Field(COUNT, "number of znodes that had other data"),
            "unchanged": Field(COUNT, "number of znodes that equalled the backup"),
        },
    ),
    Event.OWNER_SET: Description(
        "The owner of a table in cold was set.",
        {
            "shard_path": _SHARD_PATH,
            "owner": Field(TEXT, "the new owner and the proof, or who may take the table over"),
        },
    ),
    Event.ENDED: Description(
        "The run has ended. A run without this event was killed or is still running.",
        {
            "counts": Field(mapping_of(WHOLE_NUMBER), "the counts in the result of the module"),
            "error": Field(TEXT, "why the run ended before completing its work; empty after a complete run"),
        },
    ),
}
