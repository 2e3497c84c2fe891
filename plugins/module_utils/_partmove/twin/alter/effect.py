# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds out whether a statement took effect on one of the two tables, from what the servers say alone.

A killed run may have sent its statement or not, so its record alone does not decide. Per kind, the proof is:

- STRUCTURE: the definition of each replica is no longer the recorded one, and all have the same, but for the
  storage policy, which each replica may have of its own.
- MUTATION: system.mutations lists a mutation with the mark of the statement.
- DROP, REPLACE: no active part has block numbers up to the recorded ones. Later ones have higher numbers.
- RENAME: the table at the place has the new name.
- ATTACH: the executing replica has nothing of the partition in ``detached/``.
- REWRITE has no proof and needs none: a second execution changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from ...errors import PartMoveError
from ...formats.sql import literal
from ...lease.bars import Bar, path_of_bar
from ..move.gates import shared_definition
from ..move.tables import Side, TwinTables
from .policy import changes_policy, different_policies, policy_of, with_policy
from .record import AlterRecord
from .servers import Mutation
from .shard import AlterShard, digest_of
from .statement import AlterKind, mark_of


class Doubtful(PartMoveError):
    """Nothing proves whether the statement of a killed run was executed, so it must not be executed again."""


class Effect:
    """The effect of the statement of a record on one table."""

    def __init__(self, shard: AlterShard, record: AlterRecord, side: Side) -> None:
        self._shard = shard
        self._record = record
        self._side = side
        self._kind = record.statement.kind
        if self._kind is AlterKind.REPLACE and side is Side.COLD:
            self._kind = AlterKind.DROP

    @property
    def executor(self) -> TwinTables:
        """Both tables of the replica whose server executes the statement."""
        return next(each for each in self._shard.tables() if each.replica.name == self._record.replica)

    def targets(self) -> Iterator[TwinTables]:
        """Yield the replicas on whose servers the statement is to be executed, each after the one before.

        Servers execute some changes of the structure on their own replica alone, whether their commands are
        known for it or not. Then another replica still has the former definition after the first one changed.
        """
        if self._kind is AlterKind.RENAME:
            yield from (each for each in self._shard.tables() if not self._is_renamed(each))
            return
        if self._kind is not AlterKind.STRUCTURE:
            yield self.executor
            return
        if self._is_unchanged(self.executor):
            yield self.executor
        if not self._record.statement.of_each_replica and self._is_unchanged(self.executor):
            return
        for each in self._shard.tables():
            if each.replica.name != self._record.replica and self._is_unchanged(each):
                yield each

    def is_there(self) -> bool:
        """Whether it is proven that the statement took effect on every replica."""
        every = self._shard.tables()
        if self._kind is AlterKind.ATTACH:
            return not self._detached(self.executor)
        if self._kind is AlterKind.REWRITE:
            return bool(self._newer(self.executor)) and self.is_settled()
        if self._kind is AlterKind.REPLACE and not self._record.blocks.get(self._side):
            return False
        return all(map(self._is_on, every)) and (
            self._kind is not AlterKind.STRUCTURE or self._is_even(every)
        )

    def _is_on(self, tables: TwinTables) -> bool:
        """Whether a replica shows the effect; for kinds with a proof that each replica shows."""
        if self._kind is AlterKind.STRUCTURE:
            return not self._is_unchanged(tables)
        if self._kind is AlterKind.MUTATION:
            return any(map(self._is_marked_done, self._mutations(tables)))
        if self._kind is AlterKind.RENAME:
            return self._is_renamed(tables)
        return not self._has_recorded_blocks(tables)

    def is_settled(self) -> bool:
        """Whether the statement, after its success on the executing server, took effect on every replica."""
        every = self._shard.tables()
        if self._kind is AlterKind.STRUCTURE and not self._is_even(every):
            return False
        # A change of the structure may have begun a mutation, such as that of MODIFY TTL.
        if self._kind in (AlterKind.STRUCTURE, AlterKind.REWRITE):
            lists = [{each.mutation_id: each.is_done for each in self._newer(tables)} for tables in every]
            return all(each == lists[0] and all(each.values()) for each in lists)
        if self._kind is AlterKind.REPLACE:
            return not any(map(self._has_recorded_blocks, every))
        return self._kind is AlterKind.ATTACH or self.is_there()

    def nothing_happened(self, is_resumed: bool) -> bool:
        """Whether no replica shows an effect. The server must have refused the statement just now."""
        if self._kind is AlterKind.STRUCTURE:
            return all(map(self._is_unchanged, self._shard.tables()))
        if self._kind is AlterKind.MUTATION:
            return not any(self.marked(each) for each in self._shard.tables())
        if self._kind is AlterKind.REWRITE:
            return not self.is_under_way()
        if self._kind is AlterKind.RENAME:
            return not any(map(self._is_renamed, self._shard.tables()))
        # A DROP or REPLACE that took effect is not executed again, so that no server refuses it.
        has_proof = bool(self._record.blocks.get(self._side))
        return self._kind is AlterKind.DROP or has_proof or not is_resumed

    def is_under_way(self) -> bool:
        """Whether a server lists a mutation that the statement, or somebody else, began since the record."""
        return any(self._newer(each) for each in self._shard.tables())

    def failure(self) -> str:
        """Return why the mutation of the statement failed last, on any replica; "" if it has not failed."""
        reasons = [
            f"{tables.server}: mutation {each.mutation_id} of {tables.on(self._side)} fails: {each.failure}"
            for tables in self._shard.tables()
            for each in self._newer(tables)
            if each.failure and not each.is_done
        ]
        return reasons[0] if reasons else ""

    def other_policy(self) -> str:
        """Return which replica has not got the storage policy of the statement; "" if it has none."""
        if not changes_policy(self._record.statement):
            return ""
        return different_policies(self._shard.tables(), self._side)

    def marked(self, tables: TwinTables) -> bool:
        """Whether the server of the replica lists the mutation of the statement, done or not."""
        return any(map(self._is_marked, self._mutations(tables)))

    def prove_not_executed(self, tables: TwinTables) -> None:
        """Return only if the statement was certainly never executed, or is listed now.

        The list of a server lags behind the ensemble. So a second mutation that changes nothing is executed:
        once the server lists it, the server also lists every mutation before it. Raises Doubtful if one
        in between is gone.
        """
        blocks = self._shard.servers.blocks(tables, self._side)
        if self.marked(tables) or not blocks:
            return
        mark = mark_of(f"barrier-{uuid.uuid4().hex}")
        table, partition = tables.on(self._side), min(blocks)
        self._shard.execute(
            tables,
            f"ALTER TABLE {table.sql_name} DELETE IN PARTITION ID {literal(partition)}"
            f" WHERE 0 AND {literal(mark)} != ''",
        )
        listed = self._shard.wait_until(lambda: any(mark in each.command for each in self._mutations(tables)))
        if self.marked(tables):
            return
        last = self._record.mutations[self._side]
        newer = [int(each.mutation_id) for each in self._newer(tables)]
        # The numbers of a table begin with 0, and servers keep the newest mutations unless one is killed.
        first = int(last) + 1 if last else 0
        if not listed or newer != list(range(first, first + len(newer))):
            raise Doubtful(
                f"{tables.server} no longer lists every mutation of {table} since {last or 'the first'}, so"
                " the statement may have been executed and removed (KILL MUTATION)",
                remedy="Compare the rows. If the statement is still to be executed, execute"
                f" {self._sql(tables)} by hand, and run again",
            )

    def refuse_doubtful(self) -> None:
        """Raise Doubtful for a REPLACE of a killed run in a partition that had no part before."""
        if self._kind is not AlterKind.REPLACE or self._record.blocks.get(self._side):
            return
        partition, tables = self._record.statement.partition, self.executor
        if partition in self._shard.servers.blocks(tables, self._side):
            table = tables.on(self._side)
            znode = path_of_bar(self._shard.root, Bar.ALTER, self._shard.shard_path)
            raise Doubtful(
                f"Partition {partition} of {table} had no part before the REPLACE of a killed run. Its parts"
                " of now may be of the REPLACE or of later inserts",
                remedy=f"Find out which. If {table} is as it should be, DROP PARTITION ID"
                f" {literal(partition)} of its twin, and delete the znode {znode} of hot. Else DROP it"
                " from both first",
            )

    def _sql(self, tables: TwinTables) -> str:
        return self._record.statement.sql(tables, self._side, self._record.token)

    def _is_renamed(self, tables: TwinTables) -> bool:
        return tables.on(self._side).name == self._record.statement.new_name(self._side)

    def _is_unchanged(self, tables: TwinTables) -> bool:
        """Whether a replica has its own definition of before the statement."""
        definition = tables.on(self._side).definition
        recorded = self._record.definitions.get(tables.replica.name)
        if recorded is not None:
            return digest_of(definition) == recorded
        # Of a replica that the record does not know, only the storage policy differs from the executing one.
        policy = policy_of(self.executor.on(self._side).definition)
        return digest_of(with_policy(definition, policy)) == self._record.definition

    def _is_even(self, every: Sequence[TwinTables]) -> bool:
        """Whether the replicas have the same definition, each with its own storage policy.

        A statement that changes the policy begins only if all replicas have the same one.
        """
        definitions = {each.on(self._side).definition for each in every}
        if changes_policy(self._record.statement):
            return len(definitions) == 1
        return len(set(map(shared_definition, definitions))) == 1

    def _has_recorded_blocks(self, tables: TwinTables) -> bool:
        current = self._shard.servers.blocks(tables, self._side)
        recorded = self._record.blocks.get(self._side, {})
        return any(each in current and current[each].lowest <= last for each, last in recorded.items())

    def _detached(self, tables: TwinTables) -> int:
        return self._shard.servers.detached(tables, self._side, self._record.statement.partition)

    def _mutations(self, tables: TwinTables) -> Sequence[Mutation]:
        return self._shard.servers.mutations(tables, self._side)

    def _newer(self, tables: TwinTables) -> list[Mutation]:
        last = self._record.mutations[self._side]
        return [each for each in self._mutations(tables) if each.mutation_id > last]

    def _is_marked(self, mutation: Mutation) -> bool:
        return mark_of(self._record.token) in mutation.command

    def _is_marked_done(self, mutation: Mutation) -> bool:
        return self._is_marked(mutation) and mutation.is_done
