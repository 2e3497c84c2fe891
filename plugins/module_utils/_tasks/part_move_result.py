# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What part_move answers: the reports of many shard paths as counts, and lists of a bounded length."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._partmove.formats.state import State
from .._partmove.gates.gate import Refusal
from .._partmove.move.report import MovedPartition, ShardReport
from .._partmove.plan.file import PlanRow

_KINDS = ("moved", "copies_removed", "deferred", "failed", "unchanged", "other_state")


class MoveTally:
    """Adds up shard reports that come sorted by shard path, so that every list is sorted."""

    def __init__(self, max_listed: int) -> None:
        self._max_listed = max_listed
        self._counts: Counter[str] = Counter()
        self._lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
        self._totals: Counter[str] = Counter()
        self._gates: dict[str, dict[str, Any]] = {}
        self._diff: list[tuple[str, str, str]] = []
        """Kind of each row that is listed and has a diff, and what was and is so of it."""
        self._first_failure = ""
        self._is_changed = False
        self.expected = 0
        """How many partitions the run is to deal with."""

    def add(self, report: ShardReport) -> None:
        """Add what was done to the partitions of one shard path."""
        path = report.shard_path
        self._is_changed |= report.is_changed
        for _partition, moved in sorted(report.moved.items()):
            self._add_moved(path, moved)
        for partition in sorted(report.copies_removed):
            if self._list("copies_removed", path, partition):
                name = f"{path} {partition}"
                self._diff.append(
                    ("copies_removed", f"{name}: copies in cold\n", f"{name}: no copies in cold\n")
                )
        for partition in sorted(report.unchanged):
            self._list("unchanged", path, partition)
        for kind, refusals in (("deferred", report.deferred), ("failed", report.failed)):
            for partition, refusal in sorted(refusals.items()):
                self._list(kind, path, partition, **refusal.told())
                self._count_gate(kind, refusal)
        if report.failed and not self._first_failure:
            partition, refusal = min(report.failed.items())
            self._first_failure = f"partition {partition} of {path}: {refusal.reason}. {refusal.remedy}"

    def merge(self, other: MoveTally) -> None:
        """Add what another one has added up, of shard paths that come after those of this one."""
        self._is_changed |= other._is_changed
        self._counts.update(other._counts)
        self._totals.update(other._totals)
        room = {kind: self._max_listed - len(rows) for kind, rows in self._lists.items()}
        for kind, rows in other._lists.items():
            self._lists[kind] += rows[: room[kind]]
        for each in other._diff:
            # In the order of the rows, so that the first ones are those that are listed.
            if room[each[0]] > 0:
                room[each[0]] -= 1
                self._diff.append(each)
        for name, gate in other._gates.items():
            mine = self._gates.setdefault(name, {**gate, "deferred": 0, "failed": 0})
            for kind in ("deferred", "failed"):
                mine[kind] += gate[kind]
        self._first_failure = self._first_failure or other._first_failure

    def add_other_state(self, row: PlanRow) -> None:
        """Add a partition that the plan wants in the other ensemble than this run."""
        self._list("other_state", row.shard_path, row.partition, state=row.state.value)

    @property
    def failure(self) -> str:
        """One sentence about the failed partitions; empty when there are none."""
        failed = self._counts["failed"]
        if not failed:
            return ""
        noun = "partition" if failed == 1 else "partitions"
        return f"{failed} {noun} failed, the first is {self._first_failure}."

    def summary(self, check_mode: bool) -> str:
        """The counts in words, for the message of the module."""
        moved = "would be moved" if check_mode else "moved"
        counts = self._counts
        removed = ""
        if counts["copies_removed"]:
            would = " would be" if check_mode else ""
            removed = f"copies of {counts['copies_removed']}{would} removed, "
        return (
            f"{counts['moved']} {moved}, {removed}{counts['deferred']} deferred, {counts['failed']} failed, "
            f"{counts['unchanged']} unchanged"
        )

    def result(self, *, check_mode: bool, seconds: float) -> dict[str, Any]:
        """The values that the module returns, with the diff."""
        counts = {kind: self._counts[kind] for kind in _KINDS}
        dealt_with = sum(counts.values()) - counts["other_state"]
        return {
            "changed": self._is_changed,
            "msg": self.summary(check_mode),
            "counts": counts | {"not_reached": self.expected - dealt_with},
            "gates": [self._gates[name] for name in sorted(self._gates)],
            "totals": {
                "parts": self._totals["parts"],
                "znodes": self._totals["znodes"],
                "bytes": self._totals["bytes"],
                "seconds": round(seconds, 3),
            },
            "moved": self._lists["moved"],
            "copies_removed": self._lists["copies_removed"],
            "deferred": self._lists["deferred"],
            "failed_partitions": self._lists["failed"],
            "unchanged": self._lists["unchanged"],
            "other_state": self._lists["other_state"],
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
            in_hot = (f"{parts} parts in hot", f"0 parts in hot, {parts} parts in cold")
            if after != State.COLD.value:
                in_hot = (f"{parts} parts in cold only", f"{parts} parts in hot and in cold")
            self._diff.append(
                (
                    "moved",
                    f"{name}: State {before or 'absent'}, {in_hot[0]}\n",
                    f"{name}: State {after}, {in_hot[1]}\n",
                )
            )

    def _list(self, kind: str, path: str, partition: str, **more: str | int) -> bool:
        """Count the partition, and list it unless the list is full."""
        self._counts[kind] += 1
        if len(self._lists[kind]) >= self._max_listed:
            return False
        self._lists[kind].append({"shard_path": path, "partition": partition, **more})
        return True

    def _count_gate(self, kind: str, refusal: Refusal) -> None:
        name = refusal.gate.value
        new = {"gate": name, "deferred": 0, "failed": 0, "remedy": refusal.remedy}
        self._gates.setdefault(name, new)[kind] += 1

    def _diff_text(self, side: int) -> str:
        lines = [each[1 + side] for each in self._diff]
        unlisted = self._counts["moved"] + self._counts["copies_removed"] - len(lines)
        if unlisted:
            lines.append(f"and {unlisted} more\n")
        return "".join(lines)
