# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table with its twin on two shards of two modern servers, and what its rows have to be at any time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from support.ansible.calls import Call, run_modules, start_module
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernOptions, ModernServer, ModernShard
from support.servers.replicated import wait_for
from support.servers.statement_gateway import Moment, StatementGateway
from support.servers.zookeeper import Ensemble

SHARDS = ("01", "02")
TABLE, TWIN = "hits", "hits_cold"
PARTS = 2
"""Of each partition, before others are inserted."""
LATE_DAYS = 5
"""The last ones of the table, which get inserts and merges all the time."""
_FIRST_DAY = date(2020, 1, 1)
_LATE = 100_000_000
"""The first id that is inserted late."""
_KILLED_SESSION_SECONDS = 6
"""For how long a run that was killed keeps its lock."""
_STATEMENT_SECONDS = 30.0
"""For how long a run waits for the answer of a server while others are killed."""
_SETTINGS = (
    # Servers merge what they are told to, but mutate all.
    "max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1"
)
_SUMS = "count(), sum(h), groupBitXor(h), uniqExact(h), sum(DISTINCT h)"


class DaySums(NamedTuple):
    """What there is of a day: rows and checksums of all, and of those that differ."""

    rows: int
    total: int
    exclusive_or: int
    distinct: int
    distinct_total: int

    @property
    def once(self) -> tuple[int, int]:
        """The same however often a row is there."""
        return self.distinct, self.distinct_total


