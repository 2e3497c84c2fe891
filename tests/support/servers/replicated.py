# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicated tables of real servers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import NamedTuple, Protocol

from kazoo.client import KazooClient

from support.servers.clickhouse import ClickHouseServer

SETTLE_SECONDS = 180.0
_TIME_SECONDS = 10.0
_FIRST_POLL_SECONDS = 0.02
_LAST_POLL_SECONDS = 0.25


class Definition(NamedTuple):
    """What CREATE TABLE says of a table.

    columns: as in SQL.
    clauses: what follows the engine.
    arguments: of the engine, after path and replica.
    """

    columns: str = "day Date, id UInt32"
    clauses: str = "PARTITION BY toYYYYMMDD(day) ORDER BY id"
    arguments: str = ""


BY_DAY = Definition()
WITHOUT_MERGES = Definition(clauses=f"{BY_DAY.clauses} SETTINGS max_replicated_merges_in_queue = 0")
"""A server merges such a table when it is told to, but not by itself."""
OLD_STYLE = Definition(clauses="", arguments=", day, id, 8192")
UNPARTITIONED = Definition(clauses="ORDER BY id")
BY_STRING = Definition("name String, id UInt32", "PARTITION BY name ORDER BY id")
BY_YEAR_AND_MONTH = Definition(clauses="PARTITION BY (toYear(day), toMonth(day)) ORDER BY id")


