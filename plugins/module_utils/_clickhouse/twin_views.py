# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates reading tables, of the engine Merge, over a table and its twin on every replica.

*Beside*: ``hits_all`` reads ``hits`` and ``hits_cold``. *In front*: ``hits`` reads ``hits_hot`` and
``hits_hot_cold``. For *in front* the reading table is created as ``hits_hot``, because a Merge table never
reads itself, and then exchanges its name with the hot table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import identifier, literal
from .._partmove.twin.move.tables import TwinReplica, TwinTable, TwinTables
from .._partmove.twin.table.pair import (
    EXCHANGEABLE,
    REPLICATED,
    TABLE,
    LocatedTables,
    TablePair,
    locate_name,
    refuse_hindrances,
)
from .client import ClickHouseClient
from .inserts_in_progress import read_queued
from .options import ClickHouseOptions
from .pair_servers import HttpPairServers
from .twin_creation import TwinPlace
from .twin_sql import table_condition

BESIDE, IN_FRONT = f"{TABLE}_all", f"{TABLE}_hot"
"""Default names: of a reading table beside, and of the hot table behind a reading table in front."""

_EXCHANGE = "EXCHANGE TABLES "
"""How the statement begins that exchanges two names."""


class ViewNames(NamedTuple):
    """The names on a replica, in ``database``: the reading table ``reading`` reads ``hot`` and ``twin``."""

    database: str
    reading: str
    hot: str
    twin: str
    free: str
    """The name under which the reading table is created: the future name of the hot table, or ``reading``."""


class TwinViewSteps(NamedTuple):
    """The statements that give a replica its reading table; none if the replica has it."""

    replica: str
    client: ClickHouseClient
    reading: str
    statements: tuple[str, ...]
    tables: TwinTables
    """The table and its twin, by their names before the statements."""

    @property
    def exchanges(self) -> bool:
        """Whether a statement exchanges names; then no partition may be between the tables."""
        return any(each.startswith(_EXCHANGE) for each in self.statements)

    def carry_out(self) -> None:
        """Execute the statements. Raises PartMoveError if the server fails, or has queued inserts.

        A queued asynchronous insert keeps the name of its table. After the exchange 25.8 loses such rows.
        """
        for each in self.statements:
            if each.startswith(_EXCHANGE):
                refuse_hindrances(self.client.label, list(read_queued(self.client, self.tables).values()))
            self.client.execute(each)


