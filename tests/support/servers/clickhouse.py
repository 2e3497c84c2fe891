# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real ClickHouse servers (Debian's 18.16.1), started as plain processes on loopback ports."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from clickhouse.patched_server.compile import patched_library
from support.servers.clickhouse_config import (
    FAST_MERGE_TREE,
    ServerPorts,
    ZooKeeperSource,
    config_xml,
    users_xml,
)
from support.servers.ports import ReservedPorts
from support.servers.process import ServerError, ServerProcess
from support.servers.sql_server import QueryError, SqlServer, SqlServers

__all__ = [
    "ClickHouseCluster",
    "ClickHouseServer",
    "ClusterMaker",
    "QueryError",
    "ServerOptions",
    "ZooKeeperSource",
    "clickhouse_program",
    "cluster",
]

_SEARCH_PATH = "/usr/sbin:/usr/bin:/usr/local/bin"
_LEADERSHIP_CHANGED = "Code: 292,"
_ELECTION_SECONDS = 60.0
_ELECTION_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class ServerOptions:
    """How one server differs from the others.

    macros: values for {shard}, {replica} and the like in table paths.
    merge_tree: settings of the <merge_tree> element, over FAST_MERGE_TREE.
    env: environment variables of the process, for example LD_PRELOAD.
    extra_xml: further elements of config.xml as text, for example a <remote_servers> element.
    program: another clickhouse-server program than the installed one.
    patched: whether the server has the cold-ZooKeeper patch (clickhouse/patched_server).
    cold: the ensemble that <cold_zookeeper> names; the stock server does not look at it.
    """

    macros: Mapping[str, str] = field(default_factory=dict)
    merge_tree: Mapping[str, int | str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    extra_xml: str = ""
    program: str | None = None
    patched: bool = False
    cold: ZooKeeperSource | None = None


class ClickHouseServer(SqlServer):
    """One server with its own configuration, ports, data folder and log."""

    def __init__(
        self, name: str, folder: Path, zookeeper: ZooKeeperSource, options: ServerOptions | None = None
    ) -> None:
        """Reserve ports and write the configuration below `folder`.

        Raises:
            ServerError: clickhouse-server is not installed.
            PatchedServerError: the patch cannot be compiled here.
        """
        self.options = options or ServerOptions()
        reserved = ReservedPorts()
        take = reserved.take
        self.ports = ServerPorts(http=take(), tcp=take(), interserver=take())
        command = (clickhouse_program(self.options.program), f"--config-file={folder / 'config.xml'}")
        process = ServerProcess(
            f"ClickHouse server {name}", command, folder / "clickhouse-server.log", self._environment()
        )
        super().__init__(name, folder, process, reserved, self.ports.http)
        self.write_config(zookeeper)

    @property
    def config_path(self) -> Path:
        """The config.xml, which a test may change before `restart`."""
        return self.folder / "config.xml"

    def write_config(self, zookeeper: ZooKeeperSource, extra_xml: str | None = None) -> None:
        """Write config.xml and users.xml again; a running server reads most of it at its next start."""
        self._zookeeper = zookeeper
        self.folder.mkdir(parents=True, exist_ok=True)
        merge_tree = {**FAST_MERGE_TREE, **self.options.merge_tree}
        extra = self.options.extra_xml if extra_xml is None else extra_xml
        if self.options.cold is not None:
            extra = f"{self.options.cold.xml('cold_zookeeper')}\n{extra}"
        text = config_xml(self.folder, self.ports, zookeeper, self.options.macros, merge_tree, extra)
        self.config_path.write_text(text)
        (self.folder / "users.xml").write_text(users_xml())

    def become(self, *, patched: bool, cold: ZooKeeperSource | None = None) -> None:
        """Stop, and be a patched or a stock server from the next start on; the data and the ports stay.

        cold: the ensemble of <cold_zookeeper>; None: the configuration names none.

        Raises:
            PatchedServerError: the patch cannot be compiled here.
        """
        self.stop()
        self.options = replace(self.options, patched=patched, cold=cold)
        self.write_config(self._zookeeper)
        self.process.env = self._environment()

    def restart_patched(self, cold: ZooKeeperSource | None) -> None:
        """Stop, and start as a patched server.

        Raises:
            ServerError: it did not come back; the text holds the end of its log.
        """
        self.become(patched=True, cold=cold)
        self.start()

    def restart_stock(self, cold: ZooKeeperSource | None = None) -> None:
        """Stop, and start as a stock server.

        Raises:
            ServerError: it did not come back; the text holds the end of its log.
        """
        self.become(patched=False, cold=cold)
        self.start()

    def execute(self, sql: str, **settings: int | str) -> str:
        """Run one statement and return the server's answer as text ("" for most statements).

        A DROP PARTITION or OPTIMIZE is sent again while the server becomes the leader of the table, as it
        does for a moment after its start or that of the leader; it did not begin the statement.

        Raises:
            QueryError: the server refused the statement.
            OSError: the server does not answer.
        """
        deadline = time.monotonic() + _ELECTION_SECONDS
        while True:
            try:
                return super().execute(sql, **settings)
            except QueryError as error:
                if _LEADERSHIP_CHANGED not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_ELECTION_POLL_SECONDS)

    def _environment(self) -> dict[str, str]:
        preload = {"LD_PRELOAD": str(patched_library())} if self.options.patched else {}
        return {**self.options.env, **preload}


class ClickHouseCluster(SqlServers[ClickHouseServer]):
    """Shards of replicas with the macros {shard} (01, 02, ...) and {replica} (r1, r2, ...); see `cluster`."""

    def shard(self, number: int) -> list[ClickHouseServer]:
        """Return the replicas of one shard, counted from 1."""
        return [server for server in self.servers if server.options.macros["shard"] == f"{number:02}"]


class ClusterMaker(Protocol):
    """Starts the servers of a cluster; they are stopped when the test ends."""

    def __call__(
        self,
        zookeeper: ZooKeeperSource,
        shards: int = 1,
        replicas: int = 2,
        options: ServerOptions | None = None,
    ) -> ClickHouseCluster:
        """Return the running cluster."""


def cluster(
    folder: Path,
    zookeeper: ZooKeeperSource,
    shards: int = 1,
    replicas: int = 2,
    options: ServerOptions | None = None,
) -> ClickHouseCluster:
    """Make the servers of a cluster, named s1r1, s1r2, ...; `options.macros` is added to by each.

    Raises:
        ServerError: clickhouse-server is not installed.
    """
    base = options or ServerOptions()
    servers = []
    for shard in range(1, shards + 1):
        for replica in range(1, replicas + 1):
            name = f"s{shard}r{replica}"
            macros = {**base.macros, "shard": f"{shard:02}", "replica": f"r{replica}"}
            servers.append(ClickHouseServer(name, folder / name, zookeeper, replace(base, macros=macros)))
    return ClickHouseCluster(servers)


def clickhouse_program(program: str | None = None) -> str:
    """Return the path of clickhouse-server.

    Raises:
        ServerError: it is not installed.
    """
    name = program or "clickhouse-server"
    found = shutil.which(name, path=None if program else _SEARCH_PATH)
    if found is None:
        raise ServerError(f"no {name} here: run `make setup`, or apt-get install clickhouse-server")
    return found
