# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of twin_move, from the reports of many shard paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .._partmove.text import count_of
from .._partmove.twin.move.hot_znodes import HotZnodes
from .._partmove.twin.move.readers import ReadersSeen
from .._partmove.twin.move.report import MovedTwin, TwinReport
from .move_tally import PartitionTally

_Value = TypeVar("_Value")


class TwinTally(PartitionTally[TwinReport]):
    """Adds up reports. Callers add reports sorted by shard path, so that every list is sorted."""

    kinds = ("moved", "deferred", "failed", "unchanged", "other_state")
    more_lists = ("left_behind", "forgotten_inserts", "finished", "unfinished")

    def __init__(self, max_listed: int) -> None:
        super().__init__(max_listed)
        self._longest = 0.0
        self._statements: list[str] = []
        self._readers: dict[str, ReadersSeen] = {}
        self._hot_znodes: dict[str, HotZnodes] = {}

    def add(self, report: TwinReport) -> None:
        """Add the outcomes of one memory batch of a shard path."""
        path = report.shard_path
        for _partition, moved in sorted(report.moved.items()):
            self._add_moved(path, moved)
        self._add_not_moved(report)
        for _partition, finished in sorted(report.finished.items()):
            state = finished.destination.value.upper()
            self._list("finished", path, finished.partition, state=state, undone=finished.undone)
        for partition, refusal in sorted(report.unfinished.items()):
            self._list("unfinished", path, partition, **refusal.as_result())
        self._add_statements(report.statements)
        self._add_readers({path: report.readers})
        if report.hot_znodes is not None:
            self._add_hot_znodes({path: report.hot_znodes})

    def _summary_of_more(self, check_mode: bool) -> str:
        finished, unfinished = self._counts["finished"], self._counts["unfinished"]
        done = "would be finished" if check_mode else "finished"
        texts = [f"{count_of(finished, 'record')} of earlier runs {done}, " if finished else ""]
        texts += [f"{count_of(unfinished, 'record')} of earlier runs left, " if unfinished else ""]
        return "".join(texts)

    def _merge_diff(self, other: TwinTally, kept: dict[str, int]) -> None:
        del kept
        self._longest = max(self._longest, other._longest)
        self._add_statements(other._statements)
        self._add_readers(other._readers)
        self._add_hot_znodes(other._hot_znodes)

    def _add_statements(self, statements: Sequence[str]) -> None:
        room = 2 * self._max_listed - len(self._statements)
        self._statements.extend(statements[: max(0, room)])

    def _add_readers(self, seen: Mapping[str, ReadersSeen]) -> None:
        """Keep what is said of each shard path by its last batch with a move, of as many as are listed."""
        for path, each in seen.items():
            if each != ReadersSeen():
                self._keep(self._readers, path, each)

    def _add_hot_znodes(self, counted: Mapping[str, HotZnodes]) -> None:
        """Keep the counts after the last batch of each shard path, of as many as are listed."""
        for path, each in counted.items():
            self._keep(self._hot_znodes, path, each)

    def _keep(self, kept: dict[str, _Value], path: str, value: _Value) -> None:
        if path in kept or len(kept) < self._max_listed:
            kept[path] = value

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
            "readers": [
                {"shard_path": path, **each._asdict(), "tables": list(each.tables)}
                for path, each in self._readers.items()
            ],
            "hot_znodes": [{"shard_path": path, **each._asdict()} for path, each in self._hot_znodes.items()],
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
        if moved.forgotten_inserts:
            self._list("forgotten_inserts", path, moved.partition, inserts=moved.forgotten_inserts)
