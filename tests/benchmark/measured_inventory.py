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
from functools import partial
from multiprocessing import get_context
from typing import Any

import pyarrow.compute
from pyspark.sql.datasource import InputPartition

from benchmark.memory import memory_mb
from olap_partmove._zookeeper.settings import options_of
from partition_classify.sources.live import InventoryReader
from partition_classify.sources.snapshot import MOST_TASKS, SnapshotReader
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
    """Read all rows: in the one task that the reader is allowed, or in several processes.

    processes: of the arguments, how many there are at a time, for a snapshot; 1 by default.
    """
    processes = arguments.get("processes", 1)
    reader = _reader(**arguments)
    idle = memory_mb("VmRSS")
    begin = time.perf_counter()
    partitions = reader.partitions()
    if processes == 1:
        counts = [_counts(reader, each) for each in partitions]
    else:
        with get_context("fork").Pool(processes) as pool:
            counts = list(pool.imap_unordered(partial(_counts, reader), partitions))
    seconds = time.perf_counter() - begin
    parts, znodes = (sum(each) for each in zip(*counts, strict=True))
    return Reading(parts, znodes, seconds, memory_mb("VmHWM"), idle)


def _counts(reader: InventoryReader | SnapshotReader, partition: InputPartition) -> tuple[int, int]:
    """Return the parts of the partition, and the znodes that register them."""
    parts = znodes = 0
    for batch in reader.read(partition):
        parts += pyarrow.compute.sum(batch.column("parts")).as_py()
        znodes += pyarrow.compute.sum(batch.column("znodes")).as_py()
    return parts, znodes


def _reader(source: str, root: str, hot: object, processes: int = 1) -> InventoryReader | SnapshotReader:
    if source == "zookeeper":
        ensemble = options_of("hot", hot)
        return InventoryReader(root, ensemble, cold=None, sessions=1, latency_target=0.0, is_grouped=True)
    tasks = 1 if processes == 1 else MOST_TASKS
    return SnapshotReader(
        root=root, hot=folders_of("hot", hot), tasks=tasks, is_grouped=True, processes=processes
    )


if __name__ == "__main__":
    main()
