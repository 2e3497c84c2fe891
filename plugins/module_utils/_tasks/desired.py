# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions that a module is asked to move: from a plan, a list of partitions, or shard paths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.state import State
from .._partmove.plan.file import Plan, PlanRow, read_plan, rows_from_list
from .._partmove.plan.origin import check_origin
from .._partmove.tree.ports import ZnodeReader

_SHARE = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")


class DesiredPartitions:
    """The requested partitions, sorted by shard path. Rows of a plan are read one shard path at a time."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        path, partitions = params["plan"], params["partitions"]
        self._state = State.named(params["state"])
        self._whole_shard_paths = sorted({check_shard_path(each) for each in params["shard_paths"] or ()})
        self._plan: Plan | None = None
        self._counts: Mapping[str, Counter[State]]
        self._read: Callable[[str], Sequence[PlanRow]]
        self._partitions: Callable[[str, State], list[str]]
        if path is not None:
            self._plan = plan = read_plan(path)
            self._name = f"{path}, rows_digest {plan.header.rows_digest}"
            self._counts, self._read, self._partitions = plan.counts, plan.read, plan.partitions
        else:
            self._name = "a list of shard paths" if self._whole_shard_paths else "a list of partitions"
            rows = rows_from_list(partitions or (), self._state)
            listed = {each: tuple(group) for each, group in groupby(rows, key=lambda row: row.shard_path)}
            self._counts = {each: Counter(row.state for row in group) for each, group in listed.items()}
            self._read = listed.__getitem__
            self._partitions = lambda path, state: [
                row.partition for row in listed[path] if row.state is state
            ]
        self._select_share(params["share"])

    def _select_share(self, share: str) -> None:
        """Keep only the shard paths of the share, such as 2/4. Raises PartMoveError for an invalid share."""
        match = _SHARE.fullmatch(share)
        number, of = map(int, match.groups()) if match else (1, 0)
        if number > of:
            raise PartMoveError(
                f"share is {share!r}",
                remedy="Give the number of this share and the number of shares, such as 2/4",
            )
        if of > 1:
            # Neighbours are shards of one table, about equally large: give each share some of them.
            self.keep(sorted({*self._whole_shard_paths, *self._counts})[number - 1 :: of])
            self._name += f", share {share}"

    def keep(self, shard_paths: Collection[str]) -> None:
        """Keep only these shard paths."""
        kept = frozenset(shard_paths)
        self._whole_shard_paths = [each for each in self._whole_shard_paths if each in kept]
        self._counts = {each: counts for each, counts in self._counts.items() if each in kept}

    @property
    def whole_shard_paths(self) -> Sequence[str]:
        """The shard paths that the option ``shard_paths`` names."""
        return self._whole_shard_paths

    def check_cluster(self, hot: ZnodeReader) -> None:
        """Raise PlanError if the plan was made for another cluster. Lists of names need no check."""
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))

    def tables(self) -> list[str]:
        """Return all shard paths, also those whose partitions all request the other state."""
        return sorted({*self._whole_shard_paths, *self._counts})

    def scope(self) -> tuple[list[str], int]:
        """Return the shard paths with partitions to move, and the known number of these partitions."""
        requested = {
            each: counts[self._state] for each, counts in self._counts.items() if counts[self._state]
        }
        return [*self._whole_shard_paths, *requested], sum(requested.values())

    def partition_counts(self) -> list[int]:
        """Return the number of partitions to move for each shard path; 1 if unknown."""
        planned = [counts[self._state] for counts in self._counts.values() if counts[self._state]]
        return [*(1 for _each in self._whole_shard_paths), *planned]

    def event(self) -> dict[str, object]:
        """Return the fields for the journal, without a count while partitions of shard paths are unknown."""
        shard_paths, partitions = self.scope()
        known = {} if self._whole_shard_paths else {"partitions": partitions}
        return {"state": self._state.value, "work": self._name, "shard_paths": len(shard_paths), **known}

    def by_shard_path(self) -> Iterator[tuple[str, list[str] | None]]:
        """Yield each shard path with the partitions to move, or with None for all its partitions."""
        for shard_path in self._whole_shard_paths:
            yield shard_path, None
        for shard_path, counts in self._counts.items():
            if counts[self._state]:
                # A local variable here would keep the partitions in memory while they are moved.
                yield shard_path, self._partitions(shard_path, self._state)

    def other_rows(self) -> Iterator[PlanRow]:
        """Yield the rows that request the other state."""
        for shard_path, counts in self._counts.items():
            if sum(counts.values()) > counts[self._state]:
                yield from (row for row in self._read(shard_path) if row.state is not self._state)
