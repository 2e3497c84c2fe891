# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers in memory with a reading table each, and queries that end when a test says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError, ServerAway
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.servers import Reading
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    AlterPolicy,
    CreatePolicy,
    DropPolicy,
    LeftPolicy,
    PolicyStatement,
    ReadingTable,
    policy_name,
)
from support.memory.twins import table_of

READING = ReadingTable("db", "hits_all")


def tables_of(replica: str) -> TwinTables:
    """The two tables of a replica."""
    hot, cold = table_of(Side.HOT, replica), table_of(Side.COLD, replica)
    return TwinTables(TwinReplica(replica, ""), f"server of {replica}", hot, cold)


BOTH = (tables_of("r1"), tables_of("r2"))


@dataclass
class MemoryReaderServers:
    """Implements ReaderServers. Each query of a replica ends after so many reads of the list."""

    tables: tuple[ReadingTable, ...] = (READING,)
    left: tuple[ReadingTable, ...] = ()
    """Tables with a policy that a killed run has left."""
    older: tuple[LeftPolicy, ...] = ()
    """The same with a name of earlier versions."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Replica → why no policy can be used there."""
    no_storage: bool = False
    fails: bool = False
    """Whether servers refuse whatever is executed or asked from now on."""
    policies: dict[str, str] = field(default_factory=dict)
    """Replica → the condition of its policy."""
    running: dict[str, dict[str, int]] = field(default_factory=lambda: {"r1": {}, "r2": {}})
    """Replica → query → how often it is still listed."""
    acts: list[str] = field(default_factory=list)

    def reading(self, tables: TwinTables) -> Reading:
        """What the test says."""
        self._answer()
        there = self.tables if tables.replica.name in self.policies else ()
        left = {LeftPolicy(policy_name(tables), each) for each in (*self.left, *there)}
        return Reading(self.tables, tuple(sorted([*left, *self.older])))

    def storage(self, tables: TwinTables) -> str:
        """The only storage, if there is one."""
        if self.no_storage:
            raise PartMoveError("there is no local_directory", remedy="Configure it")
        return "local_directory"

    def problem(self, tables: TwinTables, reading: Reading) -> str:
        """What the test says."""
        return self.problems.get(tables.replica.name, "")

    def probe(self, tables: TwinTables, reading: Reading) -> str:
        """Note that it was tried."""
        self.acts.append(f"{tables.replica.name} probe {reading.storage}")
        return self.problems.get(f"probe {tables.replica.name}", "")

    def execute(self, statement: PolicyStatement) -> None:
        """Have the policy from now on."""
        self._answer()
        replica = statement.tables.replica.name
        if isinstance(statement, DropPolicy) and statement.policy.name != policy_name(statement.tables):
            self.acts.append(f"{replica} drops {statement.policy.name}")
            return
        self.acts.append(f"{replica} {type(statement).__name__} {statement.reading.name}")
        if isinstance(statement, AlterPolicy):
            assert replica in self.policies, "there is no such policy"
            self.policies[replica] = statement.condition
        elif isinstance(statement, CreatePolicy):
            self.policies.setdefault(replica, "1")
        else:
            self.policies.pop(replica, None)

    def readers(self, tables: TwinTables) -> frozenset[str]:
        """The queries that have not ended."""
        self._answer()
        replica = tables.replica.name
        self.acts.append(f"{replica} readers")
        listed = self.running[replica]
        found = frozenset(listed)
        self.running[replica] = {query: left - 1 for query, left in listed.items() if left > 1}
        return found

    def _answer(self) -> None:
        if self.fails:
            raise ServerAway("the server is away", remedy="Start it")
