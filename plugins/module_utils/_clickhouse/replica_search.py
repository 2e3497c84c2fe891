# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks servers once which replicas they have, so that a run notices wrong credentials and addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Union

from .._partmove.concurrent import map_concurrently
from .._partmove.errors import PartMoveError
from .client import ClickHouseClient
from .replica_table import ReplicaClients
from .versions import VersionRefused

_QUERY = "SELECT zookeeper_path, replica_name FROM system.replicas"


class ReplicaHost(NamedTuple):
    """A replica and the data of its ``host`` znode; empty without such a znode."""

    name: str
    host: str


_Answer = Union[frozenset[tuple[str, str]], PartMoveError]
"""The replicas of a server as shard path and name, or why the server did not answer."""


class HttpReplicaSearch:
    """Implements ReplicaSearch over the HTTP interface."""

    def __init__(
        self,
        clients: ReplicaClients,
        at_once: int = 1,
        require: Callable[[ClickHouseClient], None] | None = None,
    ) -> None:
        """Take the clients of the servers, and the number of servers to ask at the same time.

        require: raises VersionRefused for a server of an unfit version. A table with such a server is a
        problem, whatever its other servers are.
        """
        self._clients = clients
        self._at_once = at_once
        self._require = require

    def problems(self, tables: Mapping[str, Sequence[ReplicaHost]]) -> dict[str, PartMoveError]:
        """Return shard path → why no server of the table can be asked, or which one is unfit.

        tables: shard path → its replicas. Each server is asked once, whatever the number of its tables.
        """
        clients: dict[str, ClickHouseClient] = {}
        labels: dict[tuple[str, str], str | PartMoveError] = {}
        for path, replicas in tables.items():
            for each in replicas:
                try:
                    client = self._clients.of(path, each.name, each.host)
                except PartMoveError as error:
                    labels[path, each.name] = error
                else:
                    labels[path, each.name] = client.label
                    clients[client.label] = client
        read = map_concurrently(self._replicas_of, list(clients.values()), self._at_once)
        answers = dict(zip(clients, read))
        found: dict[str, PartMoveError] = {}
        for path, replicas in tables.items():
            errors = [_problem(path, each.name, labels[path, each.name], answers) for each in replicas]
            known = [each for each in errors if each is not None]
            unfit = [each for each in known if isinstance(each, VersionRefused)]
            if unfit or (errors and len(known) == len(errors)):
                found[path] = (unfit or known)[0]
        return found

    def _replicas_of(self, client: ClickHouseClient) -> _Answer:
        try:
            if self._require is not None:
                self._require(client)
            return frozenset((path, name) for path, name in client.rows(_QUERY))
        except PartMoveError as error:
            return error


def _problem(
    path: str, replica: str, label: str | PartMoveError, answers: Mapping[str, _Answer]
) -> PartMoveError | None:
    """Return why the server of the replica cannot be asked; None if it has the replica."""
    if isinstance(label, PartMoveError):
        return label
    answer = answers[label]
    if isinstance(answer, PartMoveError):
        return answer
    if (path, replica) in answer:
        return None
    return PartMoveError(
        f"{label} shows no table that is replica {replica} of {path}",
        remedy="Check that it is the server of the replica, else set endpoints; that the user may see the"
        " table (SHOW TABLES); and that the chroot of hot is the <root> that the server has for ZooKeeper",
    )
