# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stage with real ClickHouse servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.screen import Surprise, require
from demo.stage import Ensembles, Server
from demo.tables import DATABASE, LIVE, PAUSE_SECONDS, SHARD, TABLES, DemoTable
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource, cluster
from support.servers.replicated import wait_for

_INSERT_SECONDS = 2.0
_SESSION = "SELECT value FROM system.build_options WHERE name = 'COLD_ZOOKEEPER_SESSION'"

_WARNING = """\
These servers are Debian's ClickHouse with the cold-ZooKeeper patch, which knows the cold ensemble. Their \
patch is made for tests, not for service. A server without one would not start any more after a \
move. See docs/patched/server.md."""


class LiveStage:
    """Implements Stage with the replicas of one shard; one of the tables gets inserts until the end."""

    def __init__(self, servers: Sequence[ClickHouseServer]) -> None:
        """Take servers that run."""
        self._servers = {server.options.macros["replica"]: server for server in servers}
        self._inserts = _Inserts(servers)

    @property
    def servers(self) -> Sequence[Server]:
        """One a replica."""
        return [
            Server(f"replica {name}", f"{self.version}, patched", f"127.0.0.1:{server.http_port}")
            for name, server in self._servers.items()
        ]

    @property
    def unshown(self) -> str:
        """Nothing."""
        return ""

    @property
    def version(self) -> str:
        """What the servers are."""
        first, *_others = self._servers.values()
        return f"ClickHouse {first.value('SELECT version()')}"

    @property
    def warning(self) -> str:
        """What the patch is."""
        return _WARNING

    @property
    def readiness(self) -> Mapping[str, Any]:
        """The servers are asked what they have on disk; that they are patched is in the ledger."""
        endpoints = {name: f"127.0.0.1:{server.http_port}" for name, server in self._servers.items()}
        return {"clickhouse": {"endpoints": endpoints}}

    def fill(self) -> datetime:
        """Create the tables and fill them; one of them gets inserts from now on."""
        now = self.prepare()
        self._inserts.start()
        return now

    def prepare(self) -> datetime:
        """Create the tables, insert, wait, and insert once more into what is to stay hot."""
        for server in self._servers.values():
            server.execute(f"CREATE DATABASE {DATABASE}")
            for table in TABLES:
                server.execute(table.create)
                if table is not LIVE:
                    # Or else a merge might tidy up what the demo wants to show.
                    server.execute(f"SYSTEM STOP MERGES {table.full_name}")
        for table in TABLES:
            for select in table.first:
                self._insert(table.full_name, select)
        time.sleep(PAUSE_SECONDS)
        # Before the last inserts, which may take long: they have to be younger than what is to move.
        now = datetime.now(UTC)
        for table in TABLES:
            for select in table.last:
                self._insert(table.full_name, select)
        return now

    def rows(self) -> Mapping[str, tuple[int, int]]:
        """Those that nobody adds to any more."""
        found = {}
        for table in TABLES:
            question = f"SELECT count(), sum(cityHash64(*)) FROM {table.full_name} WHERE {table.settled_rows}"
            for name, server in self._servers.items():
                ((count, content),) = server.query(question)
                found[f"{table.full_name} on {name}"] = (int(count), int(content))
        return found

    def check(self) -> str:
        """Look for parts that were set aside, for tables that are read-only, and for failed inserts."""
        self._require_health()
        inserts = self._inserts.count()
        require(inserts > 0, "nothing was inserted during the move")
        return (
            "Both servers answer as before and have set no part aside. "
            f"{LIVE.full_name} got {inserts} inserts meanwhile."
        )

    def restart(self) -> str:
        """Restart one server after the other; the inserts have ended then."""
        self._inserts.stop()
        for server in self._servers.values():
            server.restart()
        for server in self._servers.values():
            for table in TABLES:
                server.execute(f"SYSTEM SYNC REPLICA {table.full_name}")
        self._require_health()
        for name, server in self._servers.items():
            require(server.value(_SESSION) == "open", f"{name} has no session with the cold ensemble")
            fetches = server.query(
                "SELECT new_part_name FROM system.replication_queue WHERE type = 'GET_PART'"
            )
            require(not fetches, f"{name} looks for parts: {fetches}")
        return "Both know their cold parts again: none was set aside, and none is looked for elsewhere."

    def drop(self, table: DemoTable, partition: str) -> None:
        """Drop on the first server, and wait for the other one and for what merges have left behind."""
        first, *_others = self._servers.values()
        first.execute(table.drop(partition), replication_alter_partitions_sync=2)
        left = (
            "SELECT name FROM system.parts WHERE "
            f"database = '{DATABASE}' AND table = '{table.name}' AND partition_id = '{partition}'"
        )
        try:
            wait_for(lambda: not any(server.query(left) for server in self._servers.values()))
        except TimeoutError:
            raise Surprise(f"a server still has parts of {partition}") from None

    def close(self) -> None:
        """End the inserts."""
        self._inserts.stop()

    def _require_health(self) -> None:
        for name, server in self._servers.items():
            folders = [server.data_dir / "data" / DATABASE / table.name / "detached" for table in TABLES]
            detached = [str(path) for folder in folders for path in folder.iterdir()]
            require(not detached, f"{name} detached {detached}")
            ailing = server.query("SELECT table FROM system.replicas WHERE is_readonly OR is_session_expired")
            require(not ailing, f"{name} has tables that are read-only: {ailing}")

    def _insert(self, table: str, select: str) -> None:
        first, *_others = self._servers.values()
        first.execute(f"INSERT INTO {table} {select}")
        for server in self._servers.values():
            server.execute(f"SYSTEM SYNC REPLICA {table}")


class _Inserts:
    """Inserts a row every other second, into the replicas in turn."""

    def __init__(self, servers: Sequence[ClickHouseServer]) -> None:
        self._servers = servers
        self._done = 0
        self._error: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inserts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def count(self) -> int:
        """Return how many there were; raises what one failed with."""
        if self._error is not None:
            raise self._error
        return self._done

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ended.wait(_INSERT_SECONDS):
                server = self._servers[self._done % len(self._servers)]
                server.execute(f"INSERT INTO {LIVE.full_name} VALUES ('2019-12-16', {10_000 + self._done})")
                self._done += 1
        except Exception as error:  # noqa: BLE001 - raised again by count
            self._error = error


@contextmanager
def live_stage(folder: Path, ensembles: Ensembles) -> Iterator[LiveStage]:
    """Start the ClickHouse servers, and stop them at the end."""
    options = ServerOptions(patched=True, cold=ZooKeeperSource(ensembles.cold.connect_string))
    with cluster(folder, ZooKeeperSource(ensembles.hot.connect_string), options=options) as servers:
        stage = LiveStage(servers.shard(int(SHARD)))
        try:
            yield stage
        finally:
            stage.close()
