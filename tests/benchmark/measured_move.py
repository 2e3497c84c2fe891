# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module part_move in a process of its own, and tells what that took.

Takes the arguments of the module as JSON on standard input and writes a `Measurement` as JSON. It
imports little besides the module, so that its memory is that of the module.
"""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from ansible.module_utils.testing import patch_module_args

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move import to_cold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.post_switch_check import (
    PostSwitchCheck,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.switch import Switch
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.compare import (
    CopyComparison,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.copies import (
    ColdCopies,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import Reader
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from ansible_collections.olap.partmove.plugins.modules import part_move
from benchmark.cpu import cpu_seconds
from benchmark.memory import memory_mb

# The phases in their order, and the functions that they consist of. These, and those of the client,
# are called a few dozen times in a move of any size, so that timing them costs nothing.
_PHASES: tuple[tuple[str, object, tuple[str, ...]], ...] = (
    ("read", ShardReader, ("read_names", "read", "registered_names")),
    ("gates", to_cold, ("refuse_partitions",)),
    ("copy", ColdCopies, ("make",)),
    ("verify", CopyComparison, ("add", "finish")),
    ("switch", Switch, ("_create_markers", "_switch_batch")),
    ("post_switch_check", PostSwitchCheck, ("check",)),
)
_CLIENT: tuple[tuple[object, tuple[str, ...]], ...] = (
    (Reader, ("__init__", "read", "children", "ask", "sync", "close")),
    (ZooKeeperStore, ("commit", "members")),
)
_OTHER = "other"


@dataclass(frozen=True)
class PhaseTime:
    """Seconds of one phase, and how many of them were spent in calls of the ZooKeeper client."""

    seconds: float
    client_seconds: float


@dataclass(frozen=True)
class Measurement:
    """What one run of the module took, without the start of Python and its imports; memory in MiB."""

    parts: int
    seconds: float
    client_cpu_seconds: float
    peak_rss_mb: float
    idle_rss_mb: float
    """Before the run."""
    phases: dict[str, PhaseTime]
    servers_cpu_seconds: float = 0.0
    """Of all members of both ensembles; it is whoever started this process that can tell."""


class _Place(threading.local):
    """Where a thread is."""

    phase = ""
    in_client = False


class Stopwatch:
    """Adds up seconds by phase: of the whole phase, and of the calls of the client within it.

    Those of phases that threads are in at the same time count for each.
    """

    def __init__(self) -> None:
        self._place = _Place()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._client_seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time to the phase, unless another phase is under way."""
        place = self._place
        if place.phase:
            yield
            return
        place.phase = name
        begin = time.perf_counter()
        yield
        self._seconds[name] += time.perf_counter() - begin
        place.phase = ""

    @contextmanager
    def client(self) -> Iterator[None]:
        """Count the time to the client, unless one of its calls is under way."""
        place = self._place
        if place.in_client:
            yield
            return
        place.in_client = True
        begin = time.perf_counter()
        yield
        self._client_seconds[place.phase or _OTHER] += time.perf_counter() - begin
        place.in_client = False

    def result(self, seconds: float) -> dict[str, PhaseTime]:
        """Return the times of each phase; what no phase accounts for of `seconds` is "other"."""
        phases = {name: self._seconds[name] for name, _owner, _functions in _PHASES}
        phases[_OTHER] = max(0.0, seconds - sum(phases.values()))
        return {name: PhaseTime(value, self._client_seconds[name]) for name, value in phases.items()}


def main() -> None:
    """Run the module with the arguments that standard input gives."""
    json.dump(asdict(measure(json.load(sys.stdin))), sys.stdout)


def measure(arguments: Mapping[str, Any]) -> Measurement:
    """Run the module.

    Raises:
        RuntimeError: it did not move every partition that it was given.
    """
    watch = Stopwatch()
    for phase, owner, functions in _PHASES:
        _time_calls(owner, functions, partial(watch.phase, phase))
    for owner, functions in _CLIENT:
        _time_calls(owner, functions, watch.client)
    idle = memory_mb("VmRSS")
    begin, cpu = time.perf_counter(), cpu_seconds()
    result = run_part_move(arguments)
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    if any(count for kind, count in result["counts"].items() if kind != "moved"):
        raise RuntimeError(f"not every partition was moved: {result}")
    parts, peak = result["totals"]["parts"], memory_mb("VmHWM")
    return Measurement(parts, seconds, cpu, peak, idle, watch.result(seconds))


def run_part_move(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run the module in this process and return its result; raises RuntimeError where it fails."""
    output = io.StringIO()
    try:
        with patch_module_args(dict(arguments)), redirect_stdout(output):
            part_move.main()
    except SystemExit as end:
        result: dict[str, Any] = json.loads(output.getvalue())
        if end.code != 0:
            raise RuntimeError(result["msg"]) from end
        return result
    raise RuntimeError("the module did not end the process")


def _time_calls(
    owner: object, functions: Sequence[str], timer: Callable[[], AbstractContextManager[None]]
) -> None:
    for name in functions:
        function = getattr(owner, name)

        def timed(*args: Any, _function: Callable[..., Any] = function, **options: Any) -> Any:
            with timer():
                return _function(*args, **options)

        setattr(owner, name, timed)


if __name__ == "__main__":
    main()