class TwinShards:
    """Four servers with both tables. What is inserted and updated by it is known; all else is looked up."""

    def __init__(self, folder: Path, hot: Ensemble, cold: Ensemble, base: str, days: int) -> None:
        """Make the servers; `days` is the number of partitions of each shard."""
        auxiliary = {"cold": ZooKeeperSource(cold.connect_string)}
        self.servers = [
            ModernServer(
                name,
                folder / name,
                ModernOptions(
                    ZooKeeperSource(hot.connect_string), auxiliary, {"shard": shard, "replica": name}
                ),
            )
            for shard in SHARDS
            for name in (f"{shard}a", f"{shard}b")
        ]
        self.shards = [self.servers[:2], self.servers[2:]]
        self.paths = [f"{base}/{shard}/{TABLE}" for shard in SHARDS]
        self.days = days
        self._base = base
        self._hot = hot
        self._gateways: list[StatementGateway] = []
        self._late: list[list[int]] = [[] for _shard in SHARDS]
        """Of each shard the day of each row that was inserted late, in the order of the ids."""
        self._guard = threading.Lock()
        self._updated: tuple[int, ...] = ()
        """Days whose rows were updated."""
        self._changed_between: set[tuple[str, str]] = set()
        """Shard path and partition of what was changed while a run that was killed had not ended with it."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start the servers and fill the tables."""
        with ExitStack() as stack:
            stack.enter_context(ModernShard(self.servers))
            # Statements go to the first replica.
            for first, _second in self.shards:
                self._gateways.append(stack.enter_context(StatementGateway(first.http_port)))
            self._client = stack.enter_context(connected(self._hot.connect_string))
            self._fill()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the servers."""
        self._stack.close()

    def _fill(self) -> None:
        for auxiliary, name in (("", TABLE), ("cold:", TWIN)):
            for server in self.servers:
                server.execute(
                    f"CREATE TABLE {name} (day Date, id UInt32, text String) ENGINE ="
                    f" ReplicatedMergeTree('{auxiliary}{self._base}/{{shard}}/{name}', '{{replica}}')"
                    f" PARTITION BY day ORDER BY id SETTINGS {_SETTINGS}"
                )
        for first, _second in self.shards:
            for part in range(PARTS):
                first.execute(
                    f"INSERT INTO {TABLE} (day, id, text) SELECT {_day(f'number % {self.days}')}, number,"
                    f" 'new' FROM numbers({part * self.days}, {self.days})",
                    max_partitions_per_insert_block=0,
                )
        self.settle()

    def settle(self) -> None:
        """Let all replicas have what one of them has."""
        for server in self.servers:
            for name in (TABLE, TWIN):
                server.execute(f"SYSTEM SYNC REPLICA {name}")

    def partition(self, day: int) -> str:
        """The id of the partition of a day."""
        return (_FIRST_DAY + timedelta(day)).strftime("%Y%m%d")

    def _left_to_people(self, shard: int) -> set[str]:
        """The partitions of which a run may say that a person has to look at them.

        These are those that get inserts and merges all the time, and those of which nobody can tell whether a
        part that was about to be dropped was dropped, or changed.
        """
        late = {self.partition(day) for day in self._late_days}
        return late | {partition for path, partition in self._changed_between if path == self.paths[shard]}

    @property
    def _late_days(self) -> range:
        return range(self.days - LATE_DAYS, self.days)

    def insert(self, shard: int, partition: str = "") -> None:
        """Insert a row, late, into one of the partitions that get inserts all the time, or into this one."""
        first = self.shards[shard][0]
        with self._guard:
            late = self._late[shard]
            day = self._late_days[len(late) % LATE_DAYS]
            if partition:
                day = (date.fromisoformat(partition) - _FIRST_DAY).days
            late.append(day)
            number = _LATE + len(late) - 1
        first.execute(f"INSERT INTO {TABLE} (day, id, text) SELECT {_day(str(day))}, {number}, 'new'")

    def insert_between(self) -> None:
        """Insert into what a run that was killed had not ended with."""
        for shard in range(len(SHARDS)):
            for partition in self.between(shard):
                self.insert(shard, partition)

    def merge_between(self) -> None:
        """Merge what a run that was killed had not ended with."""
        self._note_between()
        for shard in range(len(SHARDS)):
            for partition in self.between(shard):
                self._optimize(shard, TABLE, partition)

    def _note_between(self) -> None:
        for shard, path in enumerate(self.paths):
            self._changed_between.update((path, partition) for partition in self.between(shard))

    def _optimize(self, shard: int, table: str, partition: str) -> None:
        """Have a partition merged, and do not wait for it."""
        self.shards[shard][0].execute(
            f"OPTIMIZE TABLE {table} PARTITION ID '{partition}' FINAL", alter_sync=0
        )

    def add_column(self) -> None:
        """Alter both tables of both shards, and wait until that is done."""
        self._alter("ADD COLUMN more UInt8 DEFAULT 7")

    def update(self, *days: int) -> None:
        """Change the rows of some days that were there from the beginning, in both tables."""
        self._note_between()
        self._updated = days
        listed = ", ".join(_day(str(day)) for day in days)
        self._alter(f"UPDATE text = 'changed' WHERE day IN ({listed}) AND id < {_LATE}")

    def _alter(self, command: str) -> None:
        for first, _second in self.shards:
            for name in (TABLE, TWIN):
                first.execute(f"ALTER TABLE {name} {command}", alter_sync=2, mutations_sync=2)

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """Insert and merge all the time, on the first replicas, which are never killed."""
        ended = threading.Event()
        problems: list[Exception] = []
        partitions = [self.partition(day) for day in self._late_days]

        def disturb() -> None:
            number, pause = 0, 0.5
            try:
                while not ended.wait(pause):
                    # Less and less often, so that a busy machine has not more of it to do.
                    number, pause = number + 1, 1.1 * pause
                    for shard in range(len(SHARDS)):
                        self.insert(shard)
                        table = (TABLE, TWIN)[number % 2]
                        self._optimize(shard, table, partitions[number // 2 % LATE_DAYS])
            except Exception as error:  # noqa: BLE001 - it is raised again by the test
                problems.append(error)

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        assert not problems, problems

    def with_late(self, days: Sequence[int]) -> list[dict[str, str]]:
        """The partitions of some days in both shards, and of the days that get inserts all the time."""
        return [
            {"shard_path": path, "partition": self.partition(day)}
            for path in self.paths
            for day in sorted({*days, *self._late_days})
        ]

    def call(self, state: str, **options: Any) -> Call:
        """What the module is asked for: all partitions of both shards, if no others are given."""
        endpoints = {each.name: f"127.0.0.1:{each.http_port}" for each in self.servers}
        for (first, _second), gateway in zip(self.shards, self._gateways, strict=True):
            endpoints[first.name] = f"127.0.0.1:{gateway.port}"
        seconds = options.pop("timeout", 120.0)
        hot = {"hosts": self._hot.connect_string.split(","), **options.pop("hot", {})}
        return Call(
            "twin_move",
            {
                "hot": hot,
                "coordination_root": f"{self._base}/partmove",
                **({} if "partitions" in options else {"shard_paths": self.paths}),
                "state": state,
                "min_age": "0",
                "journal": "",
                "lock_wait": "10m",
                "clickhouse": {"endpoints": endpoints, "timeout": seconds},
                **options,
            },
        )

    def move(self, state: str, **options: Any) -> dict[str, Any]:
        """What the module answers."""
        (answer,) = run_modules(self.call(state, **options))
        return answer

    def move_killed(self, state: str, moment: Moment, partitions: list[dict[str, str]]) -> None:
        """Run the module in a process that is killed when the first of both shards is at the moment."""
        hot = {"session_timeout": _KILLED_SESSION_SECONDS}
        process = start_module(self.call(state, hot=hot, partitions=partitions))

        def kill() -> bool:
            process.kill()
            return False

        for gateway in self._gateways:
            gateway.at(moment, kill)
        output, errors = process.communicate()
        for gateway in self._gateways:
            gateway.forget()
        assert process.returncode == -signal.SIGKILL, (output, errors)

    def move_with_kills(self, state: str, moment: Moment, partitions: list[dict[str, str]]) -> dict[str, Any]:
        """What the module answers, where each shard loses its second server when it is at the moment."""

        def kill(server: ModernServer) -> bool:
            server.kill()
            return True

        for (_first, second), gateway in zip(self.shards, self._gateways, strict=True):
            gateway.at(moment, partial(kill, second))
        answer = self.move(state, timeout=_STATEMENT_SECONDS, partitions=partitions)
        assert not any(gateway.is_waiting for gateway in self._gateways), answer
        return answer

    def revive(self) -> None:
        """Start the servers that were killed; wait until they have all, and nobody waits for them."""
        for _first, second in self.shards:
            second.start()
        readonly = "SELECT count() FROM system.replicas WHERE is_readonly"
        waiting = "SELECT count() FROM system.processes WHERE query ILIKE 'ALTER %'"
        wait_for(lambda: all(each.query(readonly) == [(0,)] for each in self.servers))
        self.settle()
        wait_for(lambda: all(each.query(waiting) == [(0,)] for each in self.servers))

    def between(self, shard: int) -> list[str]:
        """The partitions that a run has not ended with, by its records."""
        folder = f"{self._base}/partmove/twins/{quote(self.paths[shard], safe='')}"
        return sorted(self._client.get_children(folder)) if self._client.exists(folder) else []

    def days_in(self, server: ModernServer, table: str) -> set[str]:
        """The partitions of which a replica has parts in a table."""
        rows = server.query(
            f"SELECT DISTINCT partition_id FROM system.parts WHERE active AND table = '{table}'"
        )
        return {partition for (partition,) in rows}

    def parts(self, server: ModernServer) -> list[tuple[Any, ...]]:
        """All parts of both tables with their rows and hashes."""
        return server.query(
            "SELECT table, name, rows, hash_of_all_files, hash_of_uncompressed_files FROM system.parts"
            f" WHERE active AND table IN ('{TABLE}', '{TWIN}') ORDER BY table, name"
        )

    def _in_queue(self, server: ModernServer) -> list[tuple[Any, ...]]:
        """What a replica still has to do."""
        return server.query("SELECT table, type, new_part_name, create_time FROM system.replication_queue")

    def sums(self, server: ModernServer) -> dict[str, DaySums]:
        """What a replica has of each partition in both tables together."""
        both = " UNION ALL ".join(f"SELECT day, id, text, more FROM {name}" for name in (TABLE, TWIN))
        return _sums(server, both)

    def wanted(self, shard: int) -> dict[str, DaySums]:
        """What every replica of a shard has to have, by what was inserted and updated."""
        listed = ", ".join(map(str, self._updated))
        text = f"if(d IN ({listed}), 'changed', 'new')" if self._updated else "'new'"
        late = ", ".join(f"({day}, {_LATE + number})" for number, day in enumerate(self._late[shard]))
        rows = [
            f"SELECT number % {self.days} AS d, number AS i, {text} AS t FROM numbers({PARTS * self.days})",
            f"SELECT d, i, 'new' AS t FROM values('d UInt64, i UInt64', {late})",
        ]
        return _sums(
            self.shards[shard][0],
            f"SELECT {_day('d')} AS day, toUInt32(i) AS id, t AS text, toUInt8(7) AS more"
            f" FROM ({' UNION ALL '.join(rows if late else rows[:1])})",
        )

    def check(self, state: str, told: Mapping[tuple[str, str], str]) -> None:
        """Fail where a replica has other rows than were inserted, or not where they have to be.

        told: shard path and partition of those that a person has to look at, whose rows may be there twice,
            with the reason.
        """
        left = TABLE if state == "cold" else TWIN
        for shard, path in enumerate(self.paths):
            loose = {partition for where, partition in told if where == path}
            assert loose <= self._left_to_people(shard), told
            assert set(self.between(shard)) == loose, told
            wanted = self.wanted(shard)
            first, second = self.shards[shard]
            assert self.parts(first) == self.parts(second)
            for server in (first, second):
                misplaced = self.days_in(server, left) - loose
                assert not misplaced, (server.name, left, misplaced, self._in_queue(server), told)
                _compare(server.name, self.sums(server), wanted, loose)


def _compare(
    name: str, found: dict[str, DaySums], wanted: dict[str, DaySums], loose: Collection[str]
) -> None:
    assert found.keys() == wanted.keys(), name
    for partition, sums in found.items():
        if partition in loose:
            assert sums.once == wanted[partition].once, (name, partition)
        else:
            assert sums == wanted[partition], (name, partition)


def _sums(server: ModernServer, rows: str) -> dict[str, DaySums]:
    found = server.query(
        f"SELECT toString(toYYYYMMDD(day)), {_SUMS} FROM (SELECT day, cityHash64(day, id, text, more) AS h"
        f" FROM ({rows})) GROUP BY day"
    )
    return {partition: DaySums(*map(int, sums)) for partition, *sums in found}


def _day(number: str) -> str:
    return f"toDate('{_FIRST_DAY}') + toUInt16({number})"
