# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What partition_move answers: the reports of shard paths as counts, and lists of a bounded length."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._partmove.gates.gate import Refusal
from .._partmove.plan.file import PlanRow
from .._partmove.twin.report import MovedTwin, TwinReport

_KINDS = ("moved", "deferred", "failed", "unchanged", "other_state")


class TwinTally:
    """Adds up reports that come sorted by shard path, so that every list is sorted."""

    def __init__(self, max_listed: int) -> None:
        self._max_listed = max_listed
        self._counts: Counter[str] = Counter()
        self._lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in (*_KINDS, "left_behind")}
        self._totals: Counter[str] = Counter()
        self._longest = 0.0
        self._gates: dict[str, dict[str, Any]] = {}
        self._statements: list[str] = []
        self._first_failure = ""
        self._is_changed = False
        self.expected = 0
        """How many partitions the run is to deal with."""

    def add(self, report: TwinReport) -> None:
        """Add what was done to the partitions of one shard path."""
        path = report.shard_path
        self._is_changed |= report.is_changed
        for _partition, moved in sorted(report.moved.items()):
            self._add_moved(path, moved)
        for partition in sorted(report.unchanged):
            self._list("unchanged", path, partition)
        for kind, refusals in (("deferred", report.deferred), ("failed", report.failed)):
            for partition, refusal in sorted(refusals.items()):
                self._list(kind, path, partition, **refusal.told())
                self._count_gate(kind, refusal)
        room = 2 * self._max_listed - len(self._statements)
        self._statements.extend(report.statements[: max(0, room)])
        if report.failed and not self._first_failure:
            partition, refusal = min(report.failed.items())
            self._first_failure = f"partition {partition} of {path}: {refusal.reason}. {refusal.remedy}"

    def add_other_state(self, row: PlanRow) -> None:
        """Add a partition that the plan wants in the other table than this run."""
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
        counts, moved = self._counts, "would be moved" if check_mode else "moved"
        return (
            f"{counts['moved']} {moved}, {counts['deferred']} deferred, {counts['failed']} failed,"
            f" {counts['unchanged']} unchanged"
        )

    def result(self, *, check_mode: bool) -> dict[str, Any]:
        """The values that the module returns; with the statements as a diff in check mode."""
        counts = {kind: self._counts[kind] for kind in _KINDS}
        dealt_with = sum(counts.values()) - counts["other_state"]
        return {
            "changed": self._is_changed,
            "msg": self.summary(check_mode),
            "counts": counts | {"not_reached": self.expected - dealt_with},
            "gates": [self._gates[name] for name in sorted(self._gates)],
            "totals": {
                "parts": self._totals["parts"],
                "rows": self._totals["rows"],
                "bytes": self._totals["bytes"],
                "seen_twice_seconds_most": round(self._longest, 3),
            },
            "moved": self._lists["moved"],
            "left_behind": self._lists["left_behind"],
            "deferred": self._lists["deferred"],
            "failed_partitions": self._lists["failed"],
            "unchanged": self._lists["unchanged"],
            "other_state": self._lists["other_state"],
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

    def _list(self, kind: str, path: str, partition: str, **more: object) -> None:
        """Count the partition, and list it unless the list is full."""
        self._counts[kind] += 1
        if len(self._lists[kind]) < self._max_listed:
            self._lists[kind].append({"shard_path": path, "partition": partition, **more})

    def _count_gate(self, kind: str, refusal: Refusal) -> None:
        name = refusal.gate.value
        new = {"gate": name, "deferred": 0, "failed": 0, "remedy": refusal.remedy}
        self._gates.setdefault(name, new)[kind] += 1
