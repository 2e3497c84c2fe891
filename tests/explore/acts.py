# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can happen to a table while something runs: acts of its servers, each only where it can be."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    ReplicaKey,
)
from support.memory.ledger import enter
from support.memory.scene import PATH, Scene
from support.memory.statements import Statements


class Acts:
    """The servers of one scene, and what they have begun and not ended."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._servers = scene.servers
        self._begun: list[tuple[int, Callable[[], None]]] = []

    def do(self, what: str, partition: str, replica: str) -> None:
        """Do one of them; nothing where there is no table, or not such a replica."""
        if not self._servers.disk:
            return
        if what in _ON_A_PARTITION:
            _ON_A_PARTITION[what](self._servers, partition)
        elif what in _BEGINNINGS:
            self._begun.append((self._servers.times_made, _BEGINNINGS[what](self._servers, partition)))
        else:
            self._on_the_table(what, replica)

    def end(self) -> None:
        """End what was begun, unless its table is gone."""
        begun, self._begun = self._begun, []
        for times_made, finish in begun:
            if self._servers.disk and times_made == self._servers.times_made:
                finish()

    def enter(self) -> None:
        """Verify the servers of all replicas that are active, and enter them in the ledger."""
        keys = [ReplicaKey(PATH, each) for each in self._servers.at_work()]
        enter(self._scene.hot.open(), self._scene.cold.open(), *keys)

    def _on_the_table(self, what: str, replica: str) -> None:
        servers = self._servers
        there = replica in servers.disk
        if what in _ALWAYS:
            _ALWAYS[what](servers)
        elif what == "end what was begun":
            self.end()
        elif what == "enter in the ledger":
            self.enter()
        elif what == "add" and "r3" not in servers.disk and servers.is_active("r1"):
            servers.add_replica("r3")
        elif there and what in ("restart", "start"):
            servers.restart(replica)
        elif there and what == "stop" and servers.is_active(replica):
            servers.stop(replica)
        elif there and replica != "r1":
            self._on_the_second(what, replica)

    def _on_the_second(self, what: str, replica: str) -> None:
        """What is done to others than the first replica, which is the one that has all."""
        if what == "lose" and self._servers.is_active(replica):
            self._servers.lose(replica)
        elif what == "remove":
            self._servers.remove_replica(replica)
        elif what == "add again" and self._servers.is_active("r1"):
            self._servers.add_again(replica)


def _insert_on_the_second(servers: Statements, partition: str) -> None:
    servers.insert(partition, "r2" if "r2" in servers.disk else "r1")


_ON_A_PARTITION: dict[str, Callable[[Statements, str], object]] = {
    "insert": Statements.insert,
    "insert on r2": _insert_on_the_second,
    "merge": Statements.assign_merge,
    "mutate": Statements.assign_mutation,
    "drop": Statements.assign_drop,
    "detach": Statements.assign_detach,
    "attach": Statements.attach,
    "replace": Statements.replace,
    "move away": Statements.move_away,
    "insert with a quorum": Statements.insert_with_quorum,
}
_BEGINNINGS: dict[str, Callable[[Statements, str], Callable[[], None]]] = {
    "begin an insert": Statements.begin_insert,
    "begin a merge": Statements.begin_merge,
    "begin a drop": Statements.begin_drop,
}
_ALWAYS: dict[str, Callable[[Statements], object]] = {
    "catch up": Statements.catch_up,
    "alter": Statements.alter,
    "lose the session with cold": Statements.expire_cold,
    "drop the table": Statements.drop_table,
    "make the table again": Statements.recreate,
}
