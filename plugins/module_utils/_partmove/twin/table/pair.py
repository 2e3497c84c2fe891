# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two tables of a replica by their places, and the table with the name for clients.

The place of a table is its ensemble and its path, and never changes. Names can be exchanged at any moment. A
whole table has moved to the other ensemble once the table there has the *name*; the former table then has the
name of the twin. Tables are therefore found by their places, and the name decides where inserts go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...errors import PartMoveError
from ...formats.inner_tables import INNER_REMEDY, inner_reason, is_inner
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import count_of, first_few
from ..move.gates import refuse_tables
from ..move.tables import Side, TwinReplica, TwinTable, TwinTables
from .exchange_record import ServerMoment
from .left_policies import PolicyServers
from .older_inserts import InsertsInProgress
from .table_refused import TableRefused

TABLE = "{table}"
"""Placeholder, in the name of a twin, for the name of its table."""
EXCHANGEABLE = "Atomic"
"""The database engine whose tables can be exchanged. Each replica executes the statement itself."""
REPLICATED = "Replicated"
"""The database engine that executes each CREATE, RENAME and EXCHANGE on all replicas."""


class TablePair(NamedTuple):
    """The two tables of a replica."""

    replica: TwinReplica
    server: str
    """Name of the server, for people."""
    home: TwinTable
    """The table at the shard path, in the default ensemble."""
    away: TwinTable
    """The table in the auxiliary ensemble."""

    def at(self, side: Side) -> TwinTable:
        """Return the table in the ensemble of the side: home for HOT, away for COLD."""
        return self.home if side is Side.HOT else self.away


class LocatedTables(NamedTuple):
    """The tables that a replica has: the table at the shard path, and its twin if there is one."""

    replica: TwinReplica
    server: str
    home: TwinTable
    away: TwinTable | None
    database_engine: str
    elsewhere: str = ""
    """Without a twin: a table in an auxiliary ensemble that has the name of the twin, or of the table whose
    twin is named like this table; "" without any."""

    @property
    def pair(self) -> TablePair | None:
        """Both tables; None without a twin."""
        if self.away is None:
            return None
        return TablePair(self.replica, self.server, self.home, self.away)


class TableName(NamedTuple):
    """The name for clients, and the place of the table with this name, on a replica."""

    database: str
    name: str
    twin: str
    at: Side
    """HOT if the table at home has the name, COLD if the table away has it."""

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


class PairServers(PolicyServers, Protocol):
    """Queries the servers of replicas about both tables, and exchanges names. Raises PartMoveError."""

    def find(self, shard_path: str, replica: TwinReplica) -> LocatedTables:
        """Return the tables of a replica, found by their places."""

    def exchange(self, pair: TablePair) -> None:
        """Exchange the names of the two tables on this replica alone."""

    def exchange_statement(self, pair: TablePair) -> str:
        """Return the SQL statement of `exchange`."""

    def hindrances(self, pair: TablePair) -> Sequence[str]:
        """Return the activities in the two tables that depend, or will depend, on their names; for people."""

    def contents(self, pair: TablePair) -> PairContents:
        """Return the contents of the tables at home and away, read at the same moment."""

    def queued_inserts(self, pair: TablePair) -> Sequence[str]:
        """Return the asynchronous inserts into the two tables that wait to be written; for people.

        They keep the table that had the name: after an exchange they fail, or go to the other table.
        """

    def require_rights(self, found: LocatedTables) -> None:
        """Raise NotPermitted unless the user may execute all statements of a move; changes nothing.

        Rights that the server reports in no other way are verified only when they are needed.
        """

    def moment(self, pair: TablePair) -> ServerMoment:
        """Return the current moment by the clocks of the server."""

    def inserts_in_progress(self, pair: TablePair, since: ServerMoment) -> InsertsInProgress:
        """Return what may insert on the server; of statements, those that began before the moment."""


class TableContents(NamedTuple):
    """The contents of a table on a replica. Replicas with the same parts have equal contents."""

    rows: int
    parts: int
    digest: str
    """Digest of the names, rows and hashes of the parts."""


PairContents = tuple[TableContents, TableContents]
"""Contents of the tables at home and away."""


def locate_name(pair: TablePair, twin: str) -> TableName:
    """Return which of the two tables has the name. ``twin``: the name of a twin, with TABLE in it.

    Raises TableRefused if neither table has the name of the other table's twin.
    """
    home, away = pair.home, pair.away
    for table, other, side in ((home, away, Side.HOT), (away, home, Side.COLD)):
        if table.database == other.database and twin.replace(TABLE, table.name) == other.name:
            return TableName(table.database, table.name, other.name, side)
    raise TableRefused(
        Refusal(
            GateName.TWIN_ALIKE,
            f"{pair.server}: {home} and {away} are at {home.place} and {away.place}, and neither is named as"
            f" {twin} for the name of the other table",
            "Set twin to the way twins are named, or RENAME the table that shall be the twin",
        )
    )


