# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of part_move, from the reports of many shard paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from .._partmove.formats.state import State
from .._partmove.patched.move.report import MovedPartition, PatchedReport
from .._partmove.text import count_of
from .move_tally import PartitionTally


class _Change(NamedTuple):
    """A listed row in the diff."""

    kind: str
    shard_path: str
    before: str
    after: str


class PatchedTally(PartitionTally[PatchedReport]):
    """Adds up reports of part_move."""

    kinds = ("moved", "copies_removed", "deferred", "failed", "unchanged", "other_state")

    def __init__(self, max_listed: int) -> None:
        super().__init__(max_listed)
        self._diff: list[_Change] = []
        """Each listed row with a diff, sorted by shard path."""
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
                lines = f"{name}: copies in cold\n", f"{name}: no copies in cold\n"
                self._diff.append(_Change("copies_removed", path, *lines))
        self._add_not_moved(report)

    def _merge_diff(self, other: PatchedTally, kept: dict[str, int]) -> None:
        if other._bound:
            self._bound = sorted([*self._bound, *other._bound])
        new = _first_of_each_kind(other._diff, kept)
        if not new or not self._diff or self._diff[-1].shard_path <= new[0].shard_path:
            self._diff += new
            return
        listed = {kind: len(rows) for kind, rows in self._lists.items()}
        changes = sorted([*self._diff, *new], key=attrgetter("shard_path"))
        self._diff = _first_of_each_kind(changes, listed)

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
                "before": self._diff_text([each.before for each in self._diff]),
                "after": self._diff_text([each.after for each in self._diff]),
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
                _Change(
                    "moved",
                    path,
                    f"{name}: State {before or 'absent'}, {in_hot[0]}\n",
                    f"{name}: State {after}, {in_hot[1]}\n",
                )
            )

    def _diff_text(self, lines: list[str]) -> str:
        unlisted = self._counts["moved"] + self._counts["copies_removed"] - len(lines)
        if unlisted:
            lines.append(f"and {unlisted} more\n")
        return "".join(lines)


def _first_of_each_kind(changes: Iterable[_Change], most: Mapping[str, int]) -> list[_Change]:
    """Return the first changes of each kind, in order. ``most``: kind → number of its listed rows."""
    left = dict(most)
    found = []
    for each in changes:
        # The diff has the order of the rows, and only listed rows have a diff.
        if left[each.kind] > 0:
            left[each.kind] -= 1
            found.append(each)
    return found
