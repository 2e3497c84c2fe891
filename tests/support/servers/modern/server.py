# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers of a modern ClickHouse that replicate for real, as plain processes on loopback ports."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from support.servers.clickhouse_config import ServerPorts, ZooKeeperSource, server_elements
from support.servers.ladder.config import known_merge_tree, users_xml
from support.servers.ladder.local import main as local_main
from support.servers.ladder.programs import ENVIRONMENT, Program, command
from support.servers.ladder.rungs import rung
from support.servers.modern import main
from support.servers.modern.config import MERGE_TREE, OwnElements, config_xml
from support.servers.modern.library import CLICKHOUSE_VERSION, engine_library
from support.servers.ports import ReservedPorts
from support.servers.process import ServerCrashed, ServerProcess
from support.servers.sql_server import SqlServer, SqlServers

ENGINE = "26.9"
"""The version of the engine that the process of `main` makes a server."""

_TESTS = Path(__file__).resolve().parents[3]

_ACCESS = """\
    <user_directories>
        <users_xml><path>users.xml</path></users_xml>
        <local_directory><path>{folder}/access/</path></local_directory>
    </user_directories>
"""
"""Where real servers keep users and row policies, as in the configuration of the packages."""

_OLDER_NAMES = {"alter_sync": "replication_alter_partitions_sync"}
"""Settings by their newer names, and the names that every version knows."""


class _Kind(Enum):
    """What a server is made of: the newest engine, the program clickhouse-server, or clickhouse-local."""

    ENGINE = auto()
    REAL = auto()
    LOCAL = auto()


def _kind(version: str) -> _Kind:
    if version == ENGINE:
        return _Kind.ENGINE
    return _Kind.REAL if rung(version).real else _Kind.LOCAL


@dataclass(frozen=True)
class ModernOptions:
    """What a server knows of the context.

    zookeeper: the ensemble of tables whose path names none.
    auxiliary: name → a further ensemble, of tables with the path "name:/path".
    macros: values for {shard}, {replica} and the like in table paths.
    merge_tree: settings of tables, over those that make a server do everything soon.
    users: name → password; each may do everything.
    version: 26.9, an engine that is made a server here, or a rung of the ladder: from 24.5 on a real server,
        before that one that is made of clickhouse-local.
    """

    zookeeper: ZooKeeperSource
    auxiliary: Mapping[str, ZooKeeperSource] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    merge_tree: Mapping[str, int | str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=lambda: {"default": ""})
    version: str = ENGINE


