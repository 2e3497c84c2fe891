# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_move: carries out a plan by SQL, between tables and their cold twins."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_servers import HttpTwinServers
from .._partmove.errors import NoSuchTable
from .._partmove.formats.state import State
from .._partmove.gates.gate import Refusal
from .._partmove.gates.names import GateName
from .._partmove.journal.port import Journal
from .._partmove.run.pace import Pace
from .._partmove.text import parse_duration
from .._partmove.tree.ports import Clock, ZnodeStore
from .._partmove.twin.move.partition import TwinOptions
from .._partmove.twin.move.report import TwinReport
from .._partmove.twin.move.run import TwinMoveContext, TwinRun
from .._partmove.twin.move.servers import Side
from .context_pool import ContextPool
from .desired import DesiredPartitions
from .journal_file import journalled_run
from .pacing import PaceOptions
from .progress import Progress
from .resources import LockOptions, Resources
from .twin_move_result import TwinTally
from .workers import work_in_order, workers_for


class TwinMove:
    """Implements Task for twin_move."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        self._servers = HttpTwinServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._locks = LockOptions.of(params)
        self._destination = Side.COLD if State.named(params["state"]) is State.COLD else Side.HOT
        min_age = float(parse_duration(params["min_age"], "min_age"))
        self._options = TwinOptions(min_age, params["stop_merges"], params["checksums"])
        self._pace = PaceOptions.of(params)
        self._workers = params["workers"]
        self._work = DesiredPartitions(params)
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
        _shard_paths, self._tally.expected = self._work.survey()
        progress.expect(self._tally.expected)
        # Nobody but the servers speaks with the auxiliary ensemble.
        pace = resources.open_pace(self._pace, progress.announce, ensembles=("hot",))
        workers = workers_for(self._workers, self._work.sizes())
        ending = threading.Event()
        contexts = ContextPool([hot], partial(self._context, journal, pace), ending if workers > 1 else None)
        for row in self._work.other_rows():
            self._tally.add_other_state(row)

        def take(done: _Done) -> None:
            self._take(journal, done)
            summary = self._tally.summary(self._check_mode)
            progress.add(done.partitions, 0, f"{summary}, done with {done.report.shard_path}")

        work = self._work.event()
        with journalled_run(journal, "twin_move", (hot, None), work, lambda: self.result()["counts"]):
            # Here, as a plan file is read by one thread only.
            jobs = self._work.by_shard_path()
            work_in_order(jobs, partial(self._move, contexts, progress), take, workers=workers, ending=ending)

    def _context(
        self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock
    ) -> TwinMoveContext:
        (hot,) = stores
        keeper = self._locks.keeper("twin_move", hot, None, clock)
        return TwinMoveContext(hot, clock, journal, keeper, self._servers, pace, self._check_mode)

    def _move(
        self, contexts: ContextPool[TwinMoveContext], progress: Progress, job: tuple[str, list[str] | None]
    ) -> _Done:
        """Work on one shard path; what that ends with is in the answer."""
        shard_path, partitions = job
        done = _Done(TwinReport(shard_path))
        try:
            with contexts.one() as context:
                self._carry_out(context, progress, done, partitions)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the report is taken
            done.error = error
        return done

    def _carry_out(
        self, context: TwinMoveContext, progress: Progress, done: _Done, partitions: list[str] | None
    ) -> None:
        report = done.report
        run = TwinRun(context, self._destination, self._options, report)
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
