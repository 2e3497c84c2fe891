# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run over one shard path, in either direction: what takes a partition from state to state.

States of a partition, and what takes it to the next one::

    open      → unchanged  it is where the run would leave it
              → failed     neither ensemble registers it, and a server has it on disk
              → deferred   it is where no run starts from; or a gate refuses it; or it changed too often
              → cleaned    (to hot) hot registers it already, and its copies were removed
              → passed     the gates, and then the servers, let it pass
    passed    → prepared   (to cold) its copies were made and compared on every member
              → failed     they are not equal
    prepared  → switched   one multi changed registration and State at one instant
              → open       something else was registered by then
              → deferred   a gate refuses it by then, or the table was too busy
              → failed     the answer was lost, and the run ended before it was found out
    switched  → moved      a look at both ensembles and at the servers found it as it must be
              → deferred   (to cold) a part arrived meanwhile, and the switch was undone
              → failed     something is not as it must be, or the run ended before the look

What a run knows outlives its lease: where the lease is lost, it is taken again and the run goes on with what
is open. The truth is in the two ensembles alone: a run that is killed leaves each partition as it was, with
copies, or switched, and another run starts from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...errors import BoundElsewhere, FormatError, NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout
from ...gates.drift import refuse_location
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...gates.readiness import Readiness
from ...gates.servers import ServerCheck, server_silent
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.lease import Lease, LeaseKeeper
from ...run.batches import paced_batches
from ...run.pace import Pace, Unhurried
from ...run.under_lease import work_under_leases
from ...shard.facts import PartitionFacts, RegisteredNames, ShardFacts
from ...shard.listing_cache import ListingCache
from ...shard.location import Location, locate
from ...shard.reader import ShardRead, ShardReader
from ...tree.ports import Clock, ZnodeStore
from ..parts.leased_shard import LeasedShard
from .direction import Direction, NextAction
from .events import switching
from .report import ShardReport
from .switch import Switch, SwitchResult
from .unregistered import find_unregistered

ROUNDS = 3
"""How often partitions that changed after they were prepared are prepared again."""


