# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a statement that is to be executed on both tables, in a znode of the hot ensemble.

The znode is a bar: while it exists, no other run takes the lease of the shard path (`bars`). It is written
before the first statement, and removed when both tables are done. Every write checks the lease of the shard
path, and the version of the record that was read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ...envelope import Envelope
from ...errors import EnsembleError, LeaseLost
from ...lease.bars import Bar, path_of_bar
from ...lease.lease import Lease, raise_if_lease_lost
from ...records import COUNT, FLAG, TEXT, Record, list_of, mapping_of, word_of
from ...tree.paths import ensure_path, parent_of, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Op, Rejected, SetData
from ..move.tables import Side
from .statement import AlterKind, Statement

MOST_BYTES = 500_000
"""Largest record. Ensembles accept znodes of up to 1 MiB, including the overhead of the request."""
_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_ENVELOPE = Envelope("record of a statement for twins", "olap.partmove/twin-alter", 1, remedy=_REMEDY)
_SIDES = list_of(word_of({each.value: each for each in Side}))
_RECORD = Record(
    {
        "kind": word_of({each.value: each for each in AlterKind}),
        "text": TEXT,
        "partition": TEXT,
        "leaving": list_of(TEXT),
        "of_each_replica": FLAG,
        "of_columns": FLAG,
        "names": list_of(TEXT),
        "token": TEXT,
        "replica": TEXT,
        "hot": TEXT,
        "cold": TEXT,
        "definition": TEXT,
        "blocks": mapping_of(mapping_of(COUNT)),
        "mutations": mapping_of(TEXT),
        "reading": mapping_of(mapping_of(TEXT)),
        "lacking": list_of(TEXT),
        "begun": _SIDES,
        "done": _SIDES,
    },
    {"definitions": mapping_of(TEXT)},
    remedy=_REMEDY,
)


class AlterRecord(NamedTuple):
    """A statement, what the tables were before, and how far the run got."""

    statement: Statement
    token: str
    """Identifies the mutation of the statement in system.mutations."""
    replica: str
    """The replica whose server executes the statement."""
    hot: str
    """Ensemble and path of the hot table, as in `TwinTable.place`."""
    cold: str
    definition: str
    """Digest of the definition of both tables of ``replica`` before the statement."""
    blocks: Mapping[Side, Mapping[str, int]]
    """For DROP and REPLACE: partition → the highest block number of its parts in each table."""
    mutations: Mapping[Side, str]
    """The newest mutation of each table, of those that the server lists; "" for none."""
    reading: Mapping[str, Mapping[str, str]]
    """Replica → reading table, as in SQL → engine; only those that are dropped before they are created."""
    lacking: tuple[str, ...] = ()
    """For a DELETE: partitions of the ledger that had no rows in the twin before."""
    begun: tuple[Side, ...] = ()
    """The tables on which the statement was executed, or was about to be."""
    done: tuple[Side, ...] = ()
    """The tables on which the statement took effect, on every replica."""
    definitions: Mapping[str, str] = MappingProxyType({})
    """Replica → digest of the definition of both tables before the statement; records of the code before
    have none."""

    def encode(self) -> bytes:
        """Return the data for the znode of the record."""
        fields: dict[str, Any] = {**self.statement._asdict(), **self._asdict()}
        del fields["statement"]
        fields["kind"] = self.statement.kind.value
        fields["definitions"] = dict(self.definitions)
        for name in ("blocks", "mutations"):
            fields[name] = {side.value: each for side, each in fields[name].items()}
        for name in ("begun", "done"):
            fields[name] = [side.value for side in fields[name]]
        return json.dumps(_ENVELOPE.around(fields), ensure_ascii=False, separators=(",", ":")).encode()


def parse_record(data: bytes, path: str) -> AlterRecord:
    """Parse the data of a record's znode. Raises FormatError."""
    where = f"The data of {path}"
    fields = _RECORD.read(_ENVELOPE.parsed(data, where), where)
    statement = Statement(
        fields.pop("kind"),
        fields.pop("text"),
        fields.pop("partition"),
        tuple(fields.pop("leaving")),
        fields.pop("of_each_replica"),
        fields.pop("of_columns"),
        tuple(fields.pop("names")),
    )
    for name in ("blocks", "mutations"):
        fields[name] = {side: fields[name][side.value] for side in Side if side.value in fields[name]}
    for name in ("lacking", "begun", "done"):
        fields[name] = tuple(fields[name])
    return AlterRecord(statement, **fields)


class StoredAlter(NamedTuple):
    """A record as read or written, with the data version of its znode."""

    record: AlterRecord
    version: int


class AlterRecords:
    """The record of a shard path.

    Methods that write raise LeaseLost without a valid lease or if the record has changed, and EnsembleError
    if the outcome is unknown.
    """

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str) -> None:
        self._hot = hot
        self._shard_path = shard_path
        self.path = path_of_bar(root, Bar.ALTER, shard_path)

    def read(self) -> StoredAlter | None:
        """Return the record; None without an unfinished statement. Raises FormatError."""
        znode = self._hot.read([self.path])[0]
        if znode is None:
            return None
        return StoredAlter(parse_record(znode.data, self.path), znode.stat.version)

    def create(self, lease: Lease, record: AlterRecord) -> StoredAlter:
        """Create the record."""
        ensure_path(self._hot, parent_of(self.path))
        self._commit(lease, [Create(self.path, record.encode())])
        return StoredAlter(record, 0)

    def replace(self, lease: Lease, stored: StoredAlter, record: AlterRecord) -> StoredAlter:
        """Replace the record ``stored``."""
        self._commit(lease, [SetData(self.path, record.encode(), stored.version)])
        return StoredAlter(record, stored.version + 1)

    def remove(self, lease: Lease, stored: StoredAlter, more: Sequence[Op] = ()) -> None:
        """Remove the record ``stored``, in one multi with the operations ``more``."""
        self._commit(lease, [Delete(self.path, stored.version), *more])

    def _commit(self, lease: Lease, ops: Sequence[Op]) -> None:
        checks = lease.hot_checks
        outcome = self._hot.commit([(*checks, *ops)])[0]
        if isinstance(outcome, Committed):
            return
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, len(checks), self._shard_path)
            raise_if_unwritable(self._hot, self.path, outcome)
            raise LeaseLost(
                f"{self.path} has changed since this run read it: {outcome.reason.value}",
                remedy="Another run took over the shard path; run again",
            )
        raise EnsembleError(
            f"It is not known whether {self.path} was written: {outcome.cause}",
            remedy="Run again: the next run compares the record with the servers",
        )
