# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan and outcome of a table in a run over a root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .._partmove.formats.sql import identifier
from .._partmove.gates.gate import Refusal
from .._partmove.twin.move.hot_znodes import HotZnodes
from .._partmove.twin.table.pair import TABLE
from .._partmove.twin.table.root_plan import Volume
from .._partmove.twin.table.root_survey import RootTable
from .table_result import close_run, merge_reports
from .table_run import TableRun

_AGAIN = "Run again"
_NO_REASON = ("", "", "")
"""Gate, reason and remedy of a table without any."""


class TableState(str, Enum):
    """The state of a table at the end of a run."""

    FINISHED = "finished"
    LEFT = "left"
    REFUSED = "refused"
    OPEN = "open"


@dataclass
class TableOutcome:
    """A table of the root, in the order of the run."""

    table: RootTable
    volume: Volume
    """What was to move when the run began."""
    steps: Sequence[str]
    estimate: float
    """Seconds that the plan expects."""
    refusal: Refusal | None
    was_finished: bool = False
    """Whether nothing was left to do when the run began."""
    run: TableRun | None = None
    seconds: float | None = None
    """How long the table took; None if the run did not reach it."""
    hot_znodes: HotZnodes | None = None
    """The znodes that hot has of the table, of all shards."""
    moved: int = 0
    """How many partitions the run has moved; in check mode, would move before the exchange."""
    _left: tuple[str, str, str] = _NO_REASON

    def state(self, *, check_mode: bool) -> TableState:
        """Return the state. In check mode an unfinished table is open."""
        if self.refusal is not None:
            return TableState.REFUSED
        if self.was_finished or (self.run is not None and self.run.is_finished):
            return TableState.FINISHED
        if check_mode or self.seconds is None:
            return TableState.OPEN
        return TableState.LEFT

    def end(self, seconds: float, max_listed: int) -> None:
        """Keep the counts and the reason of the ended run, and release the data of its partitions."""
        self.seconds = seconds
        if self.run is None:
            return
        self.moved = sum(len(merge_reports(each).moved) for each in self.run.reports)
        self._left = _why_left(self.run)
        close_run(self.run, max_listed)

    def partitions_left(self, state: TableState) -> int:
        """Return how many partitions a later run has to move; of a refused table none, as no run can."""
        if state in (TableState.FINISHED, TableState.REFUSED):
            return 0
        moved = 0 if state is TableState.OPEN else self.moved
        return max(0, self.volume.partitions - moved)

    def why(self, state: TableState) -> tuple[str, str, str]:
        """Return gate, reason and remedy of an unfinished table; empty texts without any."""
        if self.refusal is not None:
            return self.refusal.gate.value, self.refusal.reason, self.refusal.remedy
        return self._left if state is TableState.LEFT else _NO_REASON

    def as_result(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the outcome as a value of the module's result."""
        state = self.state(check_mode=check_mode)
        gate, reason, remedy = self.why(state)
        znodes = self.hot_znodes
        return {
            "table": self.table.name,
            "state": state.value,
            "gate": gate,
            "reason": reason,
            "remedy": remedy,
            "shard_paths": [shard.shard_path for shard in self.table.shards],
            "replicas": sum(len(shard.replicas) for shard in self.table.shards),
            **self.volume._asdict(),
            "steps": list(self.steps),
            "estimated_seconds": round(self.estimate, 1),
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "moved": self.moved,
            "hot_znodes": None if znodes is None else sum(znodes),
        }


def _why_left(run: TableRun) -> tuple[str, str, str]:
    """Return gate, reason and remedy of the first partition in the old table, else of older inserts."""
    for report in run.reports:
        merged = merge_reports(report)
        for refusals in (merged.failed, merged.deferred):
            for partition, refusal in sorted(refusals.items()):
                reason = f"partition {partition} of {report.shard_path}: {refusal.reason}"
                return refusal.gate.value, reason, refusal.remedy
    unfinished = [each.unfinished for each in run.reports if each.unfinished]
    return "", unfinished[0] if unfinished else "the run did not reach the last step", _AGAIN


def former_tables(table: RootTable, twin: str) -> list[dict[str, str]]:
    """Return the DROP statement of the old table for each replica. ``twin``: the name of twins."""
    drops = []
    for shard in table.shards:
        for each in shard.replicas:
            # Both tables of a replica are in one database.
            database = each.home.database
            name = each.name.removeprefix(f"{database}.")
            former = f"{identifier(database)}.{identifier(twin.replace(TABLE, name))}"
            drops.append(
                {
                    "table": table.name,
                    "shard_path": shard.shard_path,
                    "replica": each.replica,
                    "server": each.server,
                    "statement": f"DROP TABLE {former} SYNC",
                }
            )
    return drops