class ModernServer(SqlServer):
    """One server with its own configuration, ports, data folder and log."""

    def __init__(self, name: str, folder: Path, options: ModernOptions) -> None:
        """Reserve ports and write the configuration below `folder`.

        Raises:
            NoModernEngine: this machine does not have the engine.
            FunctionsNotFound: its library is not built as the one that this is for.
            NotToBeHad: this machine does not have the version of the options.
        """
        self.options = options
        self._kind = _kind(options.version)
        reserved = ReservedPorts()
        take = reserved.take
        self.ports = ServerPorts(http=take(), tcp=take(), interserver=take())
        self.interserver_port = self.ports.interserver
        super().__init__(name, folder, self._process(name, folder), reserved, self.ports.http)
        self._sessions_path = f"/clickhouse/sessions/{name}-{uuid.uuid4().hex[:12]}"
        self._write()

    @property
    def runs_one_statement(self) -> bool:
        """Whether a statement waits until the one before it has ended."""
        return self._kind == _Kind.LOCAL

    def is_at_least(self, year: int, month: int) -> bool:
        """Whether the version is this one or a later one."""
        return tuple(int(number) for number in self.options.version.split(".")[:2]) >= (year, month)

    def configure(self, options: ModernOptions) -> None:
        """Write another configuration of the same version; the server has it after its next start."""
        self.options = options
        self._write()

    def start(self) -> None:
        """Start the server as `Server.start` does, and once more if it crashes, as supervisors do.

        25.8 crashes rarely, on a busy machine, while one of its threads loads tables and another one goes on:
        with "recursive_mutex lock failed", or an assertion of pthread_mutex_lock.
        """
        self._begin(super().start)

    def wait(self) -> None:
        """Wait as `Server.wait` does, and start the server once more if it crashes."""
        self._begin(super().wait)

    def _begin(self, begin: Callable[[], None]) -> None:
        try:
            begin()
        except ServerCrashed:
            super().start()

    def execute(self, sql: str, **settings: int | str) -> str:
        """Run one statement, as `SqlServer.execute` does; `alter_sync` is known to every version."""
        return super().execute(sql, **{_OLDER_NAMES.get(name, name): each for name, each in settings.items()})

    def parts(self, table: str) -> list[str]:
        """Names of the active parts of a table, in order."""
        return [name for (name,) in self.query(_parts("name", table))]

    def knows(self, setting: str) -> bool:
        """Whether the version has a setting, of any kind; a statement with another one is refused."""
        kinds = ["settings", "merge_tree_settings"]
        if self._kind != _Kind.LOCAL:
            # `LocalEngine` has no such table.
            kinds.append("server_settings")
        return any(self.query(f"SELECT name FROM system.{kind} WHERE name = '{setting}'") for kind in kinds)

    def part_folder(self, table: str, part: str) -> Path:
        """Where an active part is on disk."""
        return Path(self.value(f"SELECT path FROM ({_parts('name, path', table)}) WHERE name = '{part}'"))

    def _process(self, name: str, folder: Path) -> ServerProcess:
        log = folder / "clickhouse-server.log"
        version = self.options.version
        if self._kind == _Kind.REAL:
            started = command(version, Program.SERVER, f"--config-file={folder / 'config.xml'}")
            environment: Mapping[str, str] = ENVIRONMENT
        else:
            program = main if self._kind == _Kind.ENGINE else local_main
            started = (sys.executable, "-S", str(program.__file__), str(folder / "server.json"))
            environment = {"PYTHONPATH": str(_TESTS)}
        return ServerProcess(f"ClickHouse {version} server {name}", started, log, environment)

    def _write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        options, config = self.options, self.folder / "config.xml"
        config.write_text(
            config_xml(
                self.process.log,
                options.zookeeper,
                options.auxiliary,
                None if self._kind == _Kind.LOCAL else self._sessions_path,
                options.macros,
                known_merge_tree(options.version, {**MERGE_TREE, **options.merge_tree}),
                own=self._own_elements(),
            )
        )
        if self._kind == _Kind.REAL:
            (self.folder / "users.xml").write_text(users_xml(options.users))
        elif self._kind == _Kind.LOCAL:
            self._local_settings(config).write(self.folder / "server.json")
        else:
            self._engine_settings(config).write(self.folder / "server.json")

    def _own_elements(self) -> OwnElements:
        if self._kind == _Kind.REAL:
            return OwnElements(server_elements(self.folder, self.ports) + _ACCESS.format(folder=self.folder))
        if self._kind == _Kind.LOCAL:
            # With fewer threads these versions refuse the default settings of tables.
            return OwnElements(f"    <path>{self.data_dir}/</path>\n", background_pool_size=16)
        return OwnElements()

    def _engine_settings(self, config: Path) -> main.Settings:
        library, functions = engine_library()
        return main.Settings(
            library=str(library),
            functions=functions,
            version=CLICKHOUSE_VERSION,
            data=str(self.data_dir),
            config=str(config),
            http_port=self.http_port,
            interserver_port=self.interserver_port,
            users=self.options.users,
        )

    def _local_settings(self, config: Path) -> local_main.Settings:
        version = rung(self.options.version)
        return local_main.Settings(
            library=str(version.library()),
            version=version.version,
            folder=str(self.folder),
            data=str(self.data_dir),
            config=str(config),
            http_port=self.http_port,
            interserver_port=self.interserver_port,
            macros=self.options.macros,
            users=self.options.users,
        )


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
        version: str | None = None,
    ) -> ModernShard:
        """Return the running shard; its version is that of the fixture `modern_version` if none is given."""


def modern_shard(
    folder: Path,
    zookeeper: ZooKeeperSource,
    auxiliary: Mapping[str, ZooKeeperSource] | None = None,
    replicas: int = 2,
    version: str = ENGINE,
) -> ModernShard:
    """Make the servers of a shard.

    Raises:
        NoModernEngine: this machine does not have the engine.
        NotToBeHad: this machine does not have that version.
    """
    servers = []
    for number in range(1, replicas + 1):
        macros = {"shard": "01", "replica": f"r{number}"}
        options = ModernOptions(zookeeper, auxiliary or {}, macros, version=version)
        servers.append(ModernServer(f"r{number}", folder / f"r{number}", options))
    return ModernShard(servers)


def _parts(columns: str, table: str) -> str:
    return (
        f"SELECT {columns} FROM system.parts WHERE active AND database = 'default' AND table = '{table}'"
        " ORDER BY name"
    )
