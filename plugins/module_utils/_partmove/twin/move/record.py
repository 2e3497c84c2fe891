# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run must remember of a partition that is between its two tables, in a znode of the hot ensemble.

It is written before the first statement, and is what tells a clone from anything else: without it nothing
that a source has is ever dropped. Below the coordination root::

    twins/<shard path, quoted>/<partition id>    the record, as JSON

Every write of it checks the lease of the shard path, and what is written or removed later also that the
record is still the one that was read.
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
"""Of a record: ensembles take znodes of up to 1 MiB, with all that is around them."""

_REMEDY = "Use the version of olap.partmove that wrote it, or find out what did"
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
    """What is known of a partition on its way."""

    destination: Side
    hot: str
    """Ensemble and path of the hot table, as `TwinTable.place` has them."""
    cold: str
    parts: Mapping[str, PartContent]
    """What the source had to be moved: name → content."""
    held: Mapping[str, PartContent]
    """What the destination had before, which is never touched."""
    clones: Mapping[str, str]
    """Name of each part → name of its clone in the destination. Empty until every replica was seen to have
    all clones, and nothing else that is new but inserts on the way back."""
    dropping: tuple[str, ...]
    """The parts of the source of which a DROP PART was given, or was about to be."""
    began: int
    """When the first statement was about to be given, in milliseconds since 1970."""
    merges_stopped: bool = False
    """Whether merges of both tables may be stopped because of it, on any replica."""
    undoing: tuple[str, ...] = ()
    """Parts of the destination, clones and what was merged of them, that were about to be dropped again."""

    @property
    def is_verified(self) -> bool:
        """Whether every clone was seen on every replica."""
        return bool(self.clones)

    def encode(self) -> bytes:
        """The data of the znode that holds the record."""
        fields: dict[str, Any] = self._asdict()
        fields["destination"] = self.destination.value
        return json.dumps(_ENVELOPE.around(fields), separators=(",", ":")).encode()


def contents(parts: Parts) -> dict[str, PartContent]:
    """Name → content, sorted by name."""
    return {part.name: part.content for part in sorted(parts)}


def parse_record(znode: Znode) -> TwinRecord:
    """The record in the znode; raises FormatError for anything else."""
    where = f"The data of {znode.path}"
    fields = _RECORD.read(_ENVELOPE.parsed(znode.data, where), where)
    texts = {name: tuple(fields.get(name, ())) for name in ("dropping", "undoing")}
    return TwinRecord(**{**fields, **texts})


class KeptRecord(NamedTuple):
    """A record as it was read or written, with the data version of its znode."""

    record: TwinRecord
    version: int


def recorded_shard_paths(hot: ZnodeReader, root: str) -> list[str]:
    """The shard paths that have, or had, records below the coordination root, sorted."""
    return sorted(unquote(each) for each in hot.children([_folder(root)])[0] or ())


def _folder(root: str) -> str:
    return f"{root}/twins"


class Records:
    """The records of one shard path. What writes needs a lease, and raises LeaseLost where that is gone."""

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str) -> None:
        self._hot = hot
        self._shard_path = shard_path
        self._folder = f"{_folder(root)}/{quote(shard_path, safe='')}"

    def read(self, partition_ids: Sequence[str]) -> dict[str, KeptRecord]:
        """Partition id → its record, where there is one. Raises FormatError."""
        paths = [self.path(each) for each in partition_ids]
        return {
            each: KeptRecord(parse_record(znode), znode.stat.version)
            for each, znode in zip_strict(partition_ids, self._hot.read(paths))
            if znode is not None
        }

    def partition_ids(self) -> list[str]:
        """The partitions that have a record, sorted."""
        return sorted(self._hot.children([self._folder])[0] or ())

    def create(self, lease: Lease, partition_id: str, record: TwinRecord) -> KeptRecord:
        """Write the first record of the partition."""
        ensure_path(self._hot, self._folder)
        self._commit(lease, partition_id, Create(self.path(partition_id), record.encode()))
        return KeptRecord(record, 0)

    def replace(self, lease: Lease, partition_id: str, kept: KeptRecord, record: TwinRecord) -> KeptRecord:
        """Write another record in place of the one that is kept."""
        self._commit(lease, partition_id, SetData(self.path(partition_id), record.encode(), kept.version))
        return KeptRecord(record, kept.version + 1)

    def remove(self, lease: Lease, partition_id: str, kept: KeptRecord) -> None:
        """Remove the record that is kept: the partition is not between the tables any more."""
        self._commit(lease, partition_id, Delete(self.path(partition_id), kept.version))

    def path(self, partition_id: str) -> str:
        """Where the record of a partition is, in hot."""
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
                f"{path} is not as this run has read it: {outcome.reason.value}",
                remedy="Another run took the shard path over; run again",
            )
        raise EnsembleError(
            f"It is not known whether {path} was written: {outcome.cause}",
            remedy="Run again: what the record says and what the servers have is compared then",
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
