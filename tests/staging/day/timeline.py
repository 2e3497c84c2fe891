# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happened when, and what queries took meanwhile: a picture and a table.

Usage: python -m staging.day.timeline FOLDER OUTPUT [--title TEXT]

Writes OUTPUT/timeline.svg and OUTPUT/timeline.md, and prints the table. Returns 1 if an answer was wrong, or
if a query failed in a step that breaks nothing that ClickHouse itself depends on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .queries import Query, read_queries
from .steps import Step, read_steps
from .timeline_plot import plot_timeline

_SHOWN = 20
_HEAD = (
    "step",
    "from",
    "took",
    "inserts",
    "p50 ms",
    "p99 ms",
    "selects",
    "p50 ms",
    "p99 ms",
    "failed",
    "wrong",
)


@dataclass(frozen=True)
class Phase:
    """A step, and the queries that began in it."""

    step: Step
    queries: Sequence[Query]

    def latencies(self, kind: str) -> list[float]:
        """Return what successful queries took, in milliseconds, the shortest first."""
        return sorted(query.ms for query in self.queries if query.kind == kind and not query.error)

    @property
    def failed(self) -> list[Query]:
        """Queries without an answer."""
        return [query for query in self.queries if query.error]

    @property
    def wrong(self) -> list[Query]:
        """Queries with a wrong answer."""
        return [query for query in self.queries if query.wrong]

    def row(self, day_begin: float) -> list[str]:
        """Return its row of the table."""
        cells = [self.step.name, clock(self.step.begin - day_begin), clock(self.step.seconds)]
        for kind in ("insert", "select"):
            took = self.latencies(kind)
            cells += [
                str(len(took)),
                *(f"{quantile(took, share):.0f}" if took else "" for share in (0.5, 0.99)),
            ]
        failed = f"{len(self.failed)} (fault)" if self.failed and self.step.fault else str(len(self.failed))
        return [*cells, failed, str(len(self.wrong))]


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return ascending[min(len(ascending) - 1, int(len(ascending) * share))]


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def phases(steps: Sequence[Step], queries: Sequence[Query]) -> list[Phase]:
    """Divide the queries by the step in which they began."""
    return [Phase(step, [query for query in queries if step.begin <= query.at < step.end]) for step in steps]


def table(found: Sequence[Phase]) -> str:
    """Return all steps as a table in Markdown."""
    begin = found[0].step.begin
    rows = [_HEAD, ["---"] * len(_HEAD), *(phase.row(begin) for phase in found)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def complaints(found: Sequence[Phase]) -> list[str]:
    """Return the wrong answers, and the failures of steps in which no query may fail."""
    return [
        f"{phase.step.name}: {json.dumps(vars(query))}"
        for phase in found
        for query in (*phase.wrong, *(() if phase.step.fault else phase.failed))
    ]


def main() -> int:
    """Write the picture and the table."""
    parser = argparse.ArgumentParser(prog="staging.day.timeline", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--title", default="A day of a cluster")
    options = parser.parse_args()
    steps, queries = read_steps(options.folder), read_queries(options.folder)
    found = phases(steps, queries)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "timeline.svg").write_text(plot_timeline(options.title, steps, queries))
    (options.output / "timeline.md").write_text(table(found))
    print(table(found))
    wrong = complaints(found)
    if wrong:
        print("\n".join(wrong[:_SHOWN]), file=sys.stderr)
        print(f"{len(wrong)} queries in all", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
