# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The direction to cold: gates, copies, comparison on every member, switch, check after the switch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...formats.names import PartName
from ...formats.state import State
from ...gates.gate import GateOptions, Refusal
from ...gates.judge import Judgement, refuse_partitions, refuse_shard
from ...gates.names import GateName
from ...journal.events import Event
from ...run.batches import memory_batches
from ...run.report import refused
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from ...shard.location import Location, never_was_cold
from ...shard.reader import ShardRead
from ...tree.znodes import Op, Znode
from ...zip_strict import zip_strict
from ..parts.bind import bind
from ..parts.copies import ColdCopies
from ..parts.leased_shard import LeasedShard
from ..parts.operations import leaving_hot
from ..parts.verified_copies import make_verified_copies
from .direction import NextAction, Refusals
from .post_switch_check import PostSwitchCheck
from .report import MovedPartition, PatchedReport
from .run import RETRIES, MoveContext, PatchedRun


def move_shard(
    context: MoveContext,
    shard_path: str,
    partition_ids: Sequence[str],
    options: GateOptions,
    report: PatchedReport | None = None,
) -> PatchedReport:
    """Move the partitions of one shard path to cold, except those refused by a gate.

    A dropped table defers its partitions. Raises EnsembleError and kin if an ensemble cannot be used; no
    partition is half moved then, and running again continues. Give an empty report to keep the outcomes up to
    an error.
    """
    report = PatchedReport(shard_path) if report is None else report
    for batch in memory_batches(partition_ids):
        PatchedRun(context, ToCold(context, options, report), report).carry_out(batch)
    return report


class ToCold:
    """Implements Direction: hot gives up partitions with verified copies in cold."""

    event = Event.MOVED
    state = State.COLD
    deletes_read_parts = True
    next_actions: Mapping[Location, NextAction] = {
        Location.HOT: NextAction.SWITCH,
        Location.COPIED: NextAction.SWITCH,
        Location.COLD: NextAction.DONE,
    }
    refusals = Refusals(
        keeps_changing=Refusal(
            GateName.QUIET_TABLE,
            f"its parts changed {RETRIES} times after they had been copied",
            "Run again when the partition is not merged or mutated any more",
        ),
        answer_lost=Refusal(
            GateName.POST_SWITCH_CHECK,
            "the answer to its switch was lost, and the run ended before State was read again",
            "Run part_move again: the partition either is cold by now or is moved then. Run"
            " part_audit_info in any case",
        ),
        unchecked=Refusal(
            GateName.POST_SWITCH_CHECK,
            "the partition was switched, but the run ended before the check after the switch",
            "Run part_audit_info: no part of the partition may be registered in hot while State is COLD",
        ),
        too_large="Merge the partition into fewer parts (partition_merge) and run again",
    )

    def __init__(self, context: MoveContext, options: GateOptions, report: PatchedReport) -> None:
        self._context = context
        self._options = options
        self._report = report
        self._created: dict[str, PartName] = {}
        """Path → part name of the copies created by this run."""

    def judge_early(self, shard: ShardFacts, partition_ids: Collection[str]) -> Mapping[str, Refusal]:
        """Refuse servers unaware of cold, and a shard path stopped by a gate of the whole table."""
        unready = self._context.readiness.judge(shard, partition_ids).refused
        refusal = refuse_shard(shard)
        return unready or ({} if refusal is None else dict.fromkeys(partition_ids, refusal))

    def judge(self, read: ShardRead, partition_ids: Sequence[str], now: float) -> Judgement:
        """Judge by all gates, and by the readiness of the servers."""
        ready = self._context.readiness.judge(read.shard, partition_ids)
        if ready.refused:
            return ready
        partitions = [read.partitions[each] for each in partition_ids]
        return Judgement(refuse_partitions(read.shard, partitions, now, options=self._options), ready.checks)

    def expected(self, partition: PartitionFacts) -> PartitionFacts:
        """Return the partition as is: the disks have to have the parts in hot."""
        return partition

    def prepare(
        self, leased: LeasedShard, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]
    ) -> dict[str, Refusal]:
        """Copy the partitions; refuse those whose copies differ from hot on a member of cold."""
        bind(leased, shard)
        comparison = make_verified_copies(leased, shard, partitions, self._created)
        if not comparison.failed_partitions:
            return {}
        refusal = Refusal(
            GateName.COPIES_EQUAL,
            f"the copies in the cold ensemble are not equal: {'; '.join(comparison.samples)}",
            "Check that every member of the cold ensemble is up and has caught up, then run again",
        )
        self.discard(leased, comparison.failed_partitions)
        return dict.fromkeys(sorted(comparison.failed_partitions), refusal)

    def is_changed(self, prepared: PartitionFacts, now: PartitionFacts) -> bool:
        """Return whether hot has other part znodes than the copied ones."""
        return now.is_cold or now.hot != prepared.hot

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """Return State first, then the deletion of every part of every replica."""
        return leaving_hot(self.parts(partition), state)

    def parts(self, partition: PartitionFacts) -> Sequence[RegisteredPart]:
        """Return all parts in hot."""
        return partition.hot_parts

    def row(self, partition: PartitionFacts) -> MovedPartition:
        """Return the row with the parts formerly in hot."""
        return MovedPartition.to_cold(partition)

    def copies_needed(self, shard: ShardFacts, state: Znode | None, now: float) -> Refusal | None:
        """Return None: no location needs a clean-up in this direction."""
        return None

    def clean(
        self, leased: LeasedShard, read: ShardRead, partition_ids: Sequence[str], report: PatchedReport
    ) -> None:
        """Do nothing: no location needs a clean-up in this direction."""

    def discard(self, leased: LeasedShard, partition_ids: Collection[str]) -> bool:
        """Remove the unneeded copies of the partitions."""
        gone, _behind, removed = ColdCopies(leased, self._created).remove_unneeded(partition_ids)
        # Removing a copy that this run created restores the former state, so only other copies count.
        self._report.touched.update(each for each, paths in removed.items() if paths - self._created.keys())
        return bool(gone)

    def abandon(self, leased: LeasedShard, moved: Collection[str]) -> None:
        """Remove the copies created by this run, without reading the unreadable shard path."""
        hot, layout = leased.hot.store, leased.layout
        hot.sync(layout.path)
        copied = sorted({name.partition_id for name in self._created.values()})
        states = dict(zip_strict(copied, hot.read([layout.state(each) for each in copied])))
        never = [each for each, state in states.items() if state is None or never_was_cold(state)]
        ColdCopies(leased, self._created).remove_own([each for each in never if each not in moved])

    def check_switched(
        self,
        leased: LeasedShard,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Undo the switch of partitions with a late part or replica, and check the disks."""
        moved = set(report.moved)
        try:
            PostSwitchCheck(leased, self._context.servers).check(shard, switched, detached_before, report)
        finally:
            undone = {each: report.deferred[each] for each in moved & report.deferred.keys()}
            self._context.journal.record(Event.UNDONE, refused(leased.layout.path, undone))
