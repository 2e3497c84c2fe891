# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The common part of the tasks of part_move and twin_move: work on a plan shard path by shard path.

Both promise the same:

- All checks that need no write run before the first write.
- Check mode runs the same code over ensembles and servers that only remember writes.
- A table that was dropped since the plan was made defers its partitions; other tables are moved. If no table
  of the plan exists, or a shard path given by name does not, the run fails: the root or the chroot is wrong.
- Progress is shown for each partition, and the run waits for its pace between partitions.
- The servers of all tables are asked once before the first write, also if nothing is to be moved. The run
  fails if no server of a table can be asked.
- The journal has the start, each step, each refusal and the end, also if an error or a signal ends the run.
- Shard paths are worked on side by side, and reported in their order.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import starmap
from operator import itemgetter
from typing import Any, Generic, TypeVar

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.replica_search import HttpReplicaSearch
from .._clickhouse.replica_table import ReplicaClients
from .._partmove.errors import BindingConflict, FormatError
from .._partmove.formats.state import State
from .._partmove.gates.names import gates_named
from .._partmove.journal.port import Journal
from .._partmove.run.batches import memory_batches
from .._partmove.run.pace import Pace
from .._partmove.run.report import RunReport
from .._partmove.shard.inventory import check_tables
from .._partmove.tree.ports import Clock, ZnodeStore
from .askable_servers import ReplicaSearch, check_servers
from .context_pool import ContextPool
from .desired import DesiredPartitions
from .journal_file import journalled_run
from .move_jobs import LOOKED_AHEAD, Done, Job, jobs_or_results
from .move_tally import PartitionTally
from .pacing import PaceOptions
from .progress import Progress, ProgressJournal, RunProgress
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, SystemClock
from .workers import check_workers, work_in_order, workers_for

_Context = TypeVar("_Context")
_Report = TypeVar("_Report", bound=RunReport[Any])
_Tally = TypeVar("_Tally", bound=PartitionTally[Any])


