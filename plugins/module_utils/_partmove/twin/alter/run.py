# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run of twin_alter over one shard path: finishes the statement of an earlier run, then begins its own."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from ...errors import PartMoveError
from ...journal.port import Journal
from ...lease.held_lease import Leases
from ...lease.lease import Lease
from ...text import first_few
from ...tree.ports import Clock, ZnodeStore
from ..move.gates import refuse_tables
from ..move.record import Records
from ..move.servers import read_replicas
from ..move.tables import Side, TwinTables
from .expiry import require_expiries
from .leaving import lacking_before
from .policy import changes_policy, different_policies
from .reading import dropped_first, planned_creations, preparing_statements
from .record import MOST_BYTES, AlterRecord, AlterRecords, StoredAlter
from .servers import AlterServers
from .shard import AlterReport, AlterShard, digest_of
from .statement import AlterKind, Statement, parse_alter, rename, truncate
from .steps import ORDER, AlterSteps


class AlterContext(NamedTuple):
    """The ports of a run. In check mode ``hot`` must be an overlay; the run then executes no statement.

    leases: a keeper that unfinished statements do not keep from a shard path.
    """

    hot: ZnodeStore
    clock: Clock
    journal: Journal
    leases: Leases
    servers: AlterServers
    check_mode: bool
    wait_seconds: float


