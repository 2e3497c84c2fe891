# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves of a synthetic table between two real ensembles, there and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.memory.moves import ANY
from support.memory.tables import Table, read_tree
from support.servers.moving import Before, ObservedStore, make_later_world, nothing
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble


@dataclass(frozen=True)
class Run:
    """One run: where it connects to, and what happens before its operations.

    timeout: how long it waits for an answer, in seconds.
    seconds_ahead: see FastClock.
    root: the coordination root.
    """

    hot: Sequence[str]
    cold: Sequence[str]
    chroot: str
    timeout: float = 60.0
    session_timeout: float = 10.0
    before_hot: Before = nothing
    before_cold: Before = nothing
    seconds_ahead: float = 0.0
    root: str = DEFAULT_ROOT

    def move(self, table: Table, report: PatchedReport | None = None) -> PatchedReport:
        """Connect to every member of cold, as the module does before anything else, and move the table.

        Give an empty report to keep what was done where it raises.
        """
        with self._context() as context:
            context.cold.members()
            return move_shard(context, table.path, table.options.partitions, ANY, report)

    def reheat(self, table: Table) -> PatchedReport:
        """Bring the table back to hot, or remove its copies."""
        with self._context() as context:
            return reheat_shard(context, table.path, table.options.partitions)

    @contextmanager
    def _context(self) -> Iterator[MoveContext]:
        with ExitStack() as stack:
            stores = []
            for name, hosts, before in (
                ("hot", self.hot, self.before_hot),
                ("cold", self.cold, self.before_cold),
            ):
                options = EnsembleOptions(
                    name,
                    tuple(hosts),
                    self.chroot,
                    session_timeout=self.session_timeout,
                    connect_timeout=self.timeout,
                    operation_timeout=self.timeout,
                )
                store = connect(options)
                stack.callback(store.close)
                stores.append(ObservedStore(store, before))
            yield make_later_world(stores[0], stores[1], self.seconds_ahead, self.root)


@dataclass(frozen=True)
class Field:
    """Both ensembles below a chroot of the test, with clients that look at them."""

    hot: Ensemble
    cold: Ensemble
    chroot: str
    hot_client: KazooClient
    cold_client: KazooClient

    def run(self, **changes: object) -> Run:
        """Return a run that connects to the members; the fields of Run can be changed."""
        hot, cold = ([member.address for member in each.members] for each in (self.hot, self.cold))
        fields: dict[str, object] = {"hot": hot, "cold": cold, "chroot": self.chroot, **changes}
        return Run(**fields)  # type: ignore[arg-type]

    def expire(self, proxy: ZooKeeperProxy, table: Table) -> None:
        """Let a run that reaches hot through the proxy lose its session, and with it the table's lock."""
        lock = f"/partmove/locks/{quote(table.path, safe='')}"
        assert self.hot_client.exists(lock)
        proxy.pause()
        wait_for(lambda: self.hot_client.exists(lock) is None)
        proxy.restore()

    def data(self, path: str = "/tables") -> list[dict[str, object]]:
        """Path → data of what is at and below a path in both ensembles."""
        return [self.hot_data(path), self.cold_data(path)]

    def hot_data(self, path: str) -> dict[str, object]:
        """The same of hot alone."""
        return _data(self.hot_client, path)

    def cold_data(self, path: str) -> dict[str, object]:
        """The same of cold alone."""
        return _data(self.cold_client, path)


def _data(client: KazooClient, path: str) -> dict[str, object]:
    client.sync("/")
    tree = read_tree(client, path) if client.exists(path) else {}
    return {path: each[0] for path, each in tree.items()}
