# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of the modules that move partitions: complete counts, and lists of limited length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from .._partmove.gates.gate import Refusal
from .._partmove.plan.file import PlanRow
from .._partmove.run.report import RunReport
from .._partmove.text import count_of

_Report = TypeVar("_Report", bound=RunReport[Any])
_Self = TypeVar("_Self", bound="PartitionTally[Any]")


class PartitionTally(ABC, Generic[_Report]):
    """Adds up reports. Callers add reports sorted by shard path, and tallies in any order.

    Every list is sorted by shard path.
    """

    kinds: Sequence[str]
    """Possible outcomes of a partition, in the order of the counts."""
    more_lists: Sequence[str] = ()
    """Names of lists in addition to the outcomes."""

    def __init__(self, max_listed: int) -> None:
        self._max_listed = max_listed
        self._counts: Counter[str] = Counter()
        self._lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in (*self.kinds, *self.more_lists)}
        self._totals: Counter[str] = Counter()
        self._gates: dict[str, dict[str, Any]] = {}
        self._gate_paths: dict[str, str] = {}
        """For each gate the shard path that its remedy is from."""
        self._first_failure = ""
        self._failed_path = ""
        """The shard path of the first failure."""
        self._ended_holds: list[dict[str, Any]] = []
        self._is_changed = False
        self.expected = 0
        """Number of partitions that the run has to process."""

    def add_other_state(self, row: PlanRow) -> None:
        """Add a row of the plan that requests the other state."""
        self._list("other_state", row.shard_path, row.partition, state=row.state.value)

    @property
    def failure(self) -> str:
        """A sentence about the failed partitions; empty without any."""
        failed = self._counts["failed"]
        if not failed:
            return ""
        return f"{count_of(failed, 'partition')} failed, the first is {self._first_failure}."

    def deferred_by(self, gates: Collection[str]) -> str:
        """Return a sentence about the partitions that one of these gates deferred; empty without any."""
        closed = [gate for name, gate in sorted(self._gates.items()) if name in gates and gate["deferred"]]
        if not closed:
            return ""
        counts = ", ".join(f"{gate['deferred']} by {gate['gate']}" for gate in closed)
        return f"Partitions were deferred by gates of fail_when_deferred_by: {counts}. {closed[0]['remedy']}."

    def summary(self, check_mode: bool) -> str:
        """Return the counts in words, for the message of the module."""
        counts = self._counts
        moved = "would be moved" if check_mode else "moved"
        return (
            f"{counts['moved']} {moved}, {self._summary_of_more(check_mode)}{counts['deferred']} deferred,"
            f" {counts['failed']} failed, {counts['unchanged']} unchanged"
        )

    def _summary_of_more(self, check_mode: bool) -> str:
        """Return further counts in words, with a comma and a blank at the end."""
        return ""

    @abstractmethod
    def add(self, report: _Report) -> None:
        """Add the outcomes of one memory batch of a shard path."""

    @abstractmethod
    def result(self, *, check_mode: bool, seconds: float) -> dict[str, Any]:
        """Return the values of the module, with the diff. ``seconds``: duration of the run."""

    def merge(self: _Self, other: _Self) -> None:
        """Add another tally, of other shard paths. The result does not depend on the order of calls."""
        self._is_changed |= other._is_changed
        self._counts.update(other._counts)
        self._totals.update(other._totals)
        kept = {
            kind: merge_rows(self._lists[kind], rows, self._max_listed) for kind, rows in other._lists.items()
        }
        self._merge_diff(other, kept)
        for name, gate in other._gates.items():
            own = self._gates.setdefault(name, {**gate, "deferred": 0, "failed": 0})
            for kind in ("deferred", "failed"):
                own[kind] += gate[kind]
            path = other._gate_paths[name]
            if path <= self._gate_paths.setdefault(name, path):
                own["remedy"], self._gate_paths[name] = gate["remedy"], path
        is_first = not self._first_failure or other._failed_path < self._failed_path
        if other._first_failure and is_first:
            self._first_failure, self._failed_path = other._first_failure, other._failed_path
        merge_rows(self._ended_holds, other._ended_holds)

    @abstractmethod
    def _merge_diff(self: _Self, other: _Self, kept: dict[str, int]) -> None:
        """Add the diff of another tally. ``kept``: kind → how many rows of the other one are listed now."""

    def _add_not_moved(self, report: _Report) -> None:
        """Add the unchanged, deferred and failed partitions, with their reasons."""
        path = report.shard_path
        self._is_changed |= report.is_changed
        if report.ended_hold is not None:
            self._ended_holds.append({"shard_path": path, **report.ended_hold.as_result()})
        for partition in sorted(report.unchanged):
            self._list("unchanged", path, partition)
        for kind, refusals in (("deferred", report.deferred), ("failed", report.failed)):
            for partition, refusal in sorted(refusals.items()):
                self._list(kind, path, partition, **refusal.as_result())
                self._count_gate(kind, refusal, path)
        if report.failed and not self._first_failure:
            partition, refusal = min(report.failed.items())
            self._failed_path = path
            self._first_failure = f"partition {partition} of {path}: {refusal.reason}. {refusal.remedy}"

    def _common_result(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the values that both modules share."""
        counts = {kind: self._counts[kind] for kind in self.kinds}
        processed = sum(counts.values()) - counts["other_state"]
        # Ansible reads a value named "failed" as the failure of the module itself.
        lists = {
            "failed_partitions" if kind == "failed" else kind: rows for kind, rows in self._lists.items()
        }
        return {
            "changed": self._is_changed,
            "msg": self.summary(check_mode),
            "counts": counts | {"not_reached": self.expected - processed},
            "gates": [self._gates[name] for name in sorted(self._gates)],
            "ended_holds": self._ended_holds,
            **lists,
        }

    def _list(self, kind: str, path: str, partition: str, **more: object) -> bool:
        """Count the partition, and list it unless the list is full."""
        self._counts[kind] += 1
        if len(self._lists[kind]) >= self._max_listed:
            return False
        self._lists[kind].append({"shard_path": path, "partition": partition, **more})
        return True

    def _count_gate(self, kind: str, refusal: Refusal, path: str) -> None:
        name = refusal.gate.value
        new = {"gate": name, "deferred": 0, "failed": 0, "remedy": refusal.remedy}
        self._gates.setdefault(name, new)[kind] += 1
        self._gate_paths.setdefault(name, path)


def merge_rows(rows: list[dict[str, Any]], more: list[dict[str, Any]], most: int | None = None) -> int:
    """Merge rows of other shard paths into the rows, and cut off all after the first ``most``.

    All rows are sorted by their ``shard_path``. Returns how many of ``more`` are left.
    """
    if not rows or not more or rows[-1]["shard_path"] <= more[0]["shard_path"]:
        kept = more if most is None else more[: max(0, most - len(rows))]
        rows += kept
        return len(kept)
    rows[:] = sorted([*rows, *more], key=itemgetter("shard_path"))[:most]
    ours = {id(each) for each in more}
    return sum(id(each) in ours for each in rows)