class MoveContext(NamedTuple):
    """The ensembles, the servers and all else that a run works with."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    readiness: Readiness
    servers: ServerCheck
    pace: Pace = Unhurried()
    known: ListingCache | None = None
    """What runs before listed at the shard path."""


class ShardRun:
    """One run; what it finds out and does is in ``report``, also where it ends with an error."""

    def __init__(self, context: MoveContext, direction: Direction, report: ShardReport) -> None:
        self._context = context
        self._direction = direction
        self._report = report
        self._layout = ShardLayout(report.shard_path)
        self._reader = ShardReader(
            context.hot, context.cold, self._layout, context.leases.root, known=context.known
        )
        self._switched: dict[str, PartitionFacts] = {}
        """Partitions that were switched and not looked at again, as they were before."""
        self._told: set[str] = set()
        """Ids of all partitions that were switched."""
        self._detached: dict[str, frozenset[str]] = {}
        """Replica → names in its ``detached`` folder before anything was switched."""
        self._parts: dict[str, int] = {}
        """Partition id → how many parts it had at the first look."""

    def carry_out(self, partition_ids: Sequence[str]) -> None:
        """Take each partition to one of its ends. Raises NoSuchTable, EnsembleError and kin.

        Where it raises, nothing is half done, and running again goes on.
        """
        wanted = sorted(set(partition_ids))
        self._context.pace.wait(0, self._context.clock)
        try:
            self._look_first(wanted)
            if self._report.open(wanted):
                self._work(wanted)
        except FormatError as error:
            self._defer_open(wanted, Refusal(GateName.READABLE, error.message, error.remedy))
        except BoundElsewhere as error:
            self._defer_open(wanted, Refusal(GateName.BOUND_HERE, error.message, error.remedy))
        finally:
            for each in sorted(self._switched.keys() & self._report.moved.keys()):
                self._report.fail(each, self._direction.refusals.not_looked_at_again)

    def _defer_open(self, wanted: Sequence[str], refusal: Refusal) -> None:
        self._report.deferred.update(dict.fromkeys(self._report.open(wanted), refusal))

    def _look_first(self, wanted: Sequence[str]) -> None:
        """Sort out what can be told by reading alone, so that a run with nothing to do writes nothing."""
        shard, found = self._reader.registered_names(wanted)
        self._parts = {each: names.parts for each, names in found.items()}
        nowhere: dict[str, RegisteredNames] = {}
        for each, names in found.items():
            stage = self._stage(names)
            if stage is NextAction.DONE:
                self._report.unchanged.add(each)
            elif locate(names) is Location.ABSENT:
                nowhere[each] = names
            elif stage is NextAction.ELSEWHERE:
                self._report.deferred[each] = refuse_location(names)
            elif stage is NextAction.CLEAN:
                waits = self._direction.waits(shard, names.state, self._context.clock.now())
                if waits is not None:
                    self._report.deferred[each] = waits
        self._tell_nowhere(shard, nowhere)
        self._report.deferred.update(self._direction.judge_early(shard, self._report.open(wanted)))

    def _tell_nowhere(
        self, shard: ShardFacts, nowhere: Mapping[str, RegisteredNames], prepared: Collection[str] = ()
    ) -> None:
        """Say of partitions that neither ensemble registers what is known of them; open is what is not."""
        told = find_unregistered(self._reader, self._context.servers, shard, nowhere)
        for each in sorted(told.gone):
            self._report.deferred[each] = _dropped() if each in prepared else refuse_location(nowhere[each])
        self._report.deferred.update(told.deferred)
        self._report.failed.update(told.failed)

    def _stage(self, found: RegisteredNames | PartitionFacts) -> NextAction:
        return self._direction.stages.get(locate(found), NextAction.ELSEWHERE)

    def _work(self, wanted: Sequence[str]) -> None:
        """Do what is open under a lease; defer what the last one leaves."""

        def work(lease: Lease) -> None:
            leased = LeasedShard(self._context.hot, self._context.cold, self._reader, self._layout, lease)
            self._work_under_lease(leased, self._report.open(wanted))

        refusal = work_under_leases(self._context.leases, self._layout.path, work)
        if refusal is not None:
            self._defer_open(wanted, refusal)

    def _work_under_lease(self, leased: LeasedShard, partition_ids: Sequence[str]) -> None:
        if self._switched:
            # Under a lease that was lost before they were looked at.
            self._look_after(leased, leased.shard())
        pace = self._context.pace
        try:
            # Only between portions, where no copy waits for its switch and no switch to be looked at again.
            for portion, parts in paced_batches(partition_ids, self._parts, pace.parts_at_once):
                pace.wait(parts, self._context.clock)
                self._work_on_portion(leased, portion)
        except (FormatError, NoSuchTable):
            self._direction.abandon(leased, self._report.moved)
            raise

    def _work_on_portion(self, leased: LeasedShard, partition_ids: Sequence[str]) -> None:
        pending = partition_ids
        for _round in range(ROUNDS):
            if not pending:
                break
            pending = self._round(leased, pending)
        self._defer(leased, dict.fromkeys(pending, self._direction.refusals.keeps_changing))

    def _round(self, leased: LeasedShard, partition_ids: Sequence[str]) -> list[str]:
        """Gates, servers, preparation, switch; returns the partitions that changed in between."""
        look = leased.look(partition_ids)
        by_stage: dict[NextAction, list[str]] = {stage: [] for stage in NextAction}
        for each in sorted(look.partitions):
            by_stage[self._stage(look.partitions[each])].append(each)
        self._report.unchanged.update(by_stage[NextAction.DONE])
        gone = self._leave_elsewhere(leased, look, by_stage[NextAction.ELSEWHERE])
        if by_stage[NextAction.CLEAN]:
            self._direction.clean(leased, look, by_stage[NextAction.CLEAN], self._report)
        passed = self._passed(leased, look, by_stage[NextAction.SWITCH])
        failed = self._direction.prepare(leased, look.shard, passed) if passed else {}
        self._report.failed.update(failed)
        prepared = {each: passed[each] for each in passed if each not in failed}
        changed = self._switch(leased, prepared) if prepared else []
        return sorted([*changed, *self._report.open(gone)])

    def _leave_elsewhere(
        self, leased: LeasedShard, look: ShardRead, partition_ids: Sequence[str]
    ) -> list[str]:
        """Say why no run starts from there; returns those that were nowhere, of which some may be open."""
        nowhere: dict[str, RegisteredNames] = {}
        prepared: set[str] = set()
        for each in partition_ids:
            names = look.partitions[each].names
            if self._direction.discard(leased, [each]):
                prepared.add(each)
                nowhere[each] = names
            elif locate(names) is Location.ABSENT:
                nowhere[each] = names
            else:
                self._report.deferred[each] = refuse_location(names)
        self._tell_nowhere(look.shard, nowhere, prepared)
        return sorted(nowhere)

    def _passed(
        self, leased: LeasedShard, look: ShardRead, partition_ids: Sequence[str]
    ) -> dict[str, PartitionFacts]:
        """Those that the gates and the servers let pass; the others are deferred."""
        if not partition_ids:
            return {}
        refused = dict(self._direction.judge(look, partition_ids, leased.taken_at).refused)
        passed = {each: look.partitions[each] for each in partition_ids if each not in refused}
        if passed:
            expected = [self._direction.expected(each) for each in passed.values()]
            refused.update(self._context.servers.refusals(look.shard, expected))
            passed = {each: facts for each, facts in passed.items() if each not in refused}
        if passed:
            try:
                self._note_detached(look.shard)
            except PartMoveError as error:
                refused.update(dict.fromkeys(passed, server_silent(error)))
                passed = {}
        with_copies = [each for each in refused if look.partitions[each].cold_parts]
        self._defer(leased, refused, with_copies)
        return passed

    def _note_detached(self, shard: ShardFacts) -> None:
        if not self._detached:
            self._detached.update(self._context.servers.detached(shard))

    def _switch(self, leased: LeasedShard, prepared: Mapping[str, PartitionFacts]) -> list[str]:
        """Switch those that are prepared; returns those that changed in between."""
        result = SwitchResult()
        switch = Switch(leased, self._context.clock, self._direction, self._announce)
        try:
            for _group in switch.groups(prepared, result):
                self._record(prepared, result)
                # At once: a part that was inserted meanwhile may be merged with the cold ones any moment.
                if result.shard is not None:
                    self._look_after(leased, result.shard)
        finally:
            # What was switched is known even where the lease or the ensemble was lost on the way.
            self._report.lose(result.unclear, self._direction.refusals.not_found_out)
            self._record(prepared, result)
        self._defer(leased, result.refused)
        return sorted(result.changed)

    def _announce(self, partitions: Sequence[PartitionFacts]) -> None:
        """Let the journal have on disk what is about to be switched."""
        path, state = self._layout.path, self._direction.state.value
        rows = (switching(path, each, self._direction.parts(each), state) for each in partitions)
        self._context.journal.record(Event.SWITCHING, rows)

    def _look_after(self, leased: LeasedShard, shard: ShardFacts) -> None:
        """Look at what was switched; what is not looked at when the run ends is told as failed."""
        if self._switched:
            self._direction.look_after(leased, shard, self._switched, self._detached, self._report)
            self._switched.clear()

    def _record(self, prepared: Mapping[str, PartitionFacts], result: SwitchResult) -> None:
        """Tell of what was switched and not told of yet."""
        partitions = [prepared[each] for each in sorted(result.switched - self._told)]
        if not partitions:
            return
        rows = [self._direction.row(each) for each in partitions]
        # All of them in the report first: writing the journal may fail.
        self._told.update(each.partition_id for each in partitions)
        self._report.moved.update({row.partition: row for row in rows})
        self._switched.update({each.partition_id: each for each in partitions})
        told = (row.event(self._layout.path, result.zxids[row.partition]) for row in rows)
        self._context.journal.record(self._direction.event, told)

    def _defer(
        self, leased: LeasedShard, refused: Mapping[str, Refusal], with_copies: Sequence[str] | None = None
    ) -> None:
        """Report the refusals, and remove what was prepared for these partitions."""
        self._direction.discard(leased, list(refused) if with_copies is None else with_copies)
        self._report.deferred.update(refused)


def _dropped() -> Refusal:
    return Refusal(
        GateName.PARTITION_EXISTS,
        "its parts left the hot ensemble while they were copied; the copies were removed",
        "Leave the partition out of the plan if it was dropped, or else run again",
    )
