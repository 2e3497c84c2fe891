# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the parts of a real table are registered, and how to put them elsewhere without any gate."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from support.memory.tables import read_tree
from support.servers.replicated import ReplicatedTable

Names = Mapping[str, list[str]]
"""Replica → names of parts, in order; nothing for a replica without any."""


class Registered(NamedTuple):
    """What the ensembles have of one partition."""

    hot: Names
    cold: Names


class Registry(NamedTuple):
    """Clients of both."""

    hot: KazooClient
    cold: KazooClient

    def of(self, table: ReplicatedTable, partition: str) -> Registered:
        """Look up a partition whose id has no underscore, on every replica of the table."""
        return Registered(*(_parts(client, table, f"{partition}_") for client in self))

    def set_state(self, table: ReplicatedTable, partition: str, state: bytes | None) -> None:
        """Write State; None removes it."""
        path = f"{table.path}/block_numbers/{partition}/State"
        with suppress(NoNodeError):
            self.hot.delete(path)
        if state is not None:
            self.hot.create(path, state)

    def queue(self, table: ReplicatedTable, replica: str) -> list[str]:
        """Names of the entries of a replica's queue."""
        return sorted(self.hot.get_children(f"{table.path}/replicas/{replica}/queue"))

    def force_cold(self, table: ReplicatedTable, partition: str) -> None:
        """Move a partition although gates would refuse it."""
        registered = self.of(table, partition).hot
        for path in self._paths(table, registered):
            for each, (data, *_rest) in read_tree(self.hot, path).items():
                self.cold.create(each, data, makepath=True)
            self.hot.delete(path, recursive=True)
        self.set_state(table, partition, b"COLD")

    def register_in_hot(self, table: ReplicatedTable, replica: str, partition: str) -> None:
        """Give the parts that cold has of a replica back to hot; cold keeps its copies."""
        registered = self.of(table, partition).cold
        for path in self._paths(table, {replica: registered[replica]}):
            for each, (data, *_rest) in read_tree(self.cold, path).items():
                self.hot.create(each, data)

    @staticmethod
    def _paths(table: ReplicatedTable, registered: Names) -> list[str]:
        return [
            f"{table.path}/replicas/{replica}/parts/{name}"
            for replica, names in registered.items()
            for name in names
        ]


def _parts(client: KazooClient, table: ReplicatedTable, prefix: str) -> Names:
    client.sync(table.path)
    found: dict[str, list[str]] = {}
    replicas = client.get_children(f"{table.path}/replicas") if client.exists(table.path) else []
    for replica in sorted(replicas):
        with suppress(NoNodeError):
            names = client.get_children(f"{table.path}/replicas/{replica}/parts")
            if mine := sorted(name for name in names if name.startswith(prefix)):
                found[replica] = mine
    return found


def parts_in(client: KazooClient, table: ReplicatedTable) -> dict[str, bytes]:
    """Path → data of every znode of a part that the ensemble has of the table."""
    if client.exists(table.path) is None:
        return {}
    tree = read_tree(client, table.path)
    return {path: data_of(znode) for path, znode in tree.items() if "/parts/" in path}


def data_of(znode: tuple[object, ...]) -> bytes:
    """The data among what read_tree tells."""
    data = znode[0]
    assert isinstance(data, bytes)
    return data
