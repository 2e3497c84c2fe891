# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_move: carries out a plan, there or back, shard path by shard path."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._partmove.errors import BoundElsewhere, FormatError, PartMoveError
from .._partmove.formats.state import State
from .._partmove.gates.gate import GateOptions
from .._partmove.gates.readiness import AssumePatched, Readiness
from .._partmove.journal.port import Journal
from .._partmove.lease.two_ensembles import check_invisible, check_unlike
from .._partmove.patched.ledger.entry import ColdEnsemble
from .._partmove.patched.ledger.ledger import Ledger, LedgerReadiness
from .._partmove.patched.move.report import ShardReport
from .._partmove.patched.move.run import MoveContext
from .._partmove.patched.move.to_cold import move_shard
from .._partmove.patched.move.to_hot import find_reheatable, reheat_shard
from .._partmove.run.batches import memory_batches
from .._partmove.run.pace import Pace
from .._partmove.run.report import record_refusals
from .._partmove.shard.inventory import check_tables
from .._partmove.shard.listing_cache import ListingCache
from .._partmove.text import parse_duration
from .._partmove.tree.ports import Clock, ZnodeStore
from .context_pool import ContextPool
from .desired import DesiredPartitions
from .journal_file import journalled_run
from .pacing import PaceOptions
from .part_move_result import MoveTally
from .progress import Progress, ProgressJournal
from .resources import LockOptions, Resources, SystemClock, server_check
from .workers import work_in_order, workers_for