@dataclass(frozen=True)
class ReplicatedTable:
    """A table that each of the servers has a replica of, under the same name.

    path: its path in ZooKeeper.
    """

    name: str
    path: str
    servers: Sequence[ClickHouseServer]

    def create(self, definition: Definition = BY_DAY) -> ReplicatedTable:
        """Create the table on each server; {replica} is the macro of the server."""
        for server in self.servers:
            server.execute(
                f"CREATE TABLE {self.name} ({definition.columns}) ENGINE = ReplicatedMergeTree("
                f"'{self.path}', '{{replica}}'{definition.arguments}) {definition.clauses}"
            )
        return self

    @property
    def replicas(self) -> Mapping[str, ClickHouseServer]:
        """Name of the replica → its server."""
        return {server.options.macros["replica"]: server for server in self.servers}

    def insert(self, *rows: str, server: int = 0, **settings: int | str) -> None:
        """Insert rows, each as in VALUES, with one statement: one part for each partition in it."""
        self.servers[server].execute(f"INSERT INTO {self.name} VALUES {', '.join(rows)}", **settings)

    def fill(self, days: Iterable[str], rows: int = 3) -> None:
        """Insert one part into each of the partitions of these days, written as 2019-12-01."""
        self.insert(*(f"('{day}', {number})" for day in days for number in range(rows)))

    def active_parts(self, server: int = 0) -> Mapping[str, list[str]]:
        """Partition id → names of the active parts on one server."""
        found: dict[str, list[str]] = {}
        for partition, name in self.servers[server].query(
            f"SELECT partition_id, name FROM system.parts WHERE active AND {self._condition} ORDER BY name"
        ):
            found.setdefault(partition, []).append(name)
        return found

    def rows(self, server: int = 0) -> list[tuple[object, ...]]:
        """Every row, in order."""
        return sorted(self.servers[server].query(f"SELECT * FROM {self.name}"))

    def detached(self, server: int = 0) -> list[str]:
        """Names of what one server has set aside, in order."""
        return sorted(path.name for path in (self.folder(server) / "detached").iterdir())

    def seen(self) -> list[object]:
        """The parts and rows of each server, and what it has set aside."""
        return [
            (self.active_parts(number), self.rows(number), self.detached(number))
            for number in range(len(self.servers))
        ]

    def folder(self, server: int = 0) -> Path:
        """Where one server has the parts."""
        return self.servers[server].data_dir / "data" / "default" / self.name

    def age(self, *parts: str) -> None:
        """Make parts an hour old: a server that finds no znode of a part spares it for five minutes."""
        long_ago = time.time() - 3600
        for number, server in enumerate(self.servers):
            for part in parts:
                os.utime(self.folder(number) / part, (long_ago, long_ago))
            server.execute(f"DETACH TABLE {self.name}")
            server.execute(f"ATTACH TABLE {self.name}")

    def leader(self) -> int:
        """Number of the server that assigns merges and mutations, once there is one."""
        question = f"SELECT is_leader FROM system.replicas WHERE {self._condition}"
        leaders: list[int] = []

        def is_known() -> bool:
            leaders[:] = [n for n, server in enumerate(self.servers) if server.query(question) == [(1,)]]
            return len(leaders) == 1

        wait_for(is_known)
        return leaders[0]

    @contextmanager
    def electing(self, client: KazooClient) -> Iterator[None]:
        """Meanwhile the first server takes itself for the leader, as which it is not ready.

        It ends when the server has refused a statement for it, or the block has ended.

        client: of the ensemble of the table.
        """
        server = self.servers[0]
        server.execute(f"DETACH TABLE {self.name}")
        # It is in front of those of the servers.
        elected = f"{self.path}/leader_election/leader_election--1"
        client.create(elected, server.options.macros["replica"].encode())
        server.execute(f"ATTACH TABLE {self.name}")
        log = server.folder / "clickhouse-server.log"
        begin = log.stat().st_size
        ended = Event()

        def elect() -> None:
            while not ended.wait(_FIRST_POLL_SECONDS):
                with log.open("rb") as file:
                    file.seek(begin)
                    if b"Leader was suddenly changed" in file.read():
                        break
            client.delete(elected)

        with ThreadPoolExecutor(1) as pool:
            elected_later = pool.submit(elect)
            try:
                yield
            finally:
                ended.set()
            elected_later.result()

    def settle(self) -> None:
        """Wait until the replicas have nothing to do, mutations are done, and outdated parts are gone.

        Raises:
            TimeoutError: they still have after SETTLE_SECONDS.
        """
        for server in self.servers:
            server.execute(f"SYSTEM SYNC REPLICA {self.name}")
        wait_for(self._is_settled)
        # Written right after the last insert has left the queue. A server that loses its session at that very
        # moment leaves it as it is until the next insert.
        with suppress(TimeoutError):
            wait_for(self._is_time_written, _TIME_SECONDS)

    def is_idle(self) -> bool:
        """Whether no entry of the log or a queue waits."""
        question = "SELECT count() FROM system.replicas WHERE queue_size = 0 AND log_pointer > log_max_index"
        return all(server.query(f"{question} AND {self._condition}") == [(1,)] for server in self.servers)

    def _is_settled(self) -> bool:
        # A mutation that is not assigned yet has no entry in a queue.
        waiting = (("mutations", "NOT is_done"), ("parts", "NOT active"))
        return self.is_idle() and all(
            server.query(f"SELECT count() FROM system.{name} WHERE {which} AND {self._condition}") == [(0,)]
            for name, which in waiting
            for server in self.servers
        )

    def _is_time_written(self) -> bool:
        return all(
            server.query(
                f"SELECT value FROM system.zookeeper WHERE path = '{self.path}/replicas/{replica}'"
                " AND name = 'min_unprocessed_insert_time' AND value NOT IN ('', '0')"
            )
            == []
            for replica, server in self.replicas.items()
        )

    @property
    def _condition(self) -> str:
        return f"database = 'default' AND table = '{self.name}'"


class TableMaker(Protocol):
    """Creates a table that no other test uses on every server of a shard."""

    def __call__(self, definition: Definition = BY_DAY) -> ReplicatedTable:
        """Return the table, which has no rows yet."""


def wait_for(
    condition: Callable[[], bool], seconds: float = SETTLE_SECONDS, told: Callable[[], object] | None = None
) -> None:
    """Poll until the condition holds, less and less often.

    Raises:
        TimeoutError: it does not within the time given; with what is ``told`` of how it is then.
    """
    deadline = time.monotonic() + seconds
    pause = _FIRST_POLL_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds:g} s" + (f": {told()}" if told else ""))
        time.sleep(pause)
        pause = min(1.5 * pause, _LAST_POLL_SECONDS)
