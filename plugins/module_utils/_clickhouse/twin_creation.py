# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates missing cold twins on all replicas of a table, unless an existing twin or table differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.text import first_few
from .._partmove.twin.move.gates import first_difference, shared_definition
from .._partmove.twin.move.tables import TwinReplica
from .client import QueryRefused
from .creation_settings import create_table
from .kept_macros import keep_macros
from .replicated_database import refuse_new_twin
from .table_definition import TableTexts, create_statement, place_in
from .twin_servers import HttpTwinServers, TwinOfReplica

PATH = "{path}"
"""Placeholder, in the path of a twin, for the path of the hot table."""

_REPLICA_EXISTS = 253
_DROPPED_LATER = (
    "If a twin at this path was dropped without SYNC, wait until the server has removed it, by default after"
    " 8 minutes, and run again. Otherwise another table has the path: set path or ensemble"
)
_BY_SETTING = (
    "Let the user of clickhouse change the setting that the message names, or create the twin by hand with it"
)
_REMEDIES = {
    _REPLICA_EXISTS: _DROPPED_LATER,
    **dict.fromkeys((36, 44, 80, 127, 344, 455, 549), _BY_SETTING),
}


class TwinPlace(NamedTuple):
    """The place of twins: an auxiliary ensemble, and a path with PATH in it."""

    ensemble: str
    path: str

    def refuse_shared(self, hot_paths: Sequence[str]) -> None:
        """Raise PartMoveError if twins of different tables would be replicas of one table."""
        if len({self.of(each) for each in hot_paths}) < len(set(hot_paths)):
            raise PartMoveError(
                f"The twins of {first_few(hot_paths)} would have the same path {self.path}, and become"
                " replicas of each other",
                remedy=f"Put {PATH} into path, for example {PATH}_cold",
            )

    def of(self, hot_path: str) -> str:
        """Return the path of the twin of a table. Raises PartMoveError for an invalid path."""
        path = self.path.replace(PATH, hot_path)
        if path == hot_path:
            raise PartMoveError(
                f"The twin of {hot_path} would have the same path, which a server refuses",
                remedy=f"Add text to {PATH} in path, for example {PATH}_cold",
            )
        return check_shard_path(path)


class TwinSteps(NamedTuple):
    """The statement that gives a replica its twin; empty if the replica has a twin.

    read: reads the tables of the replica again.
    """

    replica: str
    server: TwinOfReplica
    statement: str
    read: Callable[[], TwinOfReplica]

    def carry_out(self) -> None:
        """Create the twin. Raises PartMoveError if the server fails, or if the twin is unlike its table."""
        if not self.statement:
            return
        server = self.server
        try:
            create_table(server.client, self.statement, server.hot.definition)
        except QueryRefused as error:
            raise PartMoveError(
                f"{server.client.label} refused to create {server.name}, the twin of {server.hot}, with code"
                f" {error.code}: {error.text}",
                remedy=_REMEDIES.get(error.code, error.remedy),
            ) from None
        created = self.read().found
        if created is None or created.definition != server.hot.definition:
            found = "" if created is None else created.definition
            raise PartMoveError(
                f"{server.client.label} created {server.name} unlike {server.hot}:"
                f" {first_difference(server.hot.definition, found)}",
                remedy=f"DROP TABLE {server.name} SYNC, which is empty, and create the twin by hand",
            )


def plan_twins(
    servers: HttpTwinServers, shard_path: str, replicas: Sequence[TwinReplica], place: TwinPlace
) -> list[TwinSteps]:
    """Return the steps for each replica, in their order.

    Raises PartMoveError if a server cannot be queried or has a different table; then no twin may be created.
    """
    path = place.of(shard_path)
    twins = [servers.read_twin(shard_path, each) for each in replicas]
    for each in twins:
        _refuse_different(each, twins[0], f"{place.ensemble}:{path}")
    return [
        TwinSteps(
            replica.name,
            each,
            "" if each.found else _creation(each, place, path),
            partial(servers.read_twin, shard_path, replica),
        )
        for replica, each in zip(replicas, twins)
    ]


def _creation(server: TwinOfReplica, place: TwinPlace, path: str) -> str:
    hot, texts = server.hot, TableTexts(server.hot.sql_name, server.engine, server.create)
    refuse_new_twin(server.client, hot)
    written = place_in(server.engine, str(hot)) or (hot.path, hot.replica)
    template = place.path.replace(PATH, written[0].rstrip("/"))
    texts_of = keep_macros(server.client, hot, {path: template, hot.replica: written[1]})
    return create_statement(texts, server.name, f"{place.ensemble}:{texts_of[path]}", texts_of[hot.replica])


def _refuse_different(server: TwinOfReplica, first: TwinOfReplica, place: str) -> None:
    """Raise PartMoveError if a server's tables are no twins, or its table differs from the first server's."""
    hot, found, label = server.hot, server.found, server.client.label
    if shared_definition(hot.definition) != shared_definition(first.hot.definition):
        raise PartMoveError(
            f"{label}: {hot} differs from {first.client.label}:"
            f" {first_difference(hot.definition, first.hot.definition)}",
            remedy="ALTER one of them until all replicas have the same table. ALTER … MODIFY SETTING changes"
            " a single replica",
        )
    if found is None:
        return
    if found.place != place or found.replica != hot.replica:
        raise PartMoveError(
            f"{label}: {found} is replica {found.replica} of {found.place}, and not {hot.replica} of {place}",
            remedy="Set ensemble and path to the place of the twin, or choose another name for the twin",
        )
    if found.definition != hot.definition:
        raise PartMoveError(
            f"{label}: {hot} and {found} differ: {first_difference(hot.definition, found.definition)}",
            remedy="ALTER the twin until both are alike, or drop it with SYNC while it is empty, and run"
            " again",
        )
