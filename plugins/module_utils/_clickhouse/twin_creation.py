# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cold twins on all replicas of a table: those that are missing are created, unless one is unlike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.twin.move.gates import first_difference
from .._partmove.twin.move.tables import TwinReplica
from .table_definition import create_statement
from .twin_servers import HttpTwinServers, TwinOfReplica

PATH = "{path}"
"""What stands for the path of the hot table in that of its twin."""


class TwinPlace(NamedTuple):
    """Where twins are: the name of an auxiliary ensemble, and a path with PATH in it."""

    ensemble: str
    path: str

    def of(self, hot_path: str) -> str:
        """The path of the twin of a table; raises PartMoveError for one that cannot be."""
        path = self.path.replace(PATH, hot_path)
        if path == hot_path:
            raise PartMoveError(
                f"The twin of {hot_path} would have the same path, which a server refuses",
                remedy=f"Give path with something besides {PATH}, such as {PATH}_cold",
            )
        return check_shard_path(path)


class TwinSteps(NamedTuple):
    """What a replica has, or what would give it that; ``statement`` is empty where it has its twin."""

    replica: str
    server: TwinOfReplica
    statement: str

    def carry_out(self) -> None:
        """Create the twin; raises PartMoveError where the server does not."""
        if self.statement:
            self.server.client.execute(self.statement)


def steps_to_twins(
    servers: HttpTwinServers, shard_path: str, replicas: Sequence[TwinReplica], place: TwinPlace
) -> list[TwinSteps]:
    """What is to be done for each replica, in their order.

    Raises PartMoveError, so that nothing is done, where one cannot be asked or has another table there.
    """
    path = place.of(shard_path)
    looks = [servers.look(shard_path, each) for each in replicas]
    for each in looks:
        _refuse_unlike(each, looks[0], f"{place.ensemble}:{path}")
    return [
        TwinSteps(
            replica.name,
            each,
            ""
            if each.found
            else create_statement(
                each.engine, each.create, str(each.hot), each.name, f"{place.ensemble}:{path}", replica.name
            ),
        )
        for replica, each in zip(replicas, looks)
    ]


def _refuse_unlike(server: TwinOfReplica, first: TwinOfReplica, place: str) -> None:
    """Raise PartMoveError where the tables of a server are not twins, or its table is not as on the first."""
    hot, found, label = server.hot, server.found, server.client.label
    if hot.definition != first.hot.definition:
        raise PartMoveError(
            f"{label}: {hot} is not as on {first.client.label}:"
            f" {first_difference(hot.definition, first.hot.definition)}",
            remedy="ALTER one of them until all replicas have the same table",
        )
    if found is None:
        return
    if found.place != place or found.replica != hot.replica:
        raise PartMoveError(
            f"{label}: {found} is replica {found.replica} of {found.place}, and not {hot.replica} of {place}",
            remedy="Give ensemble and path as they are, or another name for the twin",
        )
    if found.definition != hot.definition:
        raise PartMoveError(
            f"{label}: {hot} and {found} differ: {first_difference(hot.definition, found.definition)}",
            remedy="ALTER the twin until both are alike, or drop it while it is empty and run again",
        )
