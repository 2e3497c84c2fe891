# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates missing cold twins on all replicas of a table, unless an existing twin or table differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.text import first_few
from .._partmove.twin.move.gates import first_difference
from .._partmove.twin.move.tables import TwinReplica
from .client import QueryRefused
from .replicated_database import refuse_new_twin
from .table_definition import create_statement
from .twin_servers import HttpTwinServers, TwinOfReplica

PATH = "{path}"
"""Placeholder, in the path of a twin, for the path of the hot table."""

_REPLICA_EXISTS = 253
_DROPPED_LATER = (
    "If a twin at this path was dropped without SYNC, wait until the server has removed it, by default after"
    " 8 minutes, and run again. Otherwise another table has the path: set path or ensemble"
)


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
    """The statement that gives a replica its twin; empty if the replica has a twin."""

    replica: str
    server: TwinOfReplica
    statement: str

    def carry_out(self) -> None:
        """Create the twin. Raises PartMoveError if the server fails."""
        if not self.statement:
            return
        try:
            self.server.client.execute(self.statement)
        except QueryRefused as error:
            if error.code != _REPLICA_EXISTS:
                raise
            raise PartMoveError(error.message, remedy=_DROPPED_LATER) from None


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
            "" if each.found else _creation(each, f"{place.ensemble}:{path}", replica.name),
        )
        for replica, each in zip(replicas, twins)
    ]


def _creation(server: TwinOfReplica, place: str, replica: str) -> str:
    refuse_new_twin(server.client, server.hot)
    return create_statement(server.engine, server.create, str(server.hot), server.name, place, replica)


def _refuse_different(server: TwinOfReplica, first: TwinOfReplica, place: str) -> None:
    """Raise PartMoveError if a server's tables are no twins, or its table differs from the first server's."""
    hot, found, label = server.hot, server.found, server.client.label
    if hot.definition != first.hot.definition:
        raise PartMoveError(
            f"{label}: {hot} differs from {first.client.label}:"
            f" {first_difference(hot.definition, first.hot.definition)}",
            remedy="ALTER one of them until all replicas have the same table; a server changes a storage"
            " policy only to one with all volumes of the old one",
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
