# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a whole inventory in a process of its own, without Spark, and tells what that took.

Takes the source and its settings as JSON on standard input and writes a `Reading` as JSON. It imports little
besides the reader, so that its memory is that of one task.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow.compute

from benchmark.memory import memory_mb
from olap_partmove._zookeeper.settings import options_of
from partition_classify.sources.live import InventoryReader
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.folders import folders_of


@dataclass(frozen=True)
class Reading:
    """What reading took, without the start of Python and its imports; memory in MiB."""

    parts: int
    znodes: int
    """The znodes that register these parts."""
    seconds: float
    peak_rss_mb: float
    idle_rss_mb: float
    """Before the reading."""


def main() -> None:
    """Read what standard input names."""
    json.dump(asdict(measure(json.load(sys.stdin))), sys.stdout)


def measure(arguments: Mapping[str, Any]) -> Reading:
    """Read all rows, in the one task that the reader is allowed."""
    reader = _reader(**arguments)
    idle = memory_mb("VmRSS")
    parts = znodes = 0
    begin = time.perf_counter()
    for partition in reader.partitions():
        for batch in reader.read(partition):
            parts += pyarrow.compute.sum(batch.column("parts")).as_py()
            znodes += pyarrow.compute.sum(batch.column("znodes")).as_py()
    return Reading(parts, znodes, time.perf_counter() - begin, memory_mb("VmHWM"), idle)


def _reader(source: str, root: str, hot: object) -> InventoryReader | SnapshotReader:
    if source == "zookeeper":
        ensemble = options_of("hot", hot)
        return InventoryReader(root, ensemble, cold=None, sessions=1, latency_target=0.0, is_grouped=True)
    return SnapshotReader(root=root, hot=folders_of("hot", hot), tasks=1, is_grouped=True)


if __name__ == "__main__":
    main()
