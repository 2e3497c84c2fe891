# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers of a modern ClickHouse that replicate for real, as plain processes on loopback ports."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern import main
from support.servers.modern.config import config_xml
from support.servers.modern.library import CLICKHOUSE_VERSION, engine_library
from support.servers.ports import ReservedPorts
from support.servers.process import ServerProcess
from support.servers.sql_server import SqlServer, SqlServers

_TESTS = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class ModernOptions:
    """What a server knows of the context.

    zookeeper: the ensemble of tables whose path names none.
    auxiliary: name → a further ensemble, of tables with the path "name:/path".
    macros: values for {shard}, {replica} and the like in table paths.
    merge_tree: settings of tables, over those that make a server do everything soon.
    users: name → password; each may do everything.
    """

    zookeeper: ZooKeeperSource
    auxiliary: Mapping[str, ZooKeeperSource] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    merge_tree: Mapping[str, int | str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=lambda: {"default": ""})


class ModernServer(SqlServer):
    """One server with its own configuration, ports, data folder and log."""

    def __init__(self, name: str, folder: Path, options: ModernOptions) -> None:
        """Reserve ports and write the configuration below `folder`.

        Raises:
            NoModernEngine: this machine does not have the engine.
            FunctionsNotFound: its library is not built as the one that this is for.
        """
        self.options = options
        reserved = ReservedPorts()
        http_port = reserved.take()
        self.interserver_port = reserved.take()
        log = folder / "clickhouse-server.log"
        command = (sys.executable, "-S", main.__file__, str(folder / "server.json"))
        process = ServerProcess(f"modern ClickHouse server {name}", command, log, {"PYTHONPATH": str(_TESTS)})
        super().__init__(name, folder, process, reserved, http_port)
        self._sessions_path = f"/clickhouse/sessions/{name}-{uuid.uuid4().hex[:12]}"
        self._write()

    def parts(self, table: str) -> list[str]:
        """Names of the active parts of a table, in order."""
        return [name for (name,) in self.query(_parts("name", table))]

    def part_folder(self, table: str, part: str) -> Path:
        """Where an active part is on disk."""
        return Path(self.value(f"SELECT path FROM ({_parts('name, path', table)}) WHERE name = '{part}'"))

    def _write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.xml"
        options = self.options
        config.write_text(
            config_xml(
                self.process.log,
                options.zookeeper,
                options.auxiliary,
                self._sessions_path,
                options.macros,
                options.merge_tree,
            )
        )
        library, functions = engine_library()
        settings = main.Settings(
            library=str(library),
            functions=functions,
            version=CLICKHOUSE_VERSION,
            data=str(self.data_dir),
            config=str(config),
            http_port=self.http_port,
            interserver_port=self.interserver_port,
            users=options.users,
        )
        settings.write(self.folder / "server.json")


class ModernShard(SqlServers[ModernServer]):
    """Replicas r1, r2, ... of one shard, with the macros {shard} and {replica}; see `modern_shard`."""

    @property
    def endpoints(self) -> dict[str, str]:
        """Where each replica answers, as the option of modules has it."""
        return {server.name: f"127.0.0.1:{server.http_port}" for server in self.servers}


class ModernShardMaker(Protocol):
    """Starts the servers of a shard; they are stopped when the test ends."""

    def __call__(
        self,
        zookeeper: ZooKeeperSource,
        auxiliary: Mapping[str, ZooKeeperSource] | None = None,
        replicas: int = 2,
    ) -> ModernShard:
        """Return the running shard."""


def modern_shard(
    folder: Path,
    zookeeper: ZooKeeperSource,
    auxiliary: Mapping[str, ZooKeeperSource] | None = None,
    replicas: int = 2,
) -> ModernShard:
    """Make the servers of a shard.

    Raises:
        NoModernEngine: this machine does not have the engine.
    """
    servers = []
    for number in range(1, replicas + 1):
        macros = {"shard": "01", "replica": f"r{number}"}
        options = ModernOptions(zookeeper, auxiliary or {}, macros)
        servers.append(ModernServer(f"r{number}", folder / f"r{number}", options))
    return ModernShard(servers)


def _parts(columns: str, table: str) -> str:
    return (
        f"SELECT {columns} FROM system.parts WHERE active AND database = 'default' AND table = '{table}'"
        " ORDER BY name"
    )
