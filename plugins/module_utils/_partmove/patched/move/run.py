# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run over one shard path of patched servers, in either direction.

A partition goes through the phases of `transitions`: open, passed by the gates, prepared with verified
copies, switched by one multi, and checked. Each phase may also end in another outcome.

The truth is in the two ensembles alone. A killed run leaves each partition as it was, with copies, or
switched; another run starts from there. If the lease is lost, the run keeps its knowledge, takes the lease
again and goes on with the open partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...errors import FormatError, NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout
from ...gates.gate import Refusal
from ...gates.location import refuse_location
from ...gates.names import GateName
from ...gates.readiness import Readiness
from ...gates.servers import ServerCheck, server_silent
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.held_lease import Leases
from ...lease.lease import Lease, LeaseZnodes
from ...run.pace import Pace, UnlimitedPace
from ...run.shard_run import ShardRun
from ...shard.facts import PartitionFacts, RegisteredNames, ShardFacts
from ...shard.listing_cache import ListingCache
from ...shard.location import Location, locate
from ...shard.reader import ShardRead, ShardReader
from ...tree.ports import Clock, ZnodeStore
from ...tree.znodes import Znode
from ..parts.leased_shard import LeasedShard
from .direction import Direction, NextAction
from .events import switching
from .report import PatchedReport
from .switch import Switch, SwitchResult
from .unregistered import find_unregistered

RETRIES = 3
"""Number of preparations of a partition whose part znodes keep changing."""