class TwinViews(HttpPairServers):
    """Decides the statements for each replica. ``name``: the template of `BESIDE` or `IN_FRONT`."""

    def __init__(
        self, options: ClickHouseOptions, place: TwinPlace, twin: str, name: str, *, in_front: bool
    ) -> None:
        super().__init__(options, place, twin)
        if TABLE not in name or name in (TABLE, twin):
            raise PartMoveError(
                f"The name of the reading table is {name!r}, which lacks {TABLE} or is no other name",
                remedy=f"Write it as {BESIDE}, or in front as {IN_FRONT}",
            )
        self._name = name
        self._in_front = in_front

    def steps(self, shard_path: str, replica: TwinReplica) -> TwinViewSteps:
        """Return the statements for a replica. Raises PartMoveError if none may be executed."""
        found = self.find(shard_path, replica)
        away = found.away
        if away is None:
            raise _missing_twin(found)
        client = self.clients.of(shard_path, replica.name, replica.host)
        pair = TablePair(replica, found.server, found.home, away)
        names = self._names_in_front(found, away) if self._in_front else self._names_beside(pair)
        home = found.home.name
        is_exchanged = not self._in_front or home == names.hot
        # Before the exchange the reading table has the future name of the hot table.
        name = names.reading if is_exchanged else names.free
        database = identifier(names.database)
        table = found.home._replace(name=name)
        statements = self._creation(client, found, names, table)
        if not is_exchanged:
            both = f"{database}.{identifier(names.reading)} AND {database}.{identifier(names.free)}"
            statements += (f"{_EXCHANGE}{both}",)
        tables = TwinTables(replica, found.server, found.home, away)
        return TwinViewSteps(replica.name, client, f"{names.database}.{names.reading}", statements, tables)

    def _names_beside(self, pair: TablePair) -> ViewNames:
        name = locate_name(pair, self._twin)
        reading = self._name.replace(TABLE, name.name)
        return ViewNames(name.database, reading, name.name, name.twin, reading)

    def _names_in_front(self, found: LocatedTables, away: TwinTable) -> ViewNames:
        if found.database_engine != EXCHANGEABLE:
            raise PartMoveError(
                f"{found.server}: the database {found.home.database} is of the engine"
                f" {found.database_engine}, and names can be exchanged in {EXCHANGEABLE} only",
                remedy="Read by a table beside the two, with in_front false",
            )
        home, twin = found.home.name, away.name
        in_front = _match_template(self._name, home)
        candidates = [(home, self._name.replace(TABLE, home))]
        candidates += [(in_front, home)] if in_front else []
        for reading, hot in candidates:
            if self._twin.replace(TABLE, hot) == twin:
                return ViewNames(found.home.database, reading, hot, twin, hot)
        required = self._twin.replace(TABLE, candidates[0][1])
        raise PartMoveError(
            f"{found.server}: {found.home} would become {candidates[0][1]}, and moves would then look for its"
            f" twin as {required}, and not as {twin}",
            remedy=f"RENAME TABLE {away} TO {found.home.database}.{required} on every replica, while no"
            " partition is being moved, and run again",
        )

    def _creation(
        self, client: ClickHouseClient, found: LocatedTables, names: ViewNames, table: TwinTable
    ) -> tuple[str, ...]:
        """Return the statements that create or replace the reading table; () if it is up to date."""
        existing = client.rows(
            f"SELECT engine, engine_full FROM system.tables WHERE database = {literal(table.database)}"
            f" AND name = {literal(table.name)}"
        )
        tables = "|".join(re.escape(each) for each in (names.hot, names.twin))
        engine = f"Merge({literal(names.database)}, {literal(f'^({tables})$')})"
        drop: tuple[str, ...] = ()
        # One statement is for all replicas then: another one may have been carried out already.
        verb = "CREATE TABLE IF NOT EXISTS" if found.database_engine == REPLICATED else "CREATE TABLE"
        if existing:
            ((kind, written),) = existing
            if kind != "Merge":
                raise PartMoveError(
                    f"{found.server} has a table {table} of the engine {kind}",
                    remedy="Give another name to the reading table",
                )
            if written == engine and _columns(client, table_condition(table)) == _columns(
                client, table_condition(found.home)
            ):
                return ()
            # It has no rows of its own. Only some databases replace a table in one step.
            if found.database_engine in (EXCHANGEABLE, REPLICATED):
                verb = "CREATE OR REPLACE TABLE"
            else:
                drop = (f"DROP TABLE {table.sql_name}",)
        return (*drop, f"{verb} {table.sql_name} AS {found.home.sql_name} ENGINE = {engine}")


def plan_views(servers: TwinViews, shard_path: str, replicas: Sequence[TwinReplica]) -> list[TwinViewSteps]:
    """Return the statements for each replica, in order. Raises PartMoveError if none may be executed."""
    return [servers.steps(shard_path, each) for each in replicas]


def _columns(client: ClickHouseClient, table: str) -> list[list[str]]:
    return client.rows(
        "SELECT name, type, default_kind, default_expression FROM system.columns"
        f" WHERE {table} ORDER BY position"
    )


def _match_template(template: str, name: str) -> str:
    """Return the text that TABLE stands for in the template to give the name; "" if there is none."""
    before, after = template.split(TABLE, 1)
    fits = name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
    return name[len(before) : len(name) - len(after)] if fits else ""


def _missing_twin(found: LocatedTables) -> PartMoveError:
    return PartMoveError(
        f"{found.server} has no twin of {found.home} at its place", remedy="Create it with twin_table first"
    )
