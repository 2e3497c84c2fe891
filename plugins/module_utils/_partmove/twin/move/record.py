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

from ...envelope import Envelope
from ...errors import EnsembleError, LeaseLost, PartMoveError
from ...lease.lease import Lease, raise_if_lease_lost
from ...records import COUNT, FLAG, TEXT, FieldType, InvalidValue, Record, list_of, mapping_of, word_of
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeReader, ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Op, Rejected, SetData, Znode
from ...zip_strict import zip_strict
from .tables import PartContent, Parts, Side

FORMAT = "olap.partmove/twin-move"
VERSION = 1
MOST_BYTES = 500_000
"""Largest record. Ensembles accept znodes of up to 1 MiB, including the overhead of the request."""

_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_ENVELOPE = Envelope("record of a partition between twins", FORMAT, VERSION, remedy=_REMEDY)


def _content(value: object) -> PartContent:
    if not isinstance(value, list) or len(value) != 3:
        raise InvalidValue
    rows, *hashes = value
    return PartContent(COUNT.check(rows), *(TEXT.check(each) for each in hashes))


_CONTENTS = mapping_of(FieldType(_content, "a list of a number of rows and two hashes"))
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
    {"merges_stopped": FLAG, "undoing": list_of(TEXT)},
    remedy=_REMEDY,
)


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
    """The parts of the source for which a DROP PART was executed, or was about to be."""
    began: int
    """When the run was about to execute the first statement, in milliseconds since 1970."""
    merges_stopped: bool = False
    """Whether merges of both tables may be stopped on any replica because of this partition."""
    undoing: tuple[str, ...] = ()
    """Parts of the destination that were about to be dropped again: clones, and parts merged from clones."""

    @property
    def is_verified(self) -> bool:
        """Whether every replica had every clone."""
        return bool(self.clones)

    def encode(self) -> bytes:
        """Return the data for the znode of the record."""
        fields: dict[str, Any] = self._asdict()
        fields["destination"] = self.destination.value
        return json.dumps(_ENVELOPE.around(fields), separators=(",", ":")).encode()


def contents(parts: Parts) -> dict[str, PartContent]:
    """Map the name of each part to its content, sorted by name."""
    return {part.name: part.content for part in sorted(parts)}


def parse_record(znode: Znode) -> TwinRecord:
    """Parse the data of a record's znode. Raises FormatError."""
    where = f"The data of {znode.path}"
    fields = _RECORD.read(_ENVELOPE.parsed(znode.data, where), where)
    texts = {name: tuple(fields.get(name, ())) for name in ("dropping", "undoing")}
    return TwinRecord(**{**fields, **texts})


class StoredRecord(NamedTuple):
    """A record as read or written, with the data version of its znode."""

    record: TwinRecord
    version: int


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

    def create(self, lease: Lease, partition_id: str, record: TwinRecord) -> StoredRecord:
        """Create the record of the partition."""
        ensure_path(self._hot, self._folder)
        self._commit(lease, partition_id, Create(self.path(partition_id), record.encode()))
        return StoredRecord(record, 0)

    def replace(
        self, lease: Lease, partition_id: str, stored: StoredRecord, record: TwinRecord
    ) -> StoredRecord:
        """Replace the record ``stored``."""
        self._commit(lease, partition_id, SetData(self.path(partition_id), record.encode(), stored.version))
        return StoredRecord(record, stored.version + 1)

    def remove(self, lease: Lease, partition_id: str, stored: StoredRecord) -> None:
        """Remove the record ``stored`` of a partition that is no longer between the tables."""
        self._commit(lease, partition_id, Delete(self.path(partition_id), stored.version))

    def path(self, partition_id: str) -> str:
        """Return the path of the record's znode in hot."""
        return f"{self._folder}/{partition_id}"

    def _commit(self, lease: Lease, partition_id: str, op: Op) -> None:
        checks = lease.hot_checks
        outcome = self._hot.commit([(*checks, op)])[0]
        if isinstance(outcome, Committed):
            return
        path = self.path(partition_id)
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, len(checks), self._shard_path)
            raise_if_unwritable(self._hot, path, outcome)
            raise LeaseLost(
                f"{path} has changed since this run read it: {outcome.reason.value}",
                remedy="Another run took over the shard path; run again",
            )
        raise EnsembleError(
            f"It is not known whether {path} was written: {outcome.cause}",
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