class MoveRun(ABC, Generic[_Context, _Report, _Tally]):
    """Implements Task for a module that moves partitions."""

    module: str
    """The name of the module, for locks and the journal."""
    ensembles: Sequence[str]
    """The options that describe the ensembles the run has sessions with, hot first."""

    def __init__(self, params: Mapping[str, Any], tally: Callable[[int], _Tally]) -> None:
        """Read the options that both modules have. Raises PartMoveError for invalid values."""
        self._params = params
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._to_cold = State.named(params["state"]) is State.COLD
        self._work = DesiredPartitions(params)
        self._new_tally = partial(tally, params["max_listed"])
        self._tally = self._new_tally()
        check_workers(params["workers"])
        self._failing_gates = gates_named(params["fail_when_deferred_by"], "fail_when_deferred_by")
        self._unreadable = ("", "")
        """The first shard path that cannot be read, and a sentence about it."""
        self._unasked = ""
        self._check_mode = False
        self._run_id = uuid.uuid4().hex
        self._clock = SystemClock()
        self._began = self._clock.now()

    @property
    def failure(self) -> str:
        """A sentence about tables or partitions that the run failed to move; empty without any."""
        return (
            self._unreadable[1]
            or self._tally.failure
            or self._unasked
            or self._tally.deferred_by(self._failing_gates)
        )

    def result(self) -> dict[str, Any]:
        """Return the result of the module so far."""
        seconds = self._clock.now() - self._began
        return self._tally.result(check_mode=self._check_mode, seconds=seconds)

    def run(self, resources: Resources) -> None:
        """Check all preconditions, then work on the shard paths."""
        self._check_mode = resources.check_mode
        shard_paths, self._tally.expected = self._work.scope()
        stores = self._open(resources)
        self._work.check_cluster(stores[0])
        check_tables(stores[0], shard_paths, required=self._work.whole_shard_paths)
        search = self._search()
        if search is not None:
            self._unasked = check_servers(stores[0], self._work.tables(), search)
        journal = resources.open_journal(self._run_id)
        self._check(stores, shard_paths)
        for row in self._work.other_rows():
            self._tally.add_other_state(row)
        progress = resources.open_progress("partitions", "parts")
        progress.expect(self._tally.expected)
        hot, cold = stores[0], stores[1] if len(stores) > 1 else None
        work = self._work.event()
        with journalled_run(journal, self.module, (hot, cold), work, lambda: self.result()["counts"]):
            self._work_on_all(resources, stores, journal, progress)

    def _work_on_all(
        self, resources: Resources, stores: Sequence[ZnodeStore], journal: Journal, progress: Progress
    ) -> None:
        """Work on all shard paths."""
        pace = resources.open_pace(self._pace, progress.announce, ensembles=self.ensembles)
        workers = workers_for(
            self._params["workers"], self._work.partition_counts(), partial(self._distance, stores)
        )
        ending = threading.Event()
        make = partial(self._context, journal, pace)
        contexts = ContextPool(stores, make, ending if workers > 1 else None)

        def take(done: Done[_Tally]) -> None:
            self._take(done)
            progress.add(0, 0, f"{self._tally.summary(self._check_mode)}, done with {done.shard_path}")

        carry_out = partial(self._carry_out, contexts, journal, progress)
        self._work_through(stores[0], contexts, progress, carry_out, take, workers=workers, ending=ending)

    def _work_through(
        self,
        hot: ZnodeStore,
        contexts: ContextPool[_Context],
        progress: RunProgress,
        carry_out: Callable[[Job], Done[_Tally]],
        take: Callable[[Done[_Tally]], None],
        *,
        workers: int,
        ending: threading.Event,
    ) -> None:
        """Work on all shard paths, in order."""
        # Only this thread reads the plan file.
        further = (Job(each, []) for each in self._further_shard_paths(hot))
        every = merge(starmap(Job, self._work.by_shard_path()), further, key=itemgetter(0))
        look, finish = partial(self._look, contexts), partial(self._finished, progress)
        jobs = jobs_or_results(every, look, finish, threads=0 if workers == 1 else LOOKED_AHEAD)
        work_in_order(jobs, carry_out, take, workers=workers, ending=ending)

    @abstractmethod
    def _open(self, resources: Resources) -> Sequence[ZnodeStore]:
        """Connect to the ensembles, hot first."""

    def _check(self, stores: Sequence[ZnodeStore], shard_paths: Sequence[str]) -> None:
        """Check further preconditions of the module before the first write. Raises PartMoveError."""

    def _distance(self, stores: Sequence[ZnodeStore]) -> float:
        """Return the seconds of an answer for which more workers make up; 0 if more workers do not help."""
        del stores
        return 0.0

    def _search(self) -> ReplicaSearch | None:
        """Return what asks the servers of the option ``clickhouse``; None if no server may be asked."""
        settings = self._params["clickhouse"]
        if settings is None:
            return None
        return HttpReplicaSearch(ReplicaClients(ClickHouseOptions.of(settings)), SERVERS_AT_ONCE)

    @abstractmethod
    def _context(self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock) -> _Context:
        """Return the context of one worker."""

    @abstractmethod
    def _with_journal(self, context: _Context, journal: Journal) -> _Context:
        """Return the context with another journal."""

    @abstractmethod
    def _new_report(self, shard_path: str) -> _Report:
        """Return an empty report."""

    @abstractmethod
    def _find(self, context: _Context, shard_path: str) -> list[str]:
        """Return the partitions of a whole shard path that are not in the desired state.

        Raises FormatError or BindingConflict if this shard path cannot be listed; other shard paths continue.
        """

    def _begin_shard_path(self) -> Any:
        """Return data that all memory batches of one shard path share."""
        return None

    def _further_shard_paths(self, hot: ZnodeStore) -> Sequence[str]:
        """Return the shard paths to work on although none of their partitions is to be moved, sorted."""
        del hot
        return ()

    def _find_finished(self, context: _Context, work: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the shard paths all of whose partitions are certainly in the desired state.

        work: shard path → partition ids. Raises EnsembleError and subclasses.
        """
        del context, work
        return set()

    @abstractmethod
    def _move(self, context: _Context, partitions: Sequence[str], report: _Report, shared: Any) -> None:
        """Move the partitions of one memory batch; ``report`` names the shard path."""

    def _look(self, contexts: ContextPool[_Context], work: Mapping[str, list[str]]) -> set[str]:
        with contexts.lend() as context:
            return self._find_finished(context, work)

    def _finished(self, progress: RunProgress, job: Job) -> Done[_Tally]:
        """Return the result of a shard path all of whose partitions are in the desired state."""
        shard_path, partitions = job
        done = Done(shard_path, self._new_tally())
        report = self._new_report(shard_path)
        report.unchanged.update(partitions or ())
        done.tally.add(report)
        progress.add(len(report.unchanged), 0, f"at {shard_path}")
        return done

    def _carry_out(
        self,
        contexts: ContextPool[_Context],
        journal: Journal,
        progress: RunProgress,
        job: Job,
    ) -> Done[_Tally]:
        """Work on one shard path. The result contains the error that ended the work, if any."""
        shard_path, partitions = job
        done = Done(shard_path, self._new_tally())
        try:
            if partitions is None:
                partitions = self._find_all(contexts, done)
                progress.expect(done.found)
            shared = self._begin_shard_path()
            for batch in memory_batches(partitions) if job[1] != [] else ([],):
                self._carry_out_batch(contexts, journal, progress, done, batch, shared)
        except BaseException as error:  # noqa: BLE001 - `_take` raises the error again
            done.error = error
        return done

    def _find_all(self, contexts: ContextPool[_Context], done: Done[_Tally]) -> list[str]:
        """Return the partitions to move. An unreadable table is reported, and other tables still move."""
        try:
            with contexts.lend() as context:
                partitions = self._find(context, done.shard_path)
        except FormatError as error:
            done.unreadable = f"{done.shard_path} cannot be read: {error}"
            return []
        except BindingConflict as error:
            done.unreadable = str(error)
            return []
        done.found = len(partitions)
        return partitions

    def _carry_out_batch(
        self,
        contexts: ContextPool[_Context],
        journal: Journal,
        progress: RunProgress,
        done: Done[_Tally],
        partitions: Sequence[str],
        shared: Any,
    ) -> None:
        """Move one memory batch, and keep only the counts and listed rows of its report."""
        report = self._new_report(done.shard_path)
        with contexts.lend() as lent:
            counting = ProgressJournal(journal, progress, f"at {done.shard_path}")
            context = self._with_journal(lent, counting)
            try:
                self._move(context, partitions, report, shared)
            finally:
                done.tally.add(report)
                report.record_refusals(counting)
        progress.add(len(partitions) - counting.partitions, 0, f"at {done.shard_path}")

    def _take(self, done: Done[_Tally]) -> None:
        """Add the result of one shard path to the tally; raise the error that ended its work."""
        try:
            if done.error is not None:
                raise done.error
        finally:
            self._tally.expected += done.found
            if done.unreadable:
                self._add_unreadable(done.shard_path, done.unreadable)
            self._tally.merge(done.tally)

    def _add_unreadable(self, shard_path: str, sentence: str) -> None:
        if not self._unreadable[1] or shard_path < self._unreadable[0]:
            self._unreadable = shard_path, sentence
