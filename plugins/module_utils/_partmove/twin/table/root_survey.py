# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Surveys all tables below a root: their shards, their replicas, and the size of both tables of each replica.

The hot ensemble lists the shard paths and their replicas. Only the servers know the names of the tables.
Shard paths whose tables have the same database and name are shards of a table.

A missing answer never counts as an empty answer:

- A shard path whose servers are all silent may be a shard of any table, so the whole survey fails.
- A replica with a silent server, or without its table, refuses the table.
- A shard path is unknown if all its servers answer and none shows its table. Then the table was dropped, is
  detached, belongs to another cluster, or is hidden from the user.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ...errors import NoSuchTable, PartMoveError
from ...formats.inner_tables import INNER_REMEDY, inner_reason, is_inner
from ...formats.layout import DEFAULT_ENSEMBLE
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...tree.ports import ZnodeReader
from ..move.servers import read_replicas
from ..move.tables import Side, TwinReplica
from ..readers.statements import policy_names
from .departure import refuse_lacking
from .pair import TABLE, TableContents, related_names
from .table_refused import refusal_of


class PlacedTable(NamedTuple):
    """A replicated table of a server, and its size."""

    database: str
    name: str
    ensemble: str
    path: str
    replica: str
    contents: TableContents
    partitions: int
    bytes_on_disk: int

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


Place = tuple[str, str, str]
"""Ensemble, path and replica of a table."""


class ServerTables(NamedTuple):
    """All replicated tables of a server, by their places. ``server``: its name, for people.

    policies: the names of all row policies of twin_move; None if the user may not see them.
    """

    server: str
    tables: Mapping[Place, PlacedTable]
    policies: Collection[str] | None = None


class RootServers(Protocol):
    """Queries servers for all their replicated tables. Raises PartMoveError."""

    def placed_tables(self, shard_path: str, replica: TwinReplica) -> ServerTables:
        """Return the tables of the server of a replica. Queries each server once, even after a failure."""

    def place_of_twin(self, shard_path: str) -> tuple[str, str]:
        """Return the ensemble and the path of the twin of a table."""

    def explain_missing(self, shard_path: str, replica: TwinReplica) -> PartMoveError:
        """Return why the server of the replica shows no table at the shard path."""


class ReplicaTables(NamedTuple):
    """The tables of a replica: ``home`` at the shard path, ``away`` at the place of the twin."""

    replica: str
    server: str
    home: PlacedTable
    away: PlacedTable | None
    name: str
    """Database and name for clients."""
    at: Side
    """HOT if the table at home has the name."""
    has_policy: bool = False
    """Whether the server may have a row policy of twin_move that, by its name, hides rows of the tables."""
    elsewhere: str = ""
    """As in `LocatedTables`."""

    def on(self, side: Side) -> PlacedTable | None:
        """Return the table of the side; None for a missing twin."""
        return self.home if side is Side.HOT else self.away


class ShardTables(NamedTuple):
    """A shard of a table, with the answering replicas."""

    shard_path: str
    replicas: Sequence[ReplicaTables]


class RootTable(NamedTuple):
    """A table with all its shards. ``refusal``: why a run cannot move the table; None if it can."""

    name: str
    shards: Sequence[ShardTables]
    refusal: Refusal | None


class UnknownPath(NamedTuple):
    """A shard path without a table on any of its servers."""

    shard_path: str
    reason: str
    remedy: str


class RootSurvey(NamedTuple):
    """The tables below a root by name, and the shard paths of no table."""

    tables: Sequence[RootTable]
    unknown: Sequence[UnknownPath]


def survey(
    hot: ZnodeReader, shard_paths: Sequence[str], servers: RootServers, twin: str, desired: Side
) -> RootSurvey:
    """Return the tables of the shard paths. ``twin``: the name of twins, with TABLE in it.

    Raises PartMoveError if no server of a shard path answers, and EnsembleError.
    """
    found: dict[str, list[ShardTables]] = {}
    refusals: dict[str, Refusal] = {}
    unknown: list[UnknownPath] = []
    for path in shard_paths:
        answers = _ask(hot, path, servers, twin)
        if not answers.replicas:
            unknown.append(_unknown(path, answers))
            continue
        name = answers.replicas[0].name
        found.setdefault(name, []).append(ShardTables(path, answers.replicas))
        refusal = answers.refusal or _refuse_shard(path, answers.replicas, desired)
        if refusal is not None:
            refusals.setdefault(name, refusal)
    tables = [RootTable(name, shards, refusals.get(name)) for name, shards in sorted(found.items())]
    return RootSurvey(tables, unknown)


class _Answers(NamedTuple):
    """The answers of the servers of a shard path."""

    replicas: Sequence[ReplicaTables]
    refusal: Refusal | None
    missing: PartMoveError | None
    """Why the first replica without a table has none."""


