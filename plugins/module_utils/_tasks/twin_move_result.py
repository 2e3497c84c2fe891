# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of twin_move, from the reports of many shard paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._partmove.twin.move.report import MovedTwin, TwinReport
from .move_tally import PartitionTally


class TwinTally(PartitionTally[TwinReport]):
    """Adds up reports. Callers add reports sorted by shard path, so that every list is sorted."""

    kinds = ("moved", "deferred", "failed", "unchanged", "other_state")
    more_lists = ("left_behind",)

    def __init__(self, max_listed: int) -> None:
        super().__init__(max_listed)
        self._longest = 0.0
        self._statements: list[str] = []

    def add(self, report: TwinReport) -> None:
        """Add the outcomes of one memory batch of a shard path."""
        path = report.shard_path
        for _partition, moved in sorted(report.moved.items()):
            self._add_moved(path, moved)
        self._add_not_moved(report)
        self._add_statements(report.statements)

    def _merge_diff(self, other: TwinTally, room: dict[str, int]) -> None:
        self._longest = max(self._longest, other._longest)
        self._add_statements(other._statements)

    def _add_statements(self, statements: Sequence[str]) -> None:
        room = 2 * self._max_listed - len(self._statements)
        self._statements.extend(statements[: max(0, room)])

    def result(self, *, check_mode: bool, seconds: float) -> dict[str, Any]:
        """Return the values of the module; in check mode ``diff`` has the statements."""
        return self._common_result(check_mode=check_mode) | {
            "totals": {
                "parts": self._totals["parts"],
                "rows": self._totals["rows"],
                "bytes": self._totals["bytes"],
                "seconds": round(seconds, 3),
                "seen_twice_seconds_most": round(self._longest, 3),
            },
            "diff": {"before": "", "after": "".join(f"{each}\n" for each in self._statements)},
        }

    def _add_moved(self, path: str, moved: MovedTwin) -> None:
        seconds = moved.seen_twice_seconds
        self._list(
            "moved",
            path,
            moved.partition,
            parts=moved.parts,
            rows=moved.rows,
            bytes=moved.bytes_on_disk,
            seen_twice_seconds=None if seconds is None else round(seconds, 3),
        )
        self._totals.update({"parts": moved.parts, "rows": moved.rows, "bytes": moved.bytes_on_disk})
        self._longest = max(self._longest, seconds or 0.0)
        if moved.left_behind:
            self._list("left_behind", path, moved.partition, parts=list(moved.left_behind))