class AlterRun:
    """The work on a shard path. ``report`` has the executed statements, even after an error."""

    def __init__(self, context: AlterContext, report: AlterReport) -> None:
        self._context = context
        self._path = report.shard_path
        self._report = report
        self._records = AlterRecords(context.hot, context.leases.root, self._path)

    def parse(self, text: str) -> Statement:
        """Return the statement of a text. Raises FormatError, and Refused if the server does not know it."""
        replica = read_replicas(self._context.hot, self._path)[0]
        tables = self._context.servers.tables(self._path, replica)
        return parse_alter(text, self._context.servers.syntax_tree(tables, text))

    def renamed(self, name: str, twin: str) -> Statement:
        """Return the statement that renames the table to ``name`` and its twin to ``twin``."""
        replica = read_replicas(self._context.hot, self._path)[0]
        tables = self._context.servers.tables(self._path, replica)
        return rename(tables, name, twin)

    def carry_out(self, statement: Statement | None) -> None:
        """Finish the statement of an earlier run, and execute ``statement`` unless it was the same.

        Raises PartMoveError. If the statement was begun, the next run continues.
        """
        lease = self._context.leases.acquire(self._path)
        try:
            shard = self._shard_under(lease)
            stored = self._records.read()
            if stored is not None:
                self._report.finished = stored.record.statement.text
                self._resume(shard, stored)
            if statement is not None and (stored is None or stored.record.statement != statement):
                self._begin(shard, statement)
        finally:
            self._context.leases.release(lease)

    def _shard_under(self, lease: Lease) -> AlterShard:
        context = self._context
        replicas = read_replicas(context.hot, self._path)
        return AlterShard(
            self._path,
            context.leases.root,
            context.hot,
            context.clock,
            context.journal,
            context.servers,
            lease,
            replicas,
            self._report,
            context.wait_seconds,
        )

    def _resume(self, shard: AlterShard, stored: StoredAlter) -> None:
        record = stored.record
        for tables in shard.tables():
            places = (tables.hot.place, tables.cold.place)
            if places != (record.hot, record.cold):
                raise PartMoveError(
                    f"{tables.server}: the tables are at {' and '.join(places)}, and the record of"
                    f" the unfinished statement {record.statement.text} is of {record.hot} and {record.cold}",
                    remedy="Find out which client created or renamed the tables. Only if the statement is"
                    f" done on both, delete the znode {self._records.path} of hot",
                )
        if self._context.check_mode:
            self._plan(shard, record)
        else:
            AlterSteps(shard, self._records, stored).finish()

    def _begin(self, shard: AlterShard, statement: Statement) -> None:
        every = shard.tables()
        self._refuse(shard, every)
        if statement.kind is AlterKind.RENAME and every[0].home is not Side.HOT:
            raise PartMoveError(
                f"{self._path}: the table is in the auxiliary ensemble since table_move",
                remedy="Bring it back with table_move, or RENAME both tables under a hold (twin_hold)",
            )
        different = different_policies(every, Side.HOT) if changes_policy(statement) else ""
        if different:
            raise PartMoveError(
                f"{self._path}: {different}, and a server may refuse the new storage policy after another"
                " server has taken it",
                remedy="Place a hold with twin_hold, execute the statement on both tables of each replica"
                " that is to change, and remove the hold",
            )
        require_expiries(shard, statement, every[0])
        record = self._record_of(shard, statement, every)
        if len(record.encode()) > MOST_BYTES:
            raise PartMoveError(
                f"{self._path}: the record of the statement is larger than {MOST_BYTES:,} bytes",
                remedy="Drop the partitions one by one, with DROP PARTITION ID '…'. Before an UPDATE or"
                " DELETE, see what twin_audit_info reports as lost",
            )
        if self._context.check_mode:
            self._plan(shard, record)
            return
        AlterSteps(shard, self._records, self._records.create(shard.lease, record)).finish()

    def _refuse(self, shard: AlterShard, every: list[TwinTables]) -> None:
        """Raise PartMoveError unless the tables are alike, and nothing else changes them."""
        refusal = refuse_tables(self._path, every)
        if refusal is not None:
            raise PartMoveError(f"{self._path}: {refusal.reason}", remedy=refusal.remedy)
        partitions = Records(shard.hot, self._context.leases.root, self._path).partition_ids()
        if partitions:
            raise PartMoveError(
                f"{self._path}: partition {partitions[0]} is between the table and its twin",
                remedy=f"Run twin_move for partition {partitions[0]} first, which finishes its move",
            )
        for tables in every:
            unfinished = [
                f"mutation {each.mutation_id} of {tables.on(side)} is not done"
                for side in Side
                for each in shard.servers.mutations(tables, side)
                if not each.is_done
            ]
            reasons = [*shard.servers.in_progress(tables), *unfinished]
            if reasons:
                raise PartMoveError(
                    f"{tables.server}: {first_few(reasons)}",
                    remedy="Wait until that is done (system.processes, system.mutations), and run again",
                )

    def _record_of(self, shard: AlterShard, statement: Statement, every: list[TwinTables]) -> AlterRecord:
        first = every[0]
        servers = shard.servers
        mutations = {side: [each.mutation_id for each in servers.mutations(first, side)] for side in Side}
        return AlterRecord(
            statement,
            uuid.uuid4().hex,
            first.replica.name,
            first.hot.place,
            first.cold.place,
            digest_of(first.hot.definition),
            {side: self._blocks(shard, statement, every, side) for side in Side},
            {side: max(each, default="") for side, each in mutations.items()},
            {each.replica.name: dropped_first(shard, each, statement) for each in every},
            lacking_before(shard, every) if statement.is_delete else (),
            definitions={each.replica.name: digest_of(each.hot.definition) for each in every},
        )

    def _blocks(
        self, shard: AlterShard, statement: Statement, every: list[TwinTables], side: Side
    ) -> dict[str, int]:
        """Map the partitions to be dropped to their highest block numbers on any replica."""
        found: dict[str, int] = {}
        if statement.kind not in (AlterKind.DROP, AlterKind.REPLACE):
            return found
        for tables in every:
            for partition, blocks in shard.servers.blocks(tables, side).items():
                if statement in (truncate(), statement._replace(partition=partition)):
                    found[partition] = max(found.get(partition, 0), blocks.highest)
        return found

    def _plan(self, shard: AlterShard, record: AlterRecord) -> None:
        """Report the statements that a run would execute."""
        statement, every = record.statement, shard.tables()
        planned = self._report.statements
        for tables in every:
            planned += preparing_statements(shard, tables, statement)
        is_local = statement.of_each_replica or statement.kind is AlterKind.RENAME
        for side in ORDER:
            is_empty = _drops(statement, side) and not record.blocks.get(side)
            if side in record.done or is_empty:
                continue
            for tables in every if is_local else every[:1]:
                planned.append(statement.sql(tables, side, record.token))
        for tables in every:
            planned += planned_creations(shard, tables, statement)


def _drops(statement: Statement, side: Side) -> bool:
    """Whether the statement drops partitions from one of the two tables."""
    return statement.kind is AlterKind.DROP or (statement.kind is AlterKind.REPLACE and side is Side.COLD)
