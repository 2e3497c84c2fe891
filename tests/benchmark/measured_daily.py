# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module part_move over many shard paths in a process of its own, and tells what that took.

Takes the arguments of the module as JSON on standard input and writes a `DailyRun` as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.cpu import cpu_seconds
from benchmark.measured_move import run_part_move
from benchmark.memory import memory_mb


@dataclass(frozen=True)
class DailyRun:
    """What one run took, without the start of Python and its imports."""

    moved: int
    unchanged: int
    seconds: float
    client_cpu_seconds: float
    peak_rss_mb: float
    """MiB, of its largest process."""
    requests: int = 0
    """That the members of both ensembles got; a batch is one."""
    servers_cpu_seconds: float = 0.0
    """Of all these members."""


def main() -> None:
    """Run the module with the arguments that standard input gives."""
    json.dump(asdict(measure(json.load(sys.stdin))), sys.stdout)


def measure(arguments: Mapping[str, Any]) -> DailyRun:
    """Run the module; raises RuntimeError where it fails, or defers a partition."""
    begin, cpu = time.perf_counter(), cpu_seconds()
    result = run_part_move(arguments)
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    counts = result["counts"]
    if sum(counts.values()) != counts["moved"] + counts["unchanged"]:
        raise RuntimeError(f"not every partition was moved: {result}")
    memory = max(memory_mb("VmHWM"), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    return DailyRun(counts["moved"], counts["unchanged"], seconds, cpu, memory)


if __name__ == "__main__":
    main()
