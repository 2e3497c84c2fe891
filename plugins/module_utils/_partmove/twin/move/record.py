# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a partition between its two tables, stored in a znode of the hot ensemble.

A run writes the record before its first statement. The record alone distinguishes clones from other parts:
without a record, a run drops no part of a source. The znodes are below the coordination root::

    twins/<shard path, quoted>/<partition id>    the record, as JSON

Every write checks the lease of the shard path. Replacing and removing a record also check that its znode
still has the version of the last read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ...envelope import Envelope, named_version
from ...errors import EnsembleError, LeaseLost, PartMoveError
from ...lease.lease import Lease, raise_if_lease_lost
from ...records import (
    COUNT,
    FLAG,
    TEXT,
    WHOLE_NUMBER,
    FieldType,
    InvalidValue,
    Record,
    list_of,
    mapping_of,
    or_none,
    word_of,
)
from ...tree.multi_batches import pack
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeReader, ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Multi, Op, Rejected, SetData, Znode
from ...zip_strict import zip_strict
from .tables import PairMarks, PartContent, Parts, Side, TableMarks

FORMAT = "olap.partmove/twin-move"
VERSION = 2
_OLDER_VERSION = 1
"""Of records of earlier releases, which say less; see `_upgraded`."""
MOST_BYTES = 500_000
"""Largest record. Ensembles accept znodes of up to 1 MiB, including the overhead of the request."""

_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_ENVELOPE = Envelope("record of a partition between twins", FORMAT, VERSION, remedy=_REMEDY)
_OLDER_ENVELOPE = _ENVELOPE._replace(version=_OLDER_VERSION)


def _content(value: object) -> PartContent:
    if not isinstance(value, list) or len(value) != 3:
        raise InvalidValue
    rows, *hashes = value
    return PartContent(COUNT.check(rows), *(TEXT.check(each) for each in hashes))


_CONTENTS = mapping_of(FieldType(_content, "a list of a number of rows and two hashes"))
_MARKS = Record(
    {"structure": TEXT, "mutation": TEXT, "patches": list_of(TEXT), "log": WHOLE_NUMBER}, remedy=_REMEDY
)
_RECORD = Record(
    {
        "destination": word_of({each.value: each for each in Side}),
        "hot": TEXT,
        "cold": TEXT,
        "parts": _CONTENTS,
        "held": _CONTENTS,
        "clones": mapping_of(TEXT),
        "dropping": list_of(TEXT),
        "began": COUNT,
    },
    {
        "merges_stopped": FLAG,
        "undoing": list_of(TEXT),
        "dropped": list_of(TEXT),
        "released": list_of(TEXT),
        "repairing": FLAG,
        "marks": or_none(Record({"hot": _MARKS, "cold": _MARKS}, remedy=_REMEDY)),
    },
    remedy=_REMEDY,
)


_TEXTS = ("dropping", "undoing", "dropped", "released")


class TwinRecord(NamedTuple):
    """The parts of a partition before a move, and the progress of the move."""

    destination: Side
    hot: str
    """Ensemble and path of the hot table, as in `TwinTable.place`."""
    cold: str
    parts: Mapping[str, PartContent]
    """The parts of the source that the run moves: name → content."""
    held: Mapping[str, PartContent]
    """The parts of the destination before the ATTACH: name → content. A move never touches them."""
    clones: Mapping[str, str]
    """Name of each recorded part → name of its clone in the destination.

    Empty until every replica has all clones, and no other new part but inserts on the way to hot."""
    dropping: tuple[str, ...]
    """The parts of the source for which a DROP PART was about to be executed, so that each may be dropped."""
    began: int
    """When the run was about to execute the first statement, in milliseconds since 1970."""
    merges_stopped: bool = False
    """Whether merges of both tables may be stopped on any replica because of this partition."""
    undoing: tuple[str, ...] = ()
    """Parts of the destination that were about to be dropped again: clones, and parts merged from clones."""
    dropped: tuple[str, ...] = ()
    """The parts of the source that were certainly dropped on every replica."""
    marks: PairMarks | None = None
    """The marks of both tables before the parts were read; None in records of earlier releases."""
    released: tuple[str, ...] = ()
    """Parts of the source that the record no longer lists: they were merged, and stay in the source."""
    repairing: bool = False
    """Whether a repair has begun to change the tables. From then on nothing is hidden from readers."""

    @property
    def is_verified(self) -> bool:
        """Whether every replica had every clone."""
        return bool(self.clones)

    @property
    def is_whole(self) -> bool:
        """Whether no part was dropped or about to be dropped, so that the move can still be undone."""
        return not self.dropping and not self.dropped

    def encode(self) -> bytes:
        """Return the data for the znode of the record."""
        fields: dict[str, Any] = self._asdict()
        fields["destination"] = self.destination.value
        if self.marks is not None:
            fields["marks"] = {side.value: self.marks.on(side)._asdict() for side in Side}
        return json.dumps(_ENVELOPE.around(fields), separators=(",", ":")).encode()


def contents(parts: Parts) -> dict[str, PartContent]:
    """Map the name of each part to its content, sorted by name."""
    return {part.name: part.content for part in sorted(parts)}


