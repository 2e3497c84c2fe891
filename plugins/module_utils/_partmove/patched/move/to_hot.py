# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The direction to hot: registers cold partitions in hot again, and later removes their copies from cold.

Phases of a partition; a run can end after each:

- COLD: cold alone registers the partition. One multi creates its parts in hot and sets State to HOT.
- HOT with copies: hot and cold register the partition. A starting server may have read hot before the multi
  and has yet to read cold, so the copies stay until no such server can be left. A DROP PARTITION removes the
  parts from hot only. Their copies are removed at the same time as other copies, once the servers confirm
  the drop of these parts.
- HOT: done.

Servers read hot first and cold after it, so every server finds a part in at least one of the two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isinf

from ...formats.layout import ShardLayout
from ...formats.names import PartName
from ...formats.state import State
from ...gates.gate import Refusal
from ...gates.judge import REHEAT_GATES, STRAY_COPIES, Judgement, refuse_partitions, refuse_shard
from ...gates.names import GateName
from ...journal.events import Event
from ...run.batches import memory_batches
from ...shard.copy_retention import retention_left
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from ...shard.location import Location
from ...shard.reader import ShardRead, ShardReader
from ...tree.znodes import Op, Znode
from ..parts.bind import bind
from ..parts.copies import ColdCopies
from ..parts.leased_shard import LeasedShard
from ..parts.operations import returning_to_hot
from .detached import detached_since
from .direction import NextAction, Refusals
from .report import MovedPartition, PatchedReport
from .run import RETRIES, MoveContext, PatchedRun
from .unregistered import not_known_to_be_dropped


def find_reheatable(context: MoveContext, shard_path: str) -> list[str]:
    """Return the partitions of a shard path with parts outside hot, sorted. Raises NoSuchTable, FormatError.

    A partition with State COLD, but in neither ensemble, is included unless the servers confirm its drop:
    cold may have lost its part znodes, and such a partition must not be skipped.
    """
    reader = ShardReader(context.hot, context.cold, ShardLayout(shard_path), context.leases.root)
    shard = reader.shard()
    outside = reader.partitions_not_only_in_hot(shard)
    in_doubt = not_known_to_be_dropped(context.servers, shard, outside.unregistered)
    return sorted([*outside.registered, *in_doubt])


def reheat_shard(
    context: MoveContext, shard_path: str, partition_ids: Sequence[str], report: PatchedReport | None = None
) -> PatchedReport:
    """Bring the partitions of one shard path back to hot.

    ``report.moved`` gets the partitions registered in hot again, ``copies_removed`` the partitions already in
    hot whose last copy was removed from cold. A dropped table defers its partitions. Raises EnsembleError and
    kin if an ensemble cannot be used; no partition is half moved then, and running again continues. Give an
    empty report to keep the outcomes up to an error.
    """
    report = PatchedReport(shard_path) if report is None else report
    for batch in memory_batches(partition_ids):
        PatchedRun(context, ToHot(context), report).carry_out(batch)
    return report


