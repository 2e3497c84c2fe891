# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what a server of a modern ClickHouse costs that tests start: its start, its memory, and its rest.

Environment: RUNS (5), each with a shard of two servers of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.cpu import cpu_seconds_of
from benchmark.machine import this_machine
from benchmark.spread import RUNS, Spread
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, modern_shard
from support.servers.zookeeper import Ensemble

REST_SECONDS = 20.0
TABLES = 2


@dataclass(frozen=True)
class Cost:
    """What two servers take, or one of them; memory in MiB.

    start_seconds: until both answer.
    start_cpu_seconds: of one, the mean.
    own_mb: what a server has written to, the most.
    shared_mb: the files that it has in memory, which others share, the most.
    rest: the share of a processor that one takes that has tables and nothing to do, the mean.
    again_seconds: until both answer and write after SIGKILL.
    """

    start_seconds: float
    start_cpu_seconds: float
    own_mb: float
    shared_mb: float
    rest: float
    again_seconds: float


def main() -> None:
    """Measure and print."""
    print(f"Two modern servers with {TABLES} tables.\n{this_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-modern-") as name, Ensemble(Path(name, "hot")) as hot:
        costs = [measure(hot, Path(name, str(run)), REST_SECONDS) for run in range(RUNS)]
    report(costs)


def measure(hot: Ensemble, folder: Path, rest_seconds: float) -> Cost:
    """Start two servers with tables, let them rest, and kill and start them again."""
    begin = time.perf_counter()
    with modern_shard(folder, ZooKeeperSource(hot.connect_string)) as shard:
        started = time.perf_counter() - begin
        pids = [server.process.pid for server in shard.servers]
        start_cpu = cpu_seconds_of(pids) / len(pids)
        for number in range(TABLES):
            shard.execute(
                f"CREATE TABLE t{number} (id UInt64) ENGINE = ReplicatedMergeTree"
                f"('/{folder.name}/t{number}', '{{replica}}') ORDER BY id"
            )
        _write(shard.servers)
        before = cpu_seconds_of(pids)
        time.sleep(rest_seconds)
        rest = (cpu_seconds_of(pids) - before) / rest_seconds / len(pids)
        own, shared = zip(*(_memory_mb(pid) for pid in pids), strict=True)
        for server in shard.servers:
            server.kill()
        begin = time.perf_counter()
        for server in shard.servers:
            server.spawn()
        for server in shard.servers:
            server.wait()
        _write(shard.servers)
        again = time.perf_counter() - begin
    return Cost(started, start_cpu, max(own), max(shared), rest, again)


def report(costs: Sequence[Cost]) -> None:
    """A line for each figure: the median, the lowest and the highest."""
    for title, values, spec in (
        ("start of two until they answer, s", [each.start_seconds for each in costs], ".2f"),
        ("start of one, s of CPU", [each.start_cpu_seconds for each in costs], ".2f"),
        ("memory of its own, MB", [each.own_mb for each in costs], ".0f"),
        ("memory that is shared, MB", [each.shared_mb for each in costs], ".0f"),
        ("a processor at rest, %", [100 * each.rest for each in costs], ".1f"),
        ("start of two after SIGKILL until they write, s", [each.again_seconds for each in costs], ".2f"),
    ):
        print(f"{title:<48}{Spread.of(values):{spec}}")


def _write(servers: Sequence[ModernServer]) -> None:
    for server in servers:
        server.execute("INSERT INTO t0 SELECT rand64()")


def _memory_mb(pid: int) -> tuple[float, float]:
    """Of a process: what it has written to, and the rest."""
    lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()[1:]
    kib = {name: int(size.split()[0]) for name, _colon, size in (line.partition(":") for line in lines)}
    own = kib["Private_Dirty"]
    return own / 1024, (kib["Rss"] - own) / 1024


if __name__ == "__main__":
    main()