def parse_record(znode: Znode) -> TwinRecord:
    """Parse the data of a record's znode, also of earlier releases. Raises FormatError."""
    where = f"The data of {znode.path}"
    version = named_version(znode.data, (_OLDER_VERSION, VERSION))
    envelope = _OLDER_ENVELOPE if version == _OLDER_VERSION else _ENVELOPE
    fields = _RECORD.read(envelope.parsed(znode.data, where), where)
    marks = fields.get("marks")
    texts = {name: tuple(fields.get(name, ())) for name in _TEXTS}
    record = TwinRecord(**{**fields, **texts, "marks": _marks_of(marks) if marks else None})
    return _upgraded(record) if version == _OLDER_VERSION else record


def _marks_of(fields: Mapping[str, Any]) -> PairMarks:
    hot, cold = (
        TableMarks(**{**fields[side.value], "patches": tuple(fields[side.value]["patches"])}) for side in Side
    )
    return PairMarks(hot, cold)


def _upgraded(record: TwinRecord) -> TwinRecord:
    """Return the record of an earlier release, which named each part before it dropped it.

    Each part but the last was dropped before the record named the next one.
    """
    return record._replace(dropped=record.dropping[:-1], dropping=record.dropping[-1:])


class StoredRecord(NamedTuple):
    """A record as read or written, with the data version of its znode."""

    record: TwinRecord
    version: int


class Change(NamedTuple):
    """A write of one record: its creation, replacement or removal."""

    stored: StoredRecord | None
    """The record as read or written last; None if the change creates it."""
    record: TwinRecord | None
    """The record afterwards; None if the change removes it."""


def recorded_shard_paths(hot: ZnodeReader, root: str) -> list[str]:
    """Return the shard paths with records, present or past, below the coordination root, sorted."""
    return sorted(unquote(each) for each in hot.children([_folder(root)])[0] or ())


def _folder(root: str) -> str:
    return f"{root}/twins"


class Records:
    """The records of a shard path.

    Methods that write take a lease. They raise LeaseLost without a valid lease or if the record has changed,
    and EnsembleError if the outcome is unknown.
    """

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str) -> None:
        self._hot = hot
        self._shard_path = shard_path
        self._folder = f"{_folder(root)}/{quote(shard_path, safe='')}"

    def read(self, partition_ids: Sequence[str]) -> dict[str, StoredRecord]:
        """Map partition ids to their records; without partitions that have no record. Raises FormatError."""
        paths = [self.path(each) for each in partition_ids]
        return {
            each: StoredRecord(parse_record(znode), znode.stat.version)
            for each, znode in zip_strict(partition_ids, self._hot.read(paths))
            if znode is not None
        }

    def partition_ids(self) -> list[str]:
        """Return the ids of all partitions with a record, sorted."""
        return sorted(self._hot.children([self._folder])[0] or ())

    def commit(
        self, lease: Lease, changes: Mapping[str, Change], more: Sequence[Op] = ()
    ) -> dict[str, StoredRecord]:
        """Write the records of several partitions; return those that exist afterwards, by partition id.

        Each change is a transaction of its own or together with others, within the limits of a multi. With
        ``more``, all changes and these operations are a single transaction. Then the changes must fit one
        transaction, as removals of records do. Without changes, ``more`` alone is written.
        """
        if any(change.stored is None for change in changes.values()):
            ensure_path(self._hot, self._folder)
        checks = lease.hot_checks
        ops = {each: self._op(each, change) for each, change in changes.items()}
        if more:
            self._commit(lease, (*checks, *ops.values(), *more))
        else:
            for batch in pack(checks, ((each, [op]) for each, op in ops.items())):
                self._commit(lease, batch.multi)
        return {
            each: StoredRecord(change.record, 0 if change.stored is None else change.stored.version + 1)
            for each, change in changes.items()
            if change.record is not None
        }

    def _op(self, partition_id: str, change: Change) -> Op:
        path, stored, record = self.path(partition_id), change.stored, change.record
        if stored is None:
            if record is None:
                raise AssertionError(f"{path} is neither created nor removed")
            return Create(path, record.encode())
        if record is None:
            return Delete(path, stored.version)
        return SetData(path, record.encode(), stored.version)

    def path(self, partition_id: str) -> str:
        """Return the path of the record's znode in hot."""
        return f"{self._folder}/{partition_id}"

    def _commit(self, lease: Lease, multi: Multi) -> None:
        checks = len(lease.hot_checks)
        outcome = self._hot.commit([multi])[0]
        if isinstance(outcome, Committed):
            return
        if isinstance(outcome, Rejected):
            path = multi[outcome.op_index].path if 0 <= outcome.op_index < len(multi) else self._folder
            raise_if_lease_lost(outcome, checks, self._shard_path)
            raise_if_unwritable(self._hot, path, outcome)
            raise LeaseLost(
                f"{path} has changed since this run read it: {outcome.reason.value}",
                remedy="Another run took over the shard path; run again",
            )
        raise EnsembleError(
            f"It is not known whether {multi[checks].path} was written: {outcome.cause}",
            remedy="Run again: the next run compares the record with the servers",
        )


def refuse_records(records: Records, shard_path: str) -> None:
    """Raise PartMoveError while a partition is between the tables, when names must not be exchanged."""
    partitions = records.partition_ids()
    if partitions:
        raise PartMoveError(
            f"The names of {shard_path} and its twin are not exchanged, as partition {partitions[0]} is"
            f" between the two, says {records.path(partitions[0])}",
            remedy="Run twin_move or table_move as before, which ends its move or tells why not",
        )
