# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes a census in a process of its own, and tells what that took.

Takes the source and its settings as JSON on standard input and writes a `CensusMeasurement` as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.cpu import cpu_seconds
from benchmark.memory import memory_mb
from olap_partmove._partmove.census.census import Census, Places
from olap_partmove._partmove.census.walk import take_census
from olap_partmove._partmove.tree.paths import DEFAULT_ROOT
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import connect
from partition_classify.census import take_census as take_census_of_files
from partition_classify.zookeeper_files.folders import folders_of

_PLACES = Places(DEFAULT_ROOT)


@dataclass(frozen=True)
class CensusMeasurement:
    """What a census took, without the start of Python and its imports; memory in MiB."""

    znodes: int
    seconds: float
    peak_rss_mb: float
    idle_rss_mb: float
    """Before the census."""
    cpu_seconds: float
    """Of processors, for this process and those that it started; they depend little on what else runs."""


def main() -> None:
    """Count what standard input names."""
    json.dump(asdict(measure(**json.load(sys.stdin))), sys.stdout)


def measure(source: str, hot: Mapping[str, Any]) -> CensusMeasurement:
    """Count all znodes."""
    idle = memory_mb("VmRSS")
    begin, cpu = time.perf_counter(), cpu_seconds()
    znodes = _census(source, hot).total.znodes
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    return CensusMeasurement(znodes, seconds, memory_mb("VmHWM"), idle, cpu)


def _census(source: str, hot: Mapping[str, Any]) -> Census:
    if source == "zookeeper":
        store = connect(options_of("hot", hot))
        try:
            return take_census(store, _PLACES)
        finally:
            store.close()
    (folder,) = folders_of("hot", hot)
    return take_census_of_files(folder, _PLACES)


if __name__ == "__main__":
    main()
