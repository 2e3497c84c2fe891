# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of part_move, from the reports of many shard paths."""

from __future__ import annotations

from typing import Any

from .._partmove.formats.state import State
from .._partmove.patched.move.report import MovedPartition, PatchedReport
from .._partmove.text import count_of
from .move_tally import PartitionTally


class PatchedTally(PartitionTally[PatchedReport]):
    """Adds up reports. Callers add reports sorted by shard path, so that every list is sorted."""

    kinds = ("moved", "copies_removed", "deferred", "failed", "unchanged", "other_state")

    def __init__(self, max_listed: int) -> None:
        super().__init__(max_listed)
        self._diff: list[tuple[str, str, str]] = []
        """For each listed row with a diff: the outcome, the line before and the line after."""
        self._bound: list[str] = []
        """The shard paths that the run bound, sorted."""

    def add(self, report: PatchedReport) -> None:
        """Add the outcomes of one memory batch of a shard path."""
        path = report.shard_path
        if report.is_bound_now and path not in self._bound[-1:]:
            self._bound.append(path)
        for _partition, moved in sorted(report.moved.items()):
            self._add_moved(path, moved)
        for partition in sorted(report.copies_removed):
            if self._list("copies_removed", path, partition):
                name = f"{path} {partition}"
                self._diff.append(
                    ("copies_removed", f"{name}: copies in cold\n", f"{name}: no copies in cold\n")
                )
        self._add_not_moved(report)

    def _merge_diff(self, other: PatchedTally, room: dict[str, int]) -> None:
        self._bound += other._bound
        for each in other._diff:
            # The diff has the order of the rows, and only listed rows have a diff.
            if room[each[0]] > 0:
                room[each[0]] -= 1
                self._diff.append(each)

    def _summary_of_more(self, check_mode: bool) -> str:
        removed = self._counts["copies_removed"]
        return f"copies of {removed}{' would be' if check_mode else ''} removed, " if removed else ""

    def result(self, *, check_mode: bool, seconds: float) -> dict[str, Any]:
        """Return the values of the module, with the diff."""
        return self._common_result(check_mode=check_mode) | {
            "totals": {
                "parts": self._totals["parts"],
                "znodes": self._totals["znodes"],
                "bytes": self._totals["bytes"],
                "seconds": round(seconds, 3),
            },
            "bound": self._bound[: self._max_listed],
            "diff": {
                "before": self._diff_text(0),
                "after": self._diff_text(1),
            },
        }

    def _add_moved(self, path: str, moved: MovedPartition) -> None:
        partition, before, after, parts, znodes, data_bytes = moved
        listed = self._list(
            "moved",
            path,
            partition,
            state_before=before,
            state=after,
            parts=parts,
            znodes=znodes,
            bytes=data_bytes,
        )
        self._totals.update({"parts": parts, "znodes": znodes, "bytes": data_bytes})
        if listed:
            name = f"{path} {partition}"
            counted = count_of(parts, "part")
            in_hot = (f"{counted} in hot", f"0 parts in hot, {counted} in cold")
            if after != State.COLD.value:
                in_hot = (f"{counted} in cold only", f"{counted} in hot and in cold")
            self._diff.append(
                (
                    "moved",
                    f"{name}: State {before or 'absent'}, {in_hot[0]}\n",
                    f"{name}: State {after}, {in_hot[1]}\n",
                )
            )

    def _diff_text(self, side: int) -> str:
        lines = [each[1 + side] for each in self._diff]
        unlisted = self._counts["moved"] + self._counts["copies_removed"] - len(lines)
        if unlisted:
            lines.append(f"and {unlisted} more\n")
        return "".join(lines)