class PartMove:
    """Implements Task for part_move."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        if params["shard_paths"] and State.named(params["state"]) is State.COLD:
            raise PartMoveError(
                "shard_paths was given with the state cold, which would make every partition of them cold",
                remedy="Give a plan or partitions, or the state hot",
            )
        self._params = params
        self._options = _move_options(params)
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._servers = server_check(params)
        self._to_cold = State.named(params["state"]) is State.COLD
        self._work = DesiredPartitions(params)
        self._tally = MoveTally(params["max_listed"])
        self._unreadable = ""
        self._check_mode = False
        self._clock = SystemClock()
        self._began = self._clock.now()

    @property
    def failure(self) -> str:
        """About a shard path of which nobody knows the partitions, or about partitions that failed."""
        return self._unreadable or self._tally.failure

    def result(self) -> dict[str, Any]:
        """What was done so far, as the module returns it."""
        seconds = self._clock.now() - self._began
        return self._tally.result(check_mode=self._check_mode, seconds=seconds)

    def run(self, resources: Resources) -> None:
        """Check everything that can be checked beforehand, then go on shard path by shard path."""
        self._check_mode = resources.check_mode
        shard_paths, self._tally.expected = self._work.survey()
        hot, cold = resources.open_pair()
        self._work.check_cluster(hot)
        journal = resources.open_journal()
        self._check(hot, cold, shard_paths)
        for row in self._work.other_rows():
            self._tally.add_other_state(row)
        progress = resources.open_progress("partitions", "parts")
        progress.expect(self._tally.expected)
        pace = resources.open_pace(self._pace, progress.announce)
        workers = workers_for(self._params["workers"], self._work.sizes())
        ending = threading.Event()
        contexts = ContextPool(
            (hot, cold), partial(self._context, journal, pace), ending if workers > 1 else None
        )

        def take(done: _Done) -> None:
            self._take(done)
            progress.add(0, 0, f"{self._tally.summary(self._check_mode)}, done with {done.shard_path}")

        work = self._work.event()
        with journalled_run(journal, "part_move", (hot, cold), work, lambda: self.result()["counts"]):
            work_in_order(
                self._work.by_shard_path(),
                partial(self._carry_out, contexts, progress),
                take,
                workers=workers,
                ending=ending,
            )

    def _context(
        self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock
    ) -> MoveContext:
        hot, cold = stores
        keeper = self._locks.keeper("part_move", hot, cold, clock)
        return MoveContext(hot, cold, clock, journal, keeper, self._readiness(hot, cold), self._servers, pace)

    def _check(self, hot: ZnodeStore, cold: ZnodeStore, shard_paths: Sequence[str]) -> None:
        """Refuse what would go wrong later, before anything is written."""
        if shard_paths:
            check_unlike(hot, cold, shard_paths[0])
        check_tables(hot, shard_paths)
        if self._to_cold:
            cold.members()
        if shard_paths and not self._check_mode:
            check_invisible(hot, cold, uuid.uuid4().hex, root=self._locks.root)

    def _readiness(self, hot: ZnodeStore, cold: ZnodeStore) -> Readiness:
        # Any server finds what hot registers, so nothing is asked of the servers for the way back.
        if self._params["assume_patched"] or not self._to_cold:
            return AssumePatched()
        return LedgerReadiness(Ledger(hot, self._locks.root), ColdEnsemble.of(cold))

    def _carry_out(
        self, contexts: ContextPool[MoveContext], progress: Progress, job: tuple[str, list[str] | None]
    ) -> _Done:
        """Work on one shard path; what that ends with is in the answer."""
        shard_path, partitions = job
        done = _Done(shard_path, MoveTally(self._params["max_listed"]))
        try:
            if partitions is None:
                with contexts.one() as context:
                    partitions = _find(context, done)
                progress.expect(done.found)
            # In check mode a stage begins with what is really there, of which the one before knows too much.
            known = None if self._check_mode else ListingCache()
            for stage in memory_batches(partitions):
                self._carry_out_stage(contexts, progress, done, stage, known)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
            done.error = error
        return done

    def _carry_out_stage(
        self,
        contexts: ContextPool[MoveContext],
        progress: Progress,
        done: _Done,
        partitions: Sequence[str],
        known: ListingCache | None,
    ) -> None:
        """Work on so many partitions as fit into memory, and keep of them what is counted and listed.

        In check mode nothing is kept of what would be written, either. ``known`` has the names of parts.
        """
        report = ShardReport(done.shard_path)
        with contexts.one() as lent:
            told = ProgressJournal(lent.journal, progress, f"at {done.shard_path}")
            context = lent._replace(journal=told, known=known)
            try:
                if self._to_cold:
                    move_shard(context, done.shard_path, partitions, self._options, report)
                else:
                    reheat_shard(context, done.shard_path, partitions, report)
            finally:
                done.tally.add(report)
                record_refusals(context.journal, report)
        progress.add(len(partitions) - told.partitions, 0, f"at {done.shard_path}")

    def _take(self, done: _Done) -> None:
        """Add up what was done; raise what that ended with."""
        try:
            if done.error is not None:
                raise done.error
        finally:
            self._tally.expected += done.found
            self._unreadable = self._unreadable or done.unreadable
            self._tally.merge(done.tally)


@dataclass
class _Done:
    """What became of a shard path."""

    shard_path: str
    tally: MoveTally
    found: int = 0
    """How many partitions were found to be brought back, where a whole shard path was given."""
    unreadable: str = ""
    """Why nobody knows which these are."""
    error: BaseException | None = None
    """What ended the run."""


def _find(context: MoveContext, done: _Done) -> list[str]:
    """Without partitions to defer, one odd table must not keep the others from coming back."""
    shard_path = done.shard_path
    try:
        partitions = find_reheatable(context, shard_path)
    except FormatError as error:
        done.unreadable = f"{shard_path} cannot be read: {error}"
        return []
    except BoundElsewhere as error:
        done.unreadable = str(error)
        return []
    done.found = len(partitions)
    return partitions


def _move_options(params: Mapping[str, Any]) -> GateOptions:
    max_parts = params["max_parts"]
    if max_parts < 1:
        raise PartMoveError(f"max_parts is {max_parts}", remedy="Give 1, or more if you must")
    return GateOptions(parse_duration(params["min_age"], "min_age"), max_parts)
