# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an ensemble weighs, and how long a write to it takes under a steady load."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from kazoo.client import KazooClient

from benchmark.heap import heap_mb
from support.servers.kazoo_client import connected
from support.servers.zookeeper import Ensemble

_MIB = 1 << 20
_FOLDER = "/bench-writes"


@dataclass(frozen=True)
class Weight:
    """What an ensemble weighs after a restart; sizes in MiB, of one member.

    heap_mb: what its objects take, after a collection.
    """

    znodes: int
    snapshot_mb: float
    restart_seconds: float
    heap_mb: float


@dataclass(frozen=True)
class Latency:
    """How long writes took under a steady load, in milliseconds.

    late: how many were sent later than they were due, because those before them took so long.
    """

    writes: int
    median: float
    p99: float
    worst: float
    late: int


def weigh(ensemble: Ensemble) -> Weight:
    """Restart all members and see what they read, how long that takes, and what memory they have then.

    A member writes a snapshot when it starts, so that the newest one has what is there now. They are
    restarted twice: the first start also reads the log of all that was done before, be it ever so much.
    """
    for _start in range(2):
        ensemble.stop()
        begin = time.perf_counter()
        ensemble.start()
        seconds = time.perf_counter() - begin
    member = ensemble.leader()
    snapshots = sorted(member.data_dir.glob("version-2/snapshot.*"), key=lambda path: path.stat().st_mtime_ns)
    return Weight(
        int(member.monitor()["zk_znode_count"]),
        snapshots[-1].stat().st_size / _MIB,
        seconds,
        heap_mb(member.pid),
    )


class SteadyWrites:
    """Writes what an insert writes, so often in a second, for as long as it is entered."""

    def __init__(self, addresses: str, per_second: float) -> None:
        """Take the ensemble and the pace."""
        self._addresses = addresses
        self._pause = 1 / per_second
        self._ended = threading.Event()
        self._milliseconds: list[float] = []
        self._late = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write until the block ends; raises what a write ended with."""
        with ThreadPoolExecutor(1, "steady writes") as thread:
            run = thread.submit(self._run)
            try:
                yield
            finally:
                self._ended.set()
            run.result()

    def latency(self) -> Latency:
        """What the writes so far took."""
        return latency_of(self._milliseconds, self._late)

    def _run(self) -> None:
        with connected(self._addresses) as client:
            client.ensure_path(_FOLDER)
            self._write(client)

    def _write(self, client: KazooClient) -> None:
        due = time.perf_counter()
        while not self._ended.is_set():
            begin = time.perf_counter()
            insert(client)
            end = time.perf_counter()
            self._milliseconds.append((end - begin) * 1000)
            due += self._pause
            self._late += end > due
            self._ended.wait(max(due - end, 0))


def insert(client: KazooClient) -> None:
    """One multi with as many writes as an insert of a part has, which leaves nothing behind."""
    transaction = client.transaction()
    for name in ("log", "block", "part"):
        transaction.create(f"{_FOLDER}/{name}", b"x" * 120)
    for name in ("log", "block", "part"):
        transaction.delete(f"{_FOLDER}/{name}")
    failed = [result for result in transaction.commit() if isinstance(result, Exception)]
    if failed:
        raise failed[0]


def latency_of(milliseconds: Sequence[float], late: int) -> Latency:
    """The figures of writes; raises ValueError where there are none."""
    if not milliseconds:
        raise ValueError("Nothing was written while it was measured")
    ordered = sorted(milliseconds)
    median, p99 = (ordered[int((len(ordered) - 1) * share)] for share in (0.5, 0.99))
    return Latency(len(ordered), median, p99, ordered[-1], late)