class MoveContext(NamedTuple):
    """The ensembles, the servers and the other tools of a run."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: Leases
    readiness: Readiness
    servers: ServerCheck
    pace: Pace = UnlimitedPace()
    known: ListingCache | None = None
    """The part listings of earlier runs on the shard path."""


class PatchedRun(ShardRun[MoveContext, PatchedReport]):
    """A run that moves the part znodes of partitions to cold, or back to hot."""

    def __init__(self, context: MoveContext, direction: Direction, report: PatchedReport) -> None:
        super().__init__(context, report)
        self._direction = direction
        self._layout = ShardLayout(report.shard_path)
        self._reader = ShardReader(
            context.hot, context.cold, self._layout, context.leases.root, known=context.known
        )
        self._unchecked: dict[str, PartitionFacts] = {}
        """Switched partitions before their check, with the facts before the switch."""
        self._recorded: set[str] = set()
        """Ids of the switched partitions in the report and the journal."""
        self._detached: dict[str, frozenset[str]] = {}
        """Replica → names in its ``detached`` folder before the first switch."""

    def _close_report(self) -> None:
        for each in sorted(self._unchecked.keys() & self._report.moved.keys()):
            self._report.fail(each, self._direction.refusals.unchecked)

    def _read_bar(self, path: str) -> Znode | None:
        return self._reader.read_with_replicas(path)

    def _seen(self) -> LeaseZnodes:
        return self._reader.lease_znodes

    def _read_first(self, requested: Sequence[str]) -> None:
        shard, by_id = self._reader.registered_names(
            requested, lambda names: self._next_action(names) is not NextAction.SWITCH
        )
        self._parts = {each: names.parts for each, names in by_id.items()}
        unregistered: dict[str, RegisteredNames] = {}
        for each, names in by_id.items():
            action = self._next_action(names)
            if action is NextAction.DONE:
                self._report.unchanged.add(each)
            elif locate(names) is Location.ABSENT:
                unregistered[each] = names
            elif action is NextAction.LEAVE:
                self._report.deferred[each] = refuse_location(names)
            elif action is NextAction.CLEAN:
                needed = self._direction.copies_needed(shard, names.state, self._context.clock.now())
                if needed is not None:
                    self._report.deferred[each] = needed
        self._report_unregistered(shard, unregistered)
        self._report.deferred.update(self._direction.judge_early(shard, self._report.open(requested)))

    def _report_unregistered(
        self, shard: ShardFacts, unregistered: Mapping[str, RegisteredNames], prepared: Collection[str] = ()
    ) -> None:
        """Give an outcome to partitions in neither ensemble; a partition in doubt stays open."""
        result = find_unregistered(self._reader, self._context.servers, shard, unregistered)
        for each in sorted(result.gone):
            self._report.deferred[each] = (
                _dropped() if each in prepared else refuse_location(unregistered[each])
            )
        self._report.deferred.update(result.deferred)
        self._report.failed.update(result.failed)

    def _next_action(self, partition: RegisteredNames | PartitionFacts) -> NextAction:
        return self._direction.next_actions.get(locate(partition), NextAction.LEAVE)

    def _work_under_lease(self, lease: Lease, partition_ids: Sequence[str]) -> None:
        leased = LeasedShard(self._context.hot, self._context.cold, self._reader, self._layout, lease)
        if self._unchecked:
            # An earlier lease was lost before these partitions were checked.
            self._check_switched(leased, leased.shard())
        try:
            # Between paced batches no copy waits for its switch, and no switch for its check.
            for batch in self._paced(partition_ids):
                self._work_on_batch(leased, batch)
        except (FormatError, NoSuchTable):
            self._direction.abandon(leased, self._report.moved)
            raise
        finally:
            self._report.is_bound_now |= leased.is_bound_now

    def _work_on_batch(self, leased: LeasedShard, partition_ids: Sequence[str]) -> None:
        pending = partition_ids
        for _attempt in range(RETRIES):
            if not pending:
                break
            pending = self._attempt(leased, pending)
        self._defer(leased, dict.fromkeys(pending, self._direction.refusals.keeps_changing))

    def _attempt(self, leased: LeasedShard, partition_ids: Sequence[str]) -> list[str]:
        """Judge, prepare and switch the partitions; return the partitions that changed in between."""
        read = leased.read(partition_ids)
        by_action: dict[NextAction, list[str]] = {action: [] for action in NextAction}
        for each in sorted(read.partitions):
            by_action[self._next_action(read.partitions[each])].append(each)
        self._report.unchanged.update(by_action[NextAction.DONE])
        gone = self._leave(leased, read, by_action[NextAction.LEAVE])
        if by_action[NextAction.CLEAN]:
            self._direction.clean(leased, read, by_action[NextAction.CLEAN], self._report)
        passed = self._passed(leased, read, by_action[NextAction.SWITCH])
        failed = self._direction.prepare(leased, read.shard, passed) if passed else {}
        self._report.failed.update(failed)
        prepared = {each: passed[each] for each in passed if each not in failed}
        changed = self._switch(leased, prepared) if prepared else []
        return sorted([*changed, *self._report.open(gone)])

    def _leave(self, leased: LeasedShard, read: ShardRead, partition_ids: Sequence[str]) -> list[str]:
        """Defer partitions with the action LEAVE; return the unregistered ones, some of them still open."""
        unregistered: dict[str, RegisteredNames] = {}
        prepared: set[str] = set()
        for each in partition_ids:
            names = read.partitions[each].names
            if self._direction.discard(leased, [each]):
                prepared.add(each)
                unregistered[each] = names
            elif locate(names) is Location.ABSENT:
                unregistered[each] = names
            else:
                self._report.deferred[each] = refuse_location(names)
        self._report_unregistered(read.shard, unregistered, prepared)
        return sorted(unregistered)

    def _passed(
        self, leased: LeasedShard, read: ShardRead, partition_ids: Sequence[str]
    ) -> dict[str, PartitionFacts]:
        """Return the partitions passed by the gates and the servers; defer the others."""
        if not partition_ids:
            return {}
        refused = dict(self._direction.judge(read, partition_ids, leased.taken_at).refused)
        passed = {each: read.partitions[each] for each in partition_ids if each not in refused}
        if passed:
            expected = [self._direction.expected(each) for each in passed.values()]
            refused.update(self._context.servers.refusals(read.shard, expected))
            passed = {each: facts for each, facts in passed.items() if each not in refused}
        if passed:
            try:
                self._note_detached(read.shard)
            except PartMoveError as error:
                refused.update(dict.fromkeys(passed, server_silent(error)))
                passed = {}
        with_copies = [each for each in refused if read.partitions[each].cold_parts]
        self._defer(leased, refused, with_copies)
        return passed

    def _note_detached(self, shard: ShardFacts) -> None:
        if not self._detached:
            self._detached.update(self._context.servers.detached(shard))

    def _switch(self, leased: LeasedShard, prepared: Mapping[str, PartitionFacts]) -> list[str]:
        """Switch the prepared partitions; return the partitions that changed in between."""
        result = SwitchResult()
        switch = Switch(leased, self._context.clock, self._direction, self._announce)
        try:
            for _batch in switch.batches(prepared, result):
                self._record(prepared, result)
                # Check at once: a part that was inserted meanwhile may soon be merged with the cold parts.
                if result.shard is not None:
                    self._check_switched(leased, result.shard)
        finally:
            # Record the switched partitions even if the lease or the ensemble was lost on the way.
            self._report.lose(result.unclear, self._direction.refusals.answer_lost)
            self._record(prepared, result)
        self._defer(leased, result.refused)
        return sorted(result.changed)

    def _announce(self, partitions: Sequence[PartitionFacts]) -> None:
        """Write the partitions of the next multis to the journal, on disk."""
        path, state = self._layout.path, self._direction.state.value
        announced = (switching(path, each, self._direction.parts(each), state) for each in partitions)
        self._context.journal.record(Event.SWITCHING, announced)

    def _check_switched(self, leased: LeasedShard, shard: ShardFacts) -> None:
        """Check the switched partitions. A partition still unchecked when the run ends counts as failed."""
        if self._unchecked:
            self._direction.check_switched(leased, shard, self._unchecked, self._detached, self._report)
            self._unchecked.clear()

    def _record(self, prepared: Mapping[str, PartitionFacts], result: SwitchResult) -> None:
        """Add newly switched partitions to the report and the journal."""
        partitions = [prepared[each] for each in sorted(result.switched - self._recorded)]
        if not partitions:
            return
        rows = [self._direction.row(each) for each in partitions]
        # Update the report first: writing the journal may fail.
        self._recorded.update(each.partition_id for each in partitions)
        self._report.moved.update({row.partition: row for row in rows})
        self._unchecked.update({each.partition_id: each for each in partitions})
        events = (row.event(self._layout.path, result.zxids[row.partition]) for row in rows)
        self._context.journal.record(self._direction.event, events)

    def _defer(
        self, leased: LeasedShard, refused: Mapping[str, Refusal], with_copies: Sequence[str] | None = None
    ) -> None:
        """Defer the partitions, and remove the copies prepared for them."""
        self._direction.discard(leased, list(refused) if with_copies is None else with_copies)
        self._report.deferred.update(refused)


def _dropped() -> Refusal:
    return Refusal(
        GateName.PARTITION_EXISTS,
        "its parts left the hot ensemble while they were copied; the copies were removed",
        "Leave the partition out of the plan if it was dropped, or else run again",
    )
