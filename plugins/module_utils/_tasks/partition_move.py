# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of partition_move: carries out a plan by SQL, between tables and their cold twins."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from .._partmove.tree.pace import Pace
from .._partmove.tree.ports import Clock, Journal, ZnodeReader, ZnodeStore
from .._partmove.twin.partition import TwinOptions
from .._partmove.twin.report import TwinReport
from .._partmove.twin.run import TwinRun, TwinWorld
from .._partmove.twin.servers import Side
from .journal_file import told_run
from .pacing import PaceOptions
from .partition_move_result import TwinTally
from .progress import Progress
from .resources import LockOptions, Resources
from .workers import work_in_order, workers_for
from .worlds import Worlds


class MovePartitions:
    """Implements Task for partition_move."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        given = {name: value for name, value in params["clickhouse"].items() if value is not None}
        self._servers = HttpTwinServers(ClickHouseOptions(**given), params["twin"])
        self._locks = LockOptions.of(params)
        self._state = State.named(params["state"])
        self._destination = Side.COLD if self._state is State.COLD else Side.HOT
        min_age = float(parse_duration(params["min_age"], "min_age"))
        self._options = TwinOptions(min_age, params["stop_merges"], params["checksums"])
        self._pace = PaceOptions.of(params)
        self._workers = params["workers"]
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
        progress = resources.open_progress("partitions", "parts")
        progress.expect(self._work.expected)
        # Nobody but the servers speaks with the auxiliary ensemble.
        pace = resources.open_pace(self._pace, progress.announce, ensembles=("hot",))
        workers = workers_for(self._workers, self._work.sizes())
        ending = threading.Event()
        worlds = Worlds([hot], partial(self._world, journal, pace), ending if workers > 1 else None)
        shard_paths = self._work.shard_paths
        self._tally.expected = self._work.expected
        for row in self._work.other_rows():
            self._tally.add_other_state(row)

        def take(done: _Done) -> None:
            self._take(journal, done)
            summary = self._tally.summary(self._check_mode)
            progress.add(done.partitions, 0, f"{summary}, done with {done.report.shard_path}")

        work = {"state": self._state.value, "work": self._work.name, "shard_paths": len(shard_paths)}
        with told_run(journal, "partition_move", (hot, None), work, lambda: self.result()["counts"]):
            # Here, as a plan file is read by one thread only.
            jobs = ((path, self._work.partitions(path)) for path in shard_paths)
            work_in_order(jobs, partial(self._move, worlds, progress), take, workers=workers, ending=ending)

    def _world(self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock) -> TwinWorld:
        (hot,) = stores
        keeper = self._locks.keeper("partition_move", hot, None, clock)
        return TwinWorld(hot, clock, journal, keeper, self._servers, pace, self._check_mode)

    def _move(
        self, worlds: Worlds[TwinWorld], progress: Progress, job: tuple[str, list[str] | None]
    ) -> _Done:
        """Work on one shard path; what that ends with is in the answer."""
        shard_path, partitions = job
        done = _Done(TwinReport(shard_path))
        try:
            with worlds.one() as world:
                self._carry_out(world, progress, done, partitions)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the report is taken
            done.error = error
        return done

    def _carry_out(
        self, world: TwinWorld, progress: Progress, done: _Done, partitions: list[str] | None
    ) -> None:
        report = done.report
        run = TwinRun(world, self._destination, self._options, report)
        if partitions is None:
            partitions = run.find()
            done.found = len(partitions)
            progress.expect(done.found)
        done.partitions = len(partitions)
        try:
            run.carry_out(partitions)
        except NoSuchTable as error:
            # A table may be dropped after the plan was made.
            refusal = Refusal(GateName.PARTITION_EXISTS, error.message, error.remedy)
            report.deferred.update(dict.fromkeys(report.open(partitions), refusal))

    def _take(self, journal: Journal, done: _Done) -> None:
        """Add up what was done; raise what that ended with."""
        try:
            if done.error is not None:
                raise done.error
        finally:
            self._tally.expected += done.found
            self._tally.add(done.report)
            done.report.record_refusals(journal)


@dataclass
class _Done:
    """What became of a shard path."""

    report: TwinReport
    found: int = 0
    """How many partitions were found to be moved, where a whole shard path was given."""
    partitions: int = 0
    """How many partitions there are to move, found or given."""
    error: BaseException | None = None
    """What ended the run."""


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
        self._wanted = wanted
        self.shard_paths = [*self._whole, *wanted]
        self.expected = sum(wanted.values())

    def sizes(self) -> list[int]:
        """How many partitions each shard path has to be worked on, as far as that is known; else 1."""
        return [*(1 for _each in self._whole), *self._wanted.values()]

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