def table_of_twin(name: str, twin: str) -> str | None:
    """Return the name of the table whose twin has this name; None if it is not named as a twin.

    >>> table_of_twin("hits_cold", "{table}_cold"), table_of_twin("_cold", "{table}_cold")
    ('hits', None)
    """
    before, _table, after = twin.partition(TABLE)
    original = name[len(before) : len(name) - len(after)]
    return original if original and twin.replace(TABLE, original) == name else None


def related_names(name: str, twin: str) -> list[str]:
    """Return the names that the other table of a pair may have, if one table has this name."""
    original = table_of_twin(name, twin)
    return [twin.replace(TABLE, name), *([] if original is None else [original])]


def named_tables(found: LocatedTables, twin: str) -> TwinTables:
    """Return both tables of a replica as moves of partitions and row policies know them, by their names.

    A missing twin is described by the name that it will have.
    """
    if found.pair is not None:
        return as_twin_tables(found.pair, locate_name(found.pair, twin).at)
    away = found.home._replace(name=twin.replace(TABLE, found.home.name))
    return TwinTables(found.replica, found.server, found.home, away)


def as_twin_tables(pair: TablePair, at: Side) -> TwinTables:
    """Return the pair for moves of partitions: ``hot`` is the table of side ``at``, with the name."""
    hot, cold = pair.at(at), pair.at(at.other)
    return TwinTables(pair.replica, pair.server, hot, cold, at)


def refuse_hindrances(server: str, reasons: Sequence[str]) -> None:
    """Raise TableRefused if names may not be exchanged on a server now. ``reasons``: why, for people."""
    if reasons:
        raise TableRefused(
            Refusal(
                GateName.TWIN_AT_REST,
                f"{server}: the names are not exchanged, as {first_few(reasons)}",
                "Wait until that is done, and run again. While clients insert asynchronously into the table,"
                " let them pause, or insert with async_insert = 0",
            )
        )


def refuse_inner_tables(found: Sequence[LocatedTables]) -> None:
    """Raise TableRefused if the table is the inner table of a view."""
    for each in found:
        if is_inner(each.home.name):
            reason = f"{each.server}: {inner_reason(str(each.home))}"
            raise TableRefused(Refusal(GateName.NOT_INNER, reason, INNER_REMEDY))


def refuse_databases(found: Sequence[LocatedTables]) -> None:
    """Raise TableRefused if a database does not support EXCHANGE TABLES on a single replica."""
    for each in found:
        if each.database_engine != EXCHANGEABLE:
            raise TableRefused(
                Refusal(
                    GateName.TWIN_READY,
                    f"{each.server}: the database {each.home.database} is of the engine"
                    f" {each.database_engine}, and only those of {EXCHANGEABLE} can exchange tables replica"
                    " by replica",
                    _exchange_remedy(each.database_engine),
                )
            )


def _exchange_remedy(database_engine: str) -> str:
    if database_engine == REPLICATED:
        return (
            "Move its partitions with twin_move, which renames nothing: a table in such a database cannot be"
            " renamed into another database"
        )
    return f"Create a database of the engine {EXCHANGEABLE} and RENAME the table into it"


def refuse_pairs(shard_path: str, pairs: Sequence[TablePair], twin: str) -> Sequence[TableName]:
    """Return the name on each replica. Raises TableRefused if the names may not be exchanged."""
    refusal = refuse_tables(shard_path, [as_twin_tables(each, Side.HOT) for each in pairs])
    if refusal is not None:
        raise TableRefused(refusal)
    names = [locate_name(each, twin) for each in pairs]
    for pair, each in zip(pairs, names):
        if each[:3] != names[0][:3]:
            raise TableRefused(
                Refusal(
                    GateName.TWIN_ALIKE,
                    f"{pair.server}: {shard_path} is {each} with the twin {each.twin}, and {names[0]} with"
                    f" {names[0].twin} on {pairs[0].server}",
                    "RENAME them until the table and its twin have the same names on every replica",
                )
            )
    return names


def refuse_unnamed(found: Sequence[LocatedTables], twin: str) -> None:
    """Raise PartMoveError if a replica lacks the table that has the name on another replica."""
    for each in found:
        if each.pair is not None and locate_name(each.pair, twin).at is Side.COLD:
            lacking = [other.server for other in found if other.away is None]
            raise PartMoveError(
                f"{first_few(lacking)} has no table at {each.pair.away.place}, which has the name on"
                f" {each.server}",
                remedy="Create it there as on the other replicas, and run again",
            )


def describe_difference(pairs: Sequence[TablePair], found: Sequence[PairContents]) -> str:
    """Return which replicas have other parts than the first, for people; "" if all have the same."""
    reasons = [
        f"{table} has {count_of(there.parts, 'part')} with {count_of(there.rows, 'row')} on"
        f" {pair.server}, and {first.parts:,} with {first.rows:,} on {pairs[0].server}"
        for pair, both in zip(pairs, found)
        for table, there, first in zip((pair.home, pair.away), both, found[0])
        if there != first
    ]
    return first_few(reasons) if reasons else ""
