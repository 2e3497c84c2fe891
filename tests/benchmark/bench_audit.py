# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures audits by names and by content, and their memory, of a table and of one ten times as large.

For figures to keep, run it on a machine that does nothing else. Environment: RUNS (5) of everything;
PARTITIONS (10000) of the smaller table.
"""

from __future__ import annotations

import os

from benchmark.bench_patched import print_audits
from benchmark.machine import this_machine
from benchmark.pair import IN_SERVICE, REPLICAS, Pair, running_pair
from benchmark.spread import RUNS
from support.memory.tables import Table

PARTITIONS = int(os.environ.get("PARTITIONS") or 10_000)
SIZES = (PARTITIONS, 10 * PARTITIONS)


def main() -> None:
    """Measure and print."""
    print(
        f"Audits of a table: {len(REPLICAS)} replicas, one part in each partition.\n"
        f"Each figure is the median of {RUNS} runs, followed by the lowest and the highest.\n\n"
        f"{this_machine()} Members have {' '.join(IN_SERVICE)}.",
        flush=True,
    )
    with running_pair(cold_members=1, jvm=IN_SERVICE) as pair:
        pair.warm_up()
        for partitions in SIZES:
            hot, cold = (pair.build(f"{name}_{partitions}", partitions) for name in ("hot", "cold"))
            pair.measure(cold)
            _measure(pair, "hot", hot)
            _measure(pair, "cold", cold)


def _measure(pair: Pair, where: str, table: Table) -> None:
    for name in ("names", "content"):
        runs = [pair.measure_audit(table, content=name == "content") for _each in range(RUNS)]
        print_audits(name, where, runs)


if __name__ == "__main__":
    main()
