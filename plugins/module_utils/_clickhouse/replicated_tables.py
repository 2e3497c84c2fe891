# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a server says of replicated tables: of several tables of a database with three queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.move.row_sql import VIRTUAL
from .._partmove.twin.move.tables import TwinTable
from .client import ClickHouseClient
from .table_definition import definition_of, ensemble_in
from .table_problem import has_lost_znodes, problem_of

_NOT_STORED = ("ALIAS", "EPHEMERAL")


class ReplicatedTables(NamedTuple):
    """The rows of the tables, by name. A table that the server does not have has none.

    server: name of the server, for people.
    texts: engine_full and create_table_query of ``system.tables``.
    columns: names of the columns that parts have, in their order.
    virtual_names: columns with the name of a virtual column, see `TwinTable`.
    reports_ensembles: whether ``system.replicas`` has the name of the ensemble.
    """

    server: str
    database: str
    replicas: Mapping[str, Sequence[Any]]
    texts: Mapping[str, tuple[str, str]]
    columns: Mapping[str, Sequence[str]]
    virtual_names: Mapping[str, Sequence[str]]
    reports_ensembles: bool

    def table(self, name: str) -> TwinTable:
        """Return the description of a table. Raises PartMoveError if the server has no such table."""
        if name not in self.replicas or name not in self.texts:
            raise PartMoveError(
                f"{self.server} has no replicated table {self.database}.{name}",
                remedy="Create the twin on every replica, with its path in the auxiliary ensemble, or set"
                " twin to the way twins are named",
            )
        where, path, replica, total, active, is_readonly, is_expired, exception, registered = self.replicas[
            name
        ]
        engine, create = self.texts[name]
        table = TwinTable(
            self.database,
            name,
            where if self.reports_ensembles else ensemble_in(engine, f"{self.database}.{name}"),
            path,
            replica,
            definition_of(engine, create, f"{self.database}.{name}"),
            tuple(self.columns.get(name, ())),
            int(total),
            int(active),
            replicas=tuple(sorted(registered)),
            virtual_names=tuple(self.virtual_names.get(name, ())),
        )
        problem = problem_of(table, exception, int(is_readonly) or int(is_expired))
        return table._replace(problem=problem, is_lost=has_lost_znodes(table, exception))


def read_tables(
    client: ClickHouseClient, database: str, names: Sequence[str], known: Collection[str]
) -> ReplicatedTables:
    """Query a server for tables of a database. ``known``: the columns of its ``system.replicas``."""
    of_database = f"database = {literal(database)}"
    of_tables = f"{of_database} AND {is_one_of('table', names)}"
    ensemble = "zookeeper_name" if "zookeeper_name" in known else "''"
    registered = "mapKeys(replica_is_active)" if "replica_is_active" in known else "[]"
    replicas = client.rows(
        f"SELECT table, {ensemble}, zookeeper_path, replica_name, toString(total_replicas),"
        " toString(active_replicas), toString(is_readonly), toString(is_session_expired),"
        f" zookeeper_exception, {registered} FROM system.replicas WHERE {of_tables}"
    )
    texts = client.rows(
        "SELECT name, engine_full, create_table_query FROM system.tables"
        f" WHERE {of_database} AND {is_one_of('name', names)}"
    )
    columns: defaultdict[str, list[str]] = defaultdict(list)
    virtual_names: defaultdict[str, list[str]] = defaultdict(list)
    for table, column, kind in client.rows(
        f"SELECT table, name, default_kind FROM system.columns WHERE {of_tables} ORDER BY table, position"
    ):
        if kind not in _NOT_STORED:
            columns[table].append(column)
        if column in VIRTUAL:
            virtual_names[table].append(column)
    return ReplicatedTables(
        client.label,
        database,
        {name: values for name, *values in replicas},
        {name: (engine, create) for name, engine, create in texts},
        columns,
        virtual_names,
        "zookeeper_name" in known,
    )
