# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of partition_move: carries out a plan by SQL, between tables and their cold twins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_servers import HttpTwinServers
from .._partmove.errors import NoSuchTable
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.state import State
from .._partmove.gates.gate import Refusal
from .._partmove.gates.names import GateName
from .._partmove.plan.file import Plan, PlanRow, read_plan, rows_from_list
from .._partmove.plan.origin import check_origin
from .._partmove.text import parse_duration
from .._partmove.tree.ports import ZnodeReader
from .._partmove.twin.report import TwinReport
from .._partmove.twin.run import TwinRun, TwinWorld
from .._partmove.twin.servers import Side
from .journal_file import told_run
from .partition_move_result import TwinTally
from .progress import Progress
from .resources import LockOptions, Resources


class MovePartitions:
    """Implements Task for partition_move."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        given = {name: value for name, value in params["clickhouse"].items() if value is not None}
        self._servers = HttpTwinServers(ClickHouseOptions(**given), params["twin"])
        self._locks = LockOptions.of(params)
        self._state = State.named(params["state"])
        self._destination = Side.COLD if self._state is State.COLD else Side.HOT
        self._min_age = float(parse_duration(params["min_age"], "min_age"))
        self._work = _Work(params, self._state)
        self._tally = TwinTally(params["max_listed"])
        self._check_mode = False

    @property
    def failure(self) -> str:
        """About the first partition that a person has to look at."""
        return self._tally.failure

    def result(self) -> dict[str, Any]:
        """What was done so far, as the module returns it."""
        return self._tally.result(check_mode=self._check_mode)

    def run(self, resources: Resources) -> None:
        """Go on shard path by shard path; in check mode only look."""
        self._check_mode = resources.check_mode
        hot = resources.open_ensemble("hot")
        self._work.check_cluster(hot)
        journal = resources.open_journal()
        keeper = self._locks.keeper("partition_move", hot, None, resources.clock)
        world = TwinWorld(hot, resources.clock, journal, keeper, self._servers, resources.check_mode)
        progress = resources.open_progress("partitions", "parts")
        progress.expect(self._work.expected)
        shard_paths = self._work.shard_paths
        self._tally.expected = self._work.expected
        for row in self._work.other_rows():
            self._tally.add_other_state(row)
        work = {"state": self._state.value, "work": self._work.name, "shard_paths": len(shard_paths)}
        with told_run(journal, "partition_move", (hot, None), work, lambda: self.result()["counts"]):
            for shard_path in shard_paths:
                partitions = self._move(world, shard_path, progress)
                summary = self._tally.summary(self._check_mode)
                progress.add(partitions, 0, f"{summary}, done with {shard_path}")

    def _move(self, world: TwinWorld, shard_path: str, progress: Progress) -> int:
        """Returns how many partitions there were."""
        report = TwinReport(shard_path)
        run = TwinRun(world, self._destination, self._min_age, report)
        try:
            partitions = self._work.partitions(shard_path)
            if partitions is None:
                partitions = run.find()
                self._tally.expected += len(partitions)
                progress.expect(len(partitions))
            try:
                run.carry_out(partitions)
            except NoSuchTable as error:
                # A table may be dropped after the plan was made.
                refusal = Refusal(GateName.PARTITION_EXISTS, error.message, error.remedy)
                report.deferred.update(dict.fromkeys(report.open(partitions), refusal))
            return len(partitions)
        finally:
            self._tally.add(report)
            report.record_refusals(world.journal)


class _Work:
    """What there is to do, sorted; the rows of a plan file are read when their turn comes."""

    def __init__(self, params: Mapping[str, Any], state: State) -> None:
        self._state = state
        self._plan: Plan | None = None
        self._listed: dict[str, list[PlanRow]] = {}
        self._whole = sorted({check_shard_path(each) for each in params["shard_paths"] or ()})
        if params["plan"] is not None:
            self._plan = plan = read_plan(params["plan"])
            self.name = f"{params['plan']}, rows_digest {plan.header.rows_digest}"
            wanted = {path: counts[state] for path, counts in plan.counts.items() if counts[state]}
        else:
            self.name = "a list of shard paths" if self._whole else "a list of partitions"
            rows = rows_from_list(params["partitions"] or (), state)
            self._listed = {
                path: list(group) for path, group in groupby(rows, key=lambda row: row.shard_path)
            }
            wanted = {path: len(group) for path, group in self._listed.items()}
        self.shard_paths = [*self._whole, *wanted]
        self.expected = sum(wanted.values())

    def check_cluster(self, hot: ZnodeReader) -> None:
        """Raise PlanError for a plan of another cluster; what is given by name is of this one."""
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))

    def partitions(self, shard_path: str) -> list[str] | None:
        """The partitions of a shard path that are to be moved; None for all that there are."""
        if shard_path in self._whole:
            return None
        rows: Sequence[PlanRow] = (
            self._listed[shard_path] if self._plan is None else self._plan.read(shard_path)
        )
        return [row.partition for row in rows if row.state is self._state]

    def other_rows(self) -> Iterator[PlanRow]:
        """The rows of a plan that want another state."""
        if self._plan is None:
            return
        for shard_path, counts in self._plan.counts.items():
            if sum(counts.values()) > counts[self._state]:
                yield from (row for row in self._plan.read(shard_path) if row.state is not self._state)
