# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a module that moves partitions is asked for: by a plan, by a list of partitions, or by shard paths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """What there is to do, sorted; the rows of a plan file are read when their turn comes."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        path, partitions = params["plan"], params["partitions"]
        self._state = State.named(params["state"])
        self._whole = sorted({check_shard_path(each) for each in params["shard_paths"] or ()})
        self._plan: Plan | None = None
        self._counts: Mapping[str, Counter[State]]
        self._read: Callable[[str], Sequence[PlanRow]]
        self._partitions: Callable[[str, State], list[str]]
        if path is not None:
            self._plan = plan = read_plan(path)
            self._name = f"{path}, rows_digest {plan.header.rows_digest}"
            self._counts, self._read, self._partitions = plan.counts, plan.read, plan.partitions
        else:
            self._name = "a list of shard paths" if self._whole else "a list of partitions"
            rows = rows_from_list(partitions or (), self._state)
            listed = {each: tuple(group) for each, group in groupby(rows, key=lambda row: row.shard_path)}
            self._counts = {each: Counter(row.state for row in group) for each, group in listed.items()}
            self._read = listed.__getitem__
            self._partitions = lambda path, state: [
                row.partition for row in listed[path] if row.state is state
            ]
        self._keep(params["share"])

    def _keep(self, share: str) -> None:
        """Leave out what is not of the share. Raises PartMoveError for one that cannot be."""
        match = _SHARE.fullmatch(share)
        number, of = map(int, match.groups()) if match else (1, 0)
        if number > of:
            raise PartMoveError(
                f"share is {share!r}", remedy="Give a number and how many there are, such as 2/4"
            )
        if of > 1:
            # By their order, so that the shards of a table, which are much alike, go to different shares.
            ours = frozenset(sorted({*self._whole, *self._counts})[number - 1 :: of])
            self._whole = [each for each in self._whole if each in ours]
            self._counts = {each: counts for each, counts in self._counts.items() if each in ours}
            self._name += f", share {share}"

    @property
    def whole(self) -> Sequence[str]:
        """The shard paths that were given by name, without partitions."""
        return self._whole

    def check_cluster(self, hot: ZnodeReader) -> None:
        """Raise PlanError for a plan of another cluster; what is given by name is of this one."""
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))

    def survey(self) -> tuple[list[str], int]:
        """The shard paths with something to do, and how many partitions that are, as far as it is known."""
        wanted = {each: counts[self._state] for each, counts in self._counts.items() if counts[self._state]}
        return [*self._whole, *wanted], sum(wanted.values())

    def sizes(self) -> list[int]:
        """How many partitions each shard path has to be worked on, as far as that is known; else 1."""
        planned = [counts[self._state] for counts in self._counts.values() if counts[self._state]]
        return [*(1 for _each in self._whole), *planned]

    def event(self) -> dict[str, object]:
        """What a journal keeps of it. Nobody knows yet how many partitions whole shard paths have."""
        shard_paths, partitions = self.survey()
        known = {} if self._whole else {"partitions": partitions}
        return {"state": self._state.value, "work": self._name, "shard_paths": len(shard_paths), **known}

    def by_shard_path(self) -> Iterator[tuple[str, list[str] | None]]:
        """Each shard path with the partitions that are to get the state; None for all that there are."""
        for shard_path in self._whole:
            yield shard_path, None
        for shard_path, counts in self._counts.items():
            if counts[self._state]:
                # Not in a variable here, which would keep all that the plan says while they are worked on.
                yield shard_path, self._partitions(shard_path, self._state)

    def other_rows(self) -> Iterator[PlanRow]:
        """The rows that want another state."""
        for shard_path, counts in self._counts.items():
            if sum(counts.values()) > counts[self._state]:
                yield from (row for row in self._read(shard_path) if row.state is not self._state)
