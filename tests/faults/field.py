# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two ensembles of three members, two patched servers, and proxies between them and a run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field as new
from pathlib import Path

from kazoo.exceptions import NoNodeError

from faults.wire import Wire
from support.servers.clickhouse import (
    ClickHouseCluster,
    ClickHouseServer,
    ServerOptions,
    ZooKeeperSource,
    cluster,
)
from support.servers.ensembles import make_ensemble
from support.servers.kazoo_client import connected
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

TABLES = "/tables"
"""The znode that the shard paths of all tables are below."""
_HEAL_SECONDS = 300.0
_SESSION_MS = 8_000
"""A server that lost its connection leads nothing until its old session has ended."""
_SETTINGS = {"zookeeper_session_expiration_check_period": 1}


@dataclass(frozen=True)
class Side:
    """One ensemble, and the ways to its members that a run goes."""

    ensemble: Ensemble | KeeperStandIn
    proxies: Sequence[ZooKeeperProxy]

    @property
    def hosts(self) -> str:
        """Where a run that is to be disturbed connects."""
        return ",".join(proxy.address for proxy in self.proxies)


@dataclass(frozen=True)
class Field:
    """All servers; each run."""

    folder: Path
    hot: Side
    cold: Side
    cluster: ClickHouseCluster
    wire: Wire
    shaken: set[ClickHouseServer] = new(default_factory=set)
    """Servers that lost their session with hot since they started; see `takes_alters`."""

    @property
    def servers(self) -> Sequence[ClickHouseServer]:
        """The two replicas."""
        return self.cluster.servers

    @property
    def sides(self) -> tuple[Side, Side]:
        """Hot and cold."""
        return self.hot, self.cold

    def side_of(self, proxy: ZooKeeperProxy) -> Side:
        """Which ensemble the proxy leads to."""
        return next(side for side in self.sides if proxy in side.proxies)

    def takes_alters(self) -> bool:
        """Whether the servers carry out ALTERs: the thread for them may not survive the loss of a session."""
        return not self.shaken

    def start(self, server: ClickHouseServer) -> None:
        """Start a server that does not run; raises ServerError where it did not come back."""
        server.start()
        self.shaken.discard(server)

    def heal(self, tables: Sequence[str]) -> None:
        """Start what does not run, and wait until the ensembles are whole and the tables take inserts.

        Raises:
            ServerError: a server did not come back.
            TimeoutError: a table stayed read-only.
        """
        for side in self.sides:
            for proxy in side.proxies:
                proxy.restore()
            side.ensemble.heal()
        for server in self.servers:
            if not server.running:
                self.start(server)
        names = ", ".join(f"'{name}'" for name in tables)
        question = (
            "SELECT countIf(NOT is_readonly AND NOT is_session_expired) FROM system.replicas"
            f" WHERE table IN ({names})"
        )
        wait_for(
            lambda: all(_answer(server, question) == len(tables) for server in self.servers), _HEAL_SECONDS
        )

    def kill(self, server: ClickHouseServer) -> None:
        """Kill a server, and end its sessions with hot as if they had not been heard of for long enough.

        Until then the next server seems to be a second one of the same replica, and does not take over.
        """
        server.kill()
        replica = server.options.macros["replica"]
        with connected(self.hot.ensemble.connect_string) as client:
            for table in client.get_children(TABLES):
                with suppress(NoNodeError):
                    client.delete(f"{TABLES}/{table}/replicas/{replica}/is_active")


def _answer(server: ClickHouseServer, question: str) -> object:
    try:
        return server.value(question)
    except OSError:
        time.sleep(0.1)
        return None


@contextmanager
def running_field(folder: Path, program: str | None = None) -> Iterator[Field]:
    """Start everything below the folder, and end it.

    `program`: another clickhouse-server program than the installed one.
    """
    with ExitStack() as stack:
        sides = []
        ensembles = [make_ensemble(folder, name, 3) for name in ("hot", "cold")]
        for ensemble in ensembles:
            stack.callback(ensemble.close)
            for member in ensemble.members:
                member.spawn()
        for ensemble in ensembles:
            ensemble.heal()
            proxies = [stack.enter_context(ZooKeeperProxy(member.address)) for member in ensemble.members]
            sides.append(Side(ensemble, proxies))
        hot, cold = sides
        options = ServerOptions(
            program=program,
            patched=True,
            merge_tree=_SETTINGS,
            cold=ZooKeeperSource(cold.ensemble.connect_string),
        )
        source = ZooKeeperSource(hot.ensemble.connect_string, session_ms=_SESSION_MS)
        servers = stack.enter_context(cluster(folder / "clickhouse", source, options=options))
        yield Field(folder, hot, cold, servers, Wire([*hot.proxies, *cold.proxies]))
