# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move whose shard paths may be shared among processes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from .._partmove.journal.port import Journal
from .._partmove.run.report import RunReport
from .._partmove.tree.ports import ZnodeStore
from .context_pool import ContextPool
from .move_jobs import Done, Job
from .move_run import MoveRun
from .move_tally import PartitionTally
from .one_processor import on_one_processor
from .process_count import part_of
from .process_group import ProcessGroup
from .process_link import ProcessLink, Update
from .progress import Progress
from .resources import Resources
from .workers import workers_for

_Context = TypeVar("_Context")
_Report = TypeVar("_Report", bound=RunReport[Any])
_Tally = TypeVar("_Tally", bound=PartitionTally[Any])


class DividedMoveRun(MoveRun[_Context, _Report, _Tally]):
    """Implements ForkingTask: the processes work, and the main process checks before, and adds up."""

    def __init__(self, params: Mapping[str, Any], tally: Callable[[int], _Tally]) -> None:
        """Read the options. Raises PartMoveError for invalid values."""
        super().__init__(params, tally)
        self._shares: Sequence[Collection[str]] = ()
        self._group: ProcessGroup[_Tally] | None = None

    def start_processes(self, open_resources: Callable[[ExitStack], Resources], stack: ExitStack) -> None:
        """Fork the processes that share the work, if it needs several. Implements ForkingTask."""
        self._shares = self._divide()
        if len(self._shares) > 1:
            work = partial(self._carry_out_share, open_resources)
            self._group = ProcessGroup(len(self._shares), self._new_tally, work)
            stack.callback(self._group.close)

    @abstractmethod
    def _divide(self) -> Sequence[Collection[str]]:
        """Return the shard paths of each process; for a run without further processes none."""

    def _work_on_all(
        self, resources: Resources, stores: Sequence[ZnodeStore], journal: Journal, progress: Progress
    ) -> None:
        if self._group is None:
            super()._work_on_all(resources, stores, journal, progress)
        else:
            self._group.carry_out(partial(self._take_update, progress), progress.announce)

    def _carry_out_share(
        self, open_resources: Callable[[ExitStack], Resources], number: int, link: ProcessLink[_Tally]
    ) -> None:
        """Work on the shard paths of one process, as a run of its own with its part of the limits."""
        processes = len(self._shares)
        self._work.keep(self._shares[number])
        with on_one_processor(), ExitStack() as stack:
            resources = open_resources(stack)
            self._check_mode = resources.check_mode
            stores = self._open(resources)
            journal = resources.open_journal(self._run_id)
            limits = self._pace.divided(number, processes)
            pace = resources.open_pace(limits, link.announce, ensembles=self.ensembles)
            workers = workers_for(
                part_of(self._params["workers"], number, processes),
                self._work.partition_counts(),
                partial(self._distance, stores),
                processes=processes,
            )
            make = partial(self._context, journal, pace)
            contexts = ContextPool(stores, make, link.ending)

            def carry_out(job: Job) -> Done[_Tally]:
                link.begin(job.shard_path)
                return self._carry_out(contexts, journal, link, job)

            self._work_through(
                stores[0], contexts, link, carry_out, link.take, workers=workers, ending=link.ending
            )

    def _take_update(self, progress: Progress, update: Update[_Tally]) -> None:
        """Add what a process reports, in whatever order."""
        progress.expect(update.expected)
        self._tally.expected += update.tally.expected
        self._tally.merge(update.tally)
        if update.unreadable[1]:
            self._add_unreadable(*update.unreadable)
        more = update.more
        if update.finished:
            more = f"{self._tally.summary(self._check_mode)}, done with {update.finished[-1]}"
        progress.add(update.units, update.subunits, more)
