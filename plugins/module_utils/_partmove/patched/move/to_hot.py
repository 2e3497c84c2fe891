# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way back: registers cold partitions in hot again, and later removes their copies from cold.

Phases of a partition, each of which a run can end after:

- COLD: cold alone registers it. One multi creates its parts in hot and sets State to HOT.
- HOT with copies: hot registers it, as does cold. A server that is starting may have read hot before the
  multi and has yet to read cold, so the copies stay until no such server can be left. A DROP PARTITION
  takes the parts out of hot only; their copies go at the same time as others, once the servers say that
  they have none of these parts.
- HOT: done.

Servers read hot first and cold after it, so at no moment does one find a part in neither.
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
    """Partitions of a shard path that are not only in hot, sorted. Raises NoSuchTable, FormatError.

    Also those that State says to be cold and that are registered nowhere, unless the servers say that they
    have none of them: cold may have lost them, and they must not be passed over.
    """
    reader = ShardReader(context.hot, context.cold, ShardLayout(shard_path), context.leases.root)
    shard = reader.shard()
    found = reader.partitions_not_only_in_hot(shard)
    return sorted([*found.registered, *not_known_to_be_dropped(context.servers, shard, found.unregistered)])


def reheat_shard(
    context: MoveContext, shard_path: str, partition_ids: Sequence[str], report: PatchedReport | None = None
) -> PatchedReport:
    """Bring the partitions of one shard path back to hot.

    ``report.moved`` has those that hot registers again, ``copies_removed`` those that were so before and
    that cold has no copies of any more. Raises EnsembleError and its kin when an ensemble cannot be used,
    and NoSuchTable; nothing is half done then, and running again goes on. Give an empty report to keep
    what was done until then.
    """
    report = PatchedReport(shard_path) if report is None else report
    for stage in memory_batches(partition_ids):
        PatchedRun(context, ToHot(context), report).carry_out(stage)
    return report


class ToHot:
    """Implements Direction: hot registers again what only cold has. Cold keeps it for now."""

    event = Event.REHEATED
    state = State.HOT
    # It creates; a DROP PARTITION that was carried out since takes copies away, which must not come back.
    deletes_what_was_read = False
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
        not_found_out=Refusal(
            GateName.POST_SWITCH_CHECK,
            "the answer to its switch was lost, and the run ended before it was found out",
            "Run again: it is either in hot by now or will be brought back then",
        ),
        not_looked_at_again=Refusal(
            GateName.POST_SWITCH_CHECK,
            "it is registered in hot again, but the run ended before the servers were looked at",
            "See with replica_info that no server has detached a part of it",
        ),
        too_large="This collection moves no partition of that size; what moved it has to bring it back",
    )

    def __init__(self, context: MoveContext) -> None:
        self._context = context
        self._asked: dict[str, int] = {}
        """Replica → transaction that created it, as of when its server was asked."""

    def judge_early(self, shard: ShardFacts, partition_ids: Collection[str]) -> Mapping[str, Refusal]:
        """The gates at the whole table that also the way back has."""
        refusal = refuse_shard(shard, REHEAT_GATES)
        return {} if refusal is None else dict.fromkeys(partition_ids, refusal)

    def judge(self, look: ShardRead, partition_ids: Sequence[str], now: float) -> Judgement:
        """The gates that also the way back has, and that no replica is another one than was asked."""
        if any(self._asked.get(each.name, each.created) != each.created for each in look.shard.replicas):
            return Judgement(dict.fromkeys(partition_ids, _ADDED_AGAIN))
        returned = [self.expected(look.partitions[each]) for each in partition_ids]
        return Judgement(refuse_partitions(look.shard, returned, now, gates=REHEAT_GATES))

    def expected(self, partition: PartitionFacts) -> PartitionFacts:
        """The partition as it will be: hot registers its parts again. No disk may lack one of them then."""
        returning = partition.only_in_cold
        hot = {
            replica: (*parts, *(part for part in returning if part.replica == replica))
            for replica, parts in partition.hot.items()
        }
        return replace(partition, hot=hot)

    def prepare(
        self, leased: LeasedShard, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]
    ) -> dict[str, Refusal]:
        """Bind; cold has what hot is to have."""
        bind(leased, shard)
        self._asked = {each.name: each.created for each in shard.replicas}
        return {}

    def is_changed(self, prepared: PartitionFacts, now: PartitionFacts) -> bool:
        """Whether either ensemble registers something else than what the servers were asked about."""
        return not now.is_cold or (now.hot, now.cold) != (prepared.hot, prepared.cold)

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """Every part that hot has to have again, then State."""
        return returning_to_hot(self.parts(partition), state)

    def parts(self, partition: PartitionFacts) -> Sequence[RegisteredPart]:
        """What cold alone has."""
        return partition.only_in_cold

    def row(self, partition: PartitionFacts) -> MovedPartition:
        """The parts that hot has again."""
        return MovedPartition.to_hot(partition.partition_id, partition.only_in_cold)

    def waits(self, shard: ShardFacts, state: Znode | None, now: float) -> Refusal | None:
        """Copies stay while a server that is starting may look for them."""
        seconds = retention_left(shard, state, now)
        return _copies_needed(seconds) if seconds else None

    def clean(
        self, leased: LeasedShard, look: ShardRead, partition_ids: Sequence[str], report: PatchedReport
    ) -> None:
        """Remove copies that no server can need any more, and defer the partitions of all others."""
        bind(leased, look.shard)
        now = leased.taken_at
        waits = {each: self.waits(look.shard, look.partitions[each].state, now) for each in partition_ids}
        refused = {each: refusal for each, refusal in waits.items() if refusal is not None}
        waited = [look.partitions[each] for each in partition_ids if each not in refused]
        own: dict[str, PartName] = {}
        refused.update(self._refuse_stray(look.shard, waited, now, own))
        passed = [each for each in partition_ids if each not in refused]
        gone, behind, removed = ColdCopies(leased, own).remove_unneeded(passed)
        report.copies_removed.update(gone)
        report.touched.update(removed.keys() - gone)
        rows = [{"shard_path": leased.layout.path, "partition": each} for each in sorted(gone)]
        self._context.journal.record(Event.COPIES_REMOVED, rows)
        kept = {each: behind.get(each, _copies_changed()) for each in passed if each not in gone}
        report.deferred.update(refused | kept)

    def discard(self, leased: LeasedShard, partition_ids: Collection[str]) -> bool:
        """There is nothing to remove, as nothing was prepared."""
        return False

    def abandon(self, leased: LeasedShard, moved: Collection[str]) -> None:
        """There is nothing to remove, as nothing was prepared."""

    def look_after(
        self,
        leased: LeasedShard,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Whether a server took a part out of the table before hot had it again."""
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
        """Add the copies of parts that were dropped since to ``own``; refuse what a server may still have.

        A server that was killed before it could delete such a part from its disk has it in the table again.
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
    "Run again; the server is asked anew then",
)


def _copies_needed(seconds: float) -> Refusal:
    if isinf(seconds):
        return Refusal(
            GateName.COPIES_NEEDED,
            "it is hot again, and a replica that is not active may still look for its copies",
            "Start the replica and run again; the copies are removed then",
        )
    return Refusal(
        GateName.COPIES_NEEDED,
        "it is hot again, and a server that is starting may still look for its copies",
        f"Run again in {max(1, round(seconds))} s; the copies are removed then",
    )


def _copies_changed() -> Refusal:
    return Refusal(
        GateName.COPIES_NEEDED,
        "something happened to the table just when its copies were to be removed",
        "Run again; the copies are removed then",
    )
