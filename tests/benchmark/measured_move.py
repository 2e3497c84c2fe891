# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves all partitions of one shard path in a process of its own, and tells what that took.

Reads a `Job` as JSON from standard input and writes a `Measurement` as JSON. It imports what the
module part_move imports and little else, so that its memory is that of the module.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils.partmove import move
from ansible_collections.olap.partmove.plugins.module_utils.partmove.aftermath import Aftermath
from ansible_collections.olap.partmove.plugins.module_utils.partmove.coordination import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils.partmove.copies import ColdCopies
from ansible_collections.olap.partmove.plugins.module_utils.partmove.report import ShardReport
from ansible_collections.olap.partmove.plugins.module_utils.partmove.server_gates import (
    AssumeActive,
    AssumePatched,
)
from ansible_collections.olap.partmove.plugins.module_utils.partmove.shard_reader import ShardReader
from ansible_collections.olap.partmove.plugins.module_utils.partmove.switch import Switch
from ansible_collections.olap.partmove.plugins.module_utils.zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils.zookeeper.reader import Reader
from ansible_collections.olap.partmove.plugins.module_utils.zookeeper.store import ZooKeeperStore, connect

# The phases in their order, and the functions that they consist of. These, and those of the client,
# are called a few dozen times in a move of any size, so that timing them costs nothing.
_PHASES: tuple[tuple[str, object, tuple[str, ...]], ...] = (
    ("read", ShardReader, ("shard", "partitions")),
    ("gates", move, ("refuse_partitions",)),
    ("copy", ColdCopies, ("make",)),
    ("verify", move, ("compare_copies",)),
    ("switch", Switch, ("run",)),
    ("aftermath", Aftermath, ("check",)),
)
_CLIENT: tuple[tuple[object, tuple[str, ...]], ...] = (
    (Reader, ("read", "children", "sync")),
    (ZooKeeperStore, ("commit", "members")),
)
_OTHER = "other"


@dataclass(frozen=True)
class Job:
    """What to move: the addresses of the members of both ensembles, and the partitions."""

    hot: tuple[str, ...]
    cold: tuple[str, ...]
    shard_path: str
    partitions: tuple[str, ...]


@dataclass(frozen=True)
class PhaseTime:
    """Seconds of one phase, and how many of them were spent in calls of the ZooKeeper client."""

    seconds: float
    client_seconds: float


@dataclass(frozen=True)
class Measurement:
    """What one move took; memory in MB (1024 * 1024 bytes)."""

    parts: int
    seconds: float
    peak_rss_mb: float
    idle_rss_mb: float
    phases: dict[str, PhaseTime]


class Stopwatch:
    """Adds up seconds by phase: of the whole phase, and of the calls of the client within it."""

    def __init__(self) -> None:
        self._phase = ""
        self._in_client = False
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._client_seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time to the phase, unless another phase is under way."""
        if self._phase:
            yield
            return
        self._phase = name
        begin = time.perf_counter()
        yield
        self._seconds[name] += time.perf_counter() - begin
        self._phase = ""

    @contextmanager
    def client(self) -> Iterator[None]:
        """Count the time to the client, unless one of its calls is under way."""
        if self._in_client:
            yield
            return
        self._in_client = True
        begin = time.perf_counter()
        yield
        self._client_seconds[self._phase or _OTHER] += time.perf_counter() - begin
        self._in_client = False

    def result(self, seconds: float) -> dict[str, PhaseTime]:
        """Return the times of each phase; what no phase accounts for of `seconds` is "other"."""
        phases = {name: self._seconds[name] for name, _owner, _functions in _PHASES}
        phases[_OTHER] = seconds - sum(phases.values())
        return {name: PhaseTime(value, self._client_seconds[name]) for name, value in phases.items()}


def main() -> None:
    """Do the job that standard input describes."""
    given = json.load(sys.stdin)
    job = Job(tuple(given["hot"]), tuple(given["cold"]), given["shard_path"], tuple(given["partitions"]))
    json.dump(asdict(measure(job)), sys.stdout)


def measure(job: Job) -> Measurement:
    """Move everything.

    Raises:
        RuntimeError: a partition was not moved.
    """
    watch = Stopwatch()
    for phase, owner, functions in _PHASES:
        _time_calls(owner, functions, partial(watch.phase, phase))
    for owner, functions in _CLIENT:
        _time_calls(owner, functions, watch.client)
    with (
        connect(EnsembleOptions("hot", job.hot)) as hot,
        connect(EnsembleOptions("cold", job.cold)) as cold,
    ):
        idle = _memory_mb("VmRSS")
        begin = time.perf_counter()
        report = move.move_shard(_world(hot, cold), job.shard_path, job.partitions, move.MoveOptions(0, 1))
        seconds = time.perf_counter() - begin
    _expect_all_moved(report, job.partitions)
    parts = sum(each.parts for each in report.moved.values())
    return Measurement(parts, seconds, _memory_mb("VmHWM"), idle, watch.result(seconds))


def _time_calls(
    owner: object, functions: Sequence[str], timer: Callable[[], AbstractContextManager[None]]
) -> None:
    for name in functions:
        function = getattr(owner, name)

        def timed(*args: Any, _function: Callable[..., Any] = function, **options: Any) -> Any:
            with timer():
                return _function(*args, **options)

        setattr(owner, name, timed)


def _world(hot: ZooKeeperStore, cold: ZooKeeperStore) -> move.World:
    clock = _SystemClock()
    leases = LeaseKeeper(hot, cold, clock, owner="benchmark")
    return move.World(hot, cold, clock, _NoJournal(), leases, AssumePatched(), AssumeActive())


def _expect_all_moved(report: ShardReport, partitions: Sequence[str]) -> None:
    missed = {**report.deferred, **report.failed}
    if report.moved.keys() != set(partitions):
        samples = "; ".join(f"{each}: {refusal.reason}" for each, refusal in list(missed.items())[:3])
        raise RuntimeError(f"{len(report.moved)} of {len(partitions)} partitions were moved: {samples}")


def _memory_mb(field: str) -> float:
    """Return VmRSS or VmHWM of this process.

    Not ru_maxrss of getrusage: that begins with the peak of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (size,) = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(size) / 1024


class _SystemClock:
    """Implements Clock."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _NoJournal:
    """Implements Journal and keeps nothing."""

    def record(self, event: str, **fields: str | int | float) -> None:
        del event, fields


if __name__ == "__main__":
    main()