class ToHot:
    """Implements Direction: hot registers cold parts again. Cold keeps them for now."""

    event = Event.REHEATED
    state = State.HOT
    # The switch creates znodes, so cold is read again: a DROP PARTITION may have removed copies since, and
    # their parts must not come back.
    deletes_read_parts = False
    next_actions: Mapping[Location, NextAction] = {
        Location.HOT: NextAction.DONE,
        Location.COPIED: NextAction.CLEAN,
        Location.DROPPED: NextAction.CLEAN,
        Location.COLD: NextAction.SWITCH,
        Location.UNEVEN: NextAction.SWITCH,
        Location.MIXED: NextAction.SWITCH,
    }
    refusals = Refusals(
        keeps_changing=Refusal(
            GateName.QUIET_TABLE,
            f"its parts changed {RETRIES} times after the servers had been asked about them",
            "Run again when the partition is not dropped, merged or mutated any more",
        ),
        answer_lost=Refusal(
            GateName.POST_SWITCH_CHECK,
            "the answer to its switch was lost, and the run ended before State was read again",
            "Run part_move with state: hot again: the partition either is in hot by now or is brought back"
            " then",
        ),
        unchecked=Refusal(
            GateName.POST_SWITCH_CHECK,
            "the partition is registered in hot again, but the run ended before the servers were checked",
            "Check with replica_info that no server has detached a part of the partition",
        ),
        too_large="This collection moves no partition of that size: bring it back with the tool that moved"
        " it",
    )

    def __init__(self, context: MoveContext) -> None:
        self._context = context
        self._asked: dict[str, int] = {}
        """Replica → transaction that created it, as of when its server was asked."""

    def judge_early(self, shard: ShardFacts, partition_ids: Collection[str]) -> Mapping[str, Refusal]:
        """Judge by the gates of the whole table for this direction."""
        refusal = refuse_shard(shard, REHEAT_GATES)
        return {} if refusal is None else dict.fromkeys(partition_ids, refusal)

    def judge(self, read: ShardRead, partition_ids: Sequence[str], now: float) -> Judgement:
        """Judge by the gates for this direction; refuse if a replica was replaced since it was asked."""
        if any(self._asked.get(each.name, each.created) != each.created for each in read.shard.replicas):
            return Judgement(dict.fromkeys(partition_ids, _ADDED_AGAIN))
        returned = [self.expected(read.partitions[each]) for each in partition_ids]
        return Judgement(refuse_partitions(read.shard, returned, now, gates=REHEAT_GATES))

    def expected(self, partition: PartitionFacts) -> PartitionFacts:
        """Return the partition with its parts in hot again. No disk may lack one of them then."""
        returning = partition.only_in_cold
        hot = {
            replica: (*parts, *(part for part in returning if part.replica == replica))
            for replica, parts in partition.hot.items()
        }
        return replace(partition, hot=hot)

    def prepare(
        self, leased: LeasedShard, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]
    ) -> dict[str, Refusal]:
        """Bind; cold already has the parts."""
        bind(leased, shard)
        self._asked = {each.name: each.created for each in shard.replicas}
        return {}

    def is_changed(self, prepared: PartitionFacts, now: PartitionFacts) -> bool:
        """Return whether an ensemble has other part znodes than when the servers were asked."""
        return not now.is_cold or (now.hot, now.cold) != (prepared.hot, prepared.cold)

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """Return the creation of every missing part, then State."""
        return returning_to_hot(self.parts(partition), state)

    def parts(self, partition: PartitionFacts) -> Sequence[RegisteredPart]:
        """Return the parts in cold alone."""
        return partition.only_in_cold

    def row(self, partition: PartitionFacts) -> MovedPartition:
        """Return the row with the parts in hot again."""
        return MovedPartition.to_hot(partition.partition_id, partition.only_in_cold)

    def copies_needed(self, shard: ShardFacts, state: Znode | None, now: float) -> Refusal | None:
        """Return a refusal while a starting server may need the copies, otherwise None."""
        seconds = retention_left(shard, state, now)
        return _copies_needed(seconds) if seconds else None

    def clean(
        self, leased: LeasedShard, read: ShardRead, partition_ids: Sequence[str], report: PatchedReport
    ) -> None:
        """Remove unneeded copies, and defer the partitions whose copies have to stay."""
        bind(leased, read.shard)
        now = leased.taken_at
        needed = {
            each: self.copies_needed(read.shard, read.partitions[each].state, now) for each in partition_ids
        }
        refused = {each: refusal for each, refusal in needed.items() if refusal is not None}
        removable = [read.partitions[each] for each in partition_ids if each not in refused]
        own: dict[str, PartName] = {}
        refused.update(self._refuse_stray(read.shard, removable, now, own))
        passed = [each for each in partition_ids if each not in refused]
        gone, behind, removed = ColdCopies(leased, own).remove_unneeded(passed)
        report.copies_removed.update(gone)
        report.touched.update(removed.keys() - gone)
        rows = [{"shard_path": leased.layout.path, "partition": each} for each in sorted(gone)]
        self._context.journal.record(Event.COPIES_REMOVED, rows)
        staying = {each: behind.get(each, _copies_changed()) for each in passed if each not in gone}
        report.deferred.update(refused | staying)

    def discard(self, leased: LeasedShard, partition_ids: Collection[str]) -> bool:
        """Return False: this direction prepares nothing."""
        return False

    def abandon(self, leased: LeasedShard, moved: Collection[str]) -> None:
        """Do nothing: this direction prepares nothing."""

    def check_switched(
        self,
        leased: LeasedShard,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Fail partitions if a server detached a part before hot had it again."""
        parts = [part.name for each in switched.values() for part in each.only_in_cold]
        failures = detached_since(self._context.servers, shard, parts, detached_before)
        for each in sorted(failures.keys() & report.moved.keys()):
            report.fail(each, failures[each])

    def _refuse_stray(
        self,
        shard: ShardFacts,
        partitions: Sequence[PartitionFacts],
        now: float,
        own: dict[str, PartName],
    ) -> dict[str, Refusal]:
        """Add the copies of dropped parts to ``own``; refuse partitions whose parts a server may still have.

        A server killed before it deleted a dropped part from its disk has the part in the table again.
        """
        refused = refuse_partitions(shard, partitions, now, gates=STRAY_COPIES)
        if not self._context.servers.asks:
            return refused
        dropped = [each for each in partitions if each.partition_id in refused]
        if dropped:
            for each in dropped:
                del refused[each.partition_id]
                own.update({part.znode.path: part.name for part in each.only_in_cold})
            refused.update(self._context.servers.refusals(shard, dropped))
        return refused


_ADDED_AGAIN = Refusal(
    GateName.QUIET_TABLE,
    "a replica was dropped and added again under its name after its server had been asked about its parts",
    "Run again; the run then asks the server anew",
)


def _copies_needed(seconds: float) -> Refusal:
    if isinf(seconds):
        return Refusal(
            GateName.COPIES_NEEDED,
            "the partition is hot again, and a replica that is not active may still need its copies in cold",
            "Start the replica and run part_move with state: hot again; the copies are removed then",
        )
    return Refusal(
        GateName.COPIES_NEEDED,
        "the partition is hot again, and a server that is starting may still need its copies in cold",
        f"Run again in {max(1, round(seconds))} s; the copies are removed then",
    )


def _copies_changed() -> Refusal:
    return Refusal(
        GateName.COPIES_NEEDED,
        "the table changed just when the copies were to be removed",
        "Run again; the copies are removed then",
    )