def _ask(hot: ZnodeReader, path: str, servers: RootServers, twin: str) -> _Answers:
    """Ask the server of each replica. Raises PartMoveError if every replica without a table is silent."""
    replicas: list[ReplicaTables] = []
    refusal: Refusal | None = None
    silent: PartMoveError | None = None
    missing: PartMoveError | None = None
    try:
        registered = read_replicas(hot, path)
    except NoSuchTable as error:
        return _Answers((), None, error)
    for each in registered:
        try:
            found = _tables_of(path, each, servers, twin)
            if found is None:
                missing = missing or servers.explain_missing(path, each)
                refusal = refusal or refusal_of(missing)
        except PartMoveError as error:
            silent = silent or error
            refusal = refusal or refusal_of(error)
            continue
        if found is not None:
            replicas.append(found[0])
            refusal = refusal or found[1]
    if not replicas and silent is not None:
        remedy = silent.remedy.rstrip(".") or "Start the server and run again"
        raise PartMoveError(
            f"It is unknown which table {path} is, because no server that may have it answers:"
            f" {silent.message}",
            remedy=f"{remedy}. If the server is gone for good or belongs to another cluster, exclude {path}",
        )
    return _Answers(replicas, refusal, missing)


def _tables_of(
    path: str, replica: TwinReplica, servers: RootServers, twin: str
) -> tuple[ReplicaTables, Refusal | None] | None:
    """Return both tables of a replica and a refusal of the pair; None without a table at home."""
    answer = servers.placed_tables(path, replica)
    home = answer.tables.get((DEFAULT_ENSEMBLE, path, replica.name))
    if home is None:
        return None
    away = answer.tables.get((*servers.place_of_twin(path), replica.name))
    tables = ReplicaTables(replica.name, answer.server, home, away, str(home), Side.HOT)
    if away is None:
        return tables._replace(elsewhere=_elsewhere(answer, home, twin)), None
    if _is_twin(away, home, twin):
        return tables._replace(has_policy=_has_policy(answer, path, home)), None
    if _is_twin(home, away, twin):
        has_policy = _has_policy(answer, path, away)
        return tables._replace(name=str(away), at=Side.COLD, has_policy=has_policy), None
    return tables, Refusal(
        GateName.TWIN_ALIKE,
        f"{answer.server}: {away} is at the place of the twin of {home}, and neither is named as {twin} for"
        " the name of the other table",
        "Set twin to the way twins are named, or RENAME the table that shall be the twin",
    )


def _has_policy(answer: ServerTables, path: str, named: PlacedTable) -> bool:
    return answer.policies is None or not policy_names(path, named.name).isdisjoint(answer.policies)


def _elsewhere(answer: ServerTables, home: PlacedTable, twin: str) -> str:
    """Return a table in an auxiliary ensemble that belongs to the table at home by its name; "" without."""
    names = related_names(home.name, twin)
    for each in answer.tables.values():
        if each.ensemble != DEFAULT_ENSEMBLE and each.database == home.database and each.name in names:
            return f"{each} at {each.ensemble}:{each.path}"
    return ""


def _is_twin(table: PlacedTable, other: PlacedTable, twin: str) -> bool:
    """Whether the table has the name of the twin of the other table."""
    return table.database == other.database and table.name == twin.replace(TABLE, other.name)


def _refuse_shard(path: str, replicas: Sequence[ReplicaTables], desired: Side) -> Refusal | None:
    first = replicas[0]
    for each in replicas:
        # Before the names are compared: each replica has another UUID in the name of its inner table.
        if is_inner(each.home.name):
            reason = f"{each.server}: {inner_reason(str(each.home))}"
            return Refusal(GateName.NOT_INNER, reason, INNER_REMEDY)
    for each in replicas:
        if each.name != first.name:
            return Refusal(
                GateName.TWIN_ALIKE,
                f"{path} is {each.name} on {each.server}, and {first.name} on {first.server}",
                "RENAME the table until it has the same name on every replica",
            )
    lacking = [each.server for each in replicas if each.away is None]
    if desired is Side.HOT and lacking and len(lacking) < len(replicas):
        return refuse_lacking(path, first.name, lacking[0])
    return None


def _unknown(path: str, answers: _Answers) -> UnknownPath:
    why = answers.missing or NoSuchTable(
        f"{path} has no replica", remedy="Look at the znode, and exclude the path if it is no table"
    )
    more = (
        "If the user may not see the table, GRANT SHOW TABLES on it. If it belongs to another cluster,"
        " exclude it"
    )
    return UnknownPath(path, why.message, f"{why.remedy.rstrip('.')}. {more}")
