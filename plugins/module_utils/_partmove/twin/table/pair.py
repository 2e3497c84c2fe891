# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two tables of a replica by where they are, and which of them has the name that people use.

A whole table is in another ensemble once the table there has its *name*, and the table that had it before is
called as the twin was. Names can be exchanged at any moment, places never change: so tables are found by
their places, and the name says which of the two people write to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...errors import PartMoveError
from ...text import first_few
from ..move.gates import refuse_tables
from ..move.tables import Side, TwinReplica, TwinTable, TwinTables

TABLE = "{table}"
"""What stands for the name of a table in the name of its twin."""
EXCHANGEABLE = "Atomic"
"""The engine of databases whose tables can be exchanged, by a statement that each replica is given itself."""


class TablePair(NamedTuple):
    """The two tables of a replica."""

    replica: TwinReplica
    server: str
    """The server, for people."""
    home: TwinTable
    """The one at the shard path, in the default ensemble."""
    away: TwinTable
    """The one in the auxiliary ensemble."""

    def at(self, side: Side) -> TwinTable:
        """The table in the ensemble of that side: home for HOT, away for COLD."""
        return self.home if side is Side.HOT else self.away


class FoundTables(NamedTuple):
    """What a replica has of the two."""

    replica: TwinReplica
    server: str
    home: TwinTable
    away: TwinTable | None
    database_engine: str

    @property
    def pair(self) -> TablePair | None:
        """Both tables, where there are both."""
        if self.away is None:
            return None
        return TablePair(self.replica, self.server, self.home, self.away)


class Named(NamedTuple):
    """The name that people use, and where it is on one replica."""

    database: str
    name: str
    twin: str
    at: Side
    """HOT where the name is that of the table at home, COLD where it is away."""

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


class PairServers(Protocol):
    """Asks the servers of replicas about both tables, and has them exchange names; raises PartMoveError."""

    def find(self, shard_path: str, replica: TwinReplica) -> FoundTables:
        """The tables of a replica by their places."""

    def exchange(self, pair: TablePair) -> None:
        """Exchange the names of the two tables on this replica alone."""

    def exchange_statement(self, pair: TablePair) -> str:
        """What `exchange` tells the server."""

    def hindrances(self, pair: TablePair) -> Sequence[str]:
        """What goes on in the two tables that depends on their names, or will; sentences for people."""

    def contents(self, pair: TablePair) -> tuple[Holding, Holding]:
        """What the tables at home and away have at this moment."""

    def older_inserts(self, pair: TablePair, seconds: float) -> int:
        """How many inserts of the server have been under way for longer than that."""


class Holding(NamedTuple):
    """What a table has on one replica; equal on replicas that have the same parts."""

    rows: int
    parts: int
    digest: str
    """Of the names, rows and hashes of the parts."""


def named(pair: TablePair, twin: str) -> Named:
    """Which of the two tables has the name; ``twin`` is the name of a twin, with TABLE in it.

    Raises PartMoveError where neither table is named as the twin of the other one.
    """
    home, away = pair.home, pair.away
    for table, other, side in ((home, away, Side.HOT), (away, home, Side.COLD)):
        if table.database == other.database and twin.replace(TABLE, table.name) == other.name:
            return Named(table.database, table.name, other.name, side)
    raise PartMoveError(
        f"{pair.server}: {home} and {away} are at {home.place} and {away.place}, and neither is named as"
        f" {twin} says of the twin of the other one",
        remedy="Say with twin how twins are named, or RENAME the one that is to be the twin",
    )


def tables_of(pair: TablePair, at: Side) -> TwinTables:
    """The pair as moves of partitions take it: hot is the table that has the name, where that is ``at``."""
    hot, cold = pair.at(at), pair.at(at.other)
    return TwinTables(pair.replica, pair.server, hot, cold, at)


def refuse_databases(found: Sequence[FoundTables]) -> None:
    """Raise PartMoveError where a database does not let its tables be exchanged."""
    for each in found:
        if each.database_engine != EXCHANGEABLE:
            raise PartMoveError(
                f"{each.server}: the database {each.home.database} is of the engine {each.database_engine}"
                f", and tables can be exchanged replica by replica in those of {EXCHANGEABLE} only",
                remedy=f"Create a database of the engine {EXCHANGEABLE} and RENAME the table into it",
            )


def refuse_pairs(shard_path: str, pairs: Sequence[TablePair], twin: str) -> Sequence[Named]:
    """Who has the name on each replica; raises PartMoveError where names may not be exchanged."""
    refusal = refuse_tables(shard_path, [tables_of(each, Side.HOT) for each in pairs])
    if refusal is not None:
        raise PartMoveError(refusal.reason, remedy=refusal.remedy)
    names = [named(each, twin) for each in pairs]
    for pair, each in zip(pairs, names):
        if each[:3] != names[0][:3]:
            raise PartMoveError(
                f"{pair.server}: {shard_path} is {each} with the twin {each.twin}, and {names[0]} with"
                f" {names[0].twin} on {pairs[0].server}",
                remedy="RENAME them until the table and its twin have the same names on every replica",
            )
    return names


def differing(pairs: Sequence[TablePair], found: Sequence[tuple[Holding, Holding]]) -> str:
    """Where replicas have not the same parts, for people; empty where all have."""
    reasons = [
        f"{table} has {there.parts} parts with {there.rows} rows on {pair.server}, and {first.parts} with"
        f" {first.rows} on {pairs[0].server}"
        for pair, both in zip(pairs, found)
        for table, there, first in zip((pair.home, pair.away), both, found[0])
        if there != first
    ]
    return first_few(reasons) if reasons else ""
