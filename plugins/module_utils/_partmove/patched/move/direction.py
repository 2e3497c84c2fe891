# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run to cold and a run to hot have apart; `run` is what they have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from ...formats.state import State
from ...gates.gate import Refusal
from ...gates.judge import Judgement
from ...journal.events import Event
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from ...shard.location import Location
from ...shard.reader import ShardRead
from ...tree.znodes import Op, Znode
from ..parts.leased_shard import LeasedShard
from .report import MovedPartition, PatchedReport


class NextAction(Enum):
    """What a run has to do for a partition, by its location."""

    DONE = "done"
    """Nothing: it is as the run would leave it."""
    SWITCH = "switch"
    """Judge, prepare and switch it."""
    CLEAN = "clean"
    """Remove its copies, or wait until they may be removed."""
    ELSEWHERE = "elsewhere"
    """Nothing can be done for it by this run."""


class Refusals(NamedTuple):
    """What a direction says of partitions that a run could not finish with."""

    keeps_changing: Refusal
    """It changed again and again after it had been prepared."""
    not_found_out: Refusal
    """The answer to its switch was lost for good."""
    not_looked_at_again: Refusal
    """It was switched, and the run ended before it was looked at again."""
    too_large: str
    """The way out for a partition whose operations do not fit one multi."""


class Direction(Protocol):
    """One direction of a run over one shard path; it lives as long as the run, over all its leases."""

    event: Event
    """What a journal calls a partition that was switched."""
    state: State
    """The State of a partition that was switched; one that was not has another."""
    deletes_what_was_read: bool
    """Whether the switch deletes all parts that hot has, each with the version that was read of it.

    Then right before it neither what cold has nor data of the same znodes are read once more.
    """
    next_actions: Mapping[Location, NextAction]
    """What to do with a partition where it is; ELSEWHERE for a location that is no key."""
    refusals: Refusals

    def judge_early(self, shard: ShardFacts, partition_ids: Collection[str]) -> Mapping[str, Refusal]:
        """What the shard path as a whole refuses at a look without the lease."""

    def judge(self, look: ShardRead, partition_ids: Sequence[str], now: float) -> Judgement:
        """What the gates say of partitions that are to be switched; servers are not asked."""

    def expected(self, partition: PartitionFacts) -> PartitionFacts:
        """The partition with those parts as registered in hot that servers have to have on disk."""

    def prepare(
        self, leased: LeasedShard, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]
    ) -> dict[str, Refusal]:
        """Do what has to be done before the switch; returns those that it failed for."""

    def is_changed(self, prepared: PartitionFacts, now: PartitionFacts) -> bool:
        """Whether the partition is not what was prepared."""

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """What switches the partition; ``state`` is its marker."""

    def parts(self, partition: PartitionFacts) -> Sequence[RegisteredPart]:
        """The parts that go over when the partition is switched."""

    def row(self, partition: PartitionFacts) -> MovedPartition:
        """What to record of a partition that was switched and was like this before."""

    def waits(self, shard: ShardFacts, state: Znode | None, now: float) -> Refusal | None:
        """Why the copies of a partition at the stage CLEAN have to stay; None where they may go."""

    def clean(
        self, leased: LeasedShard, look: ShardRead, partition_ids: Sequence[str], report: PatchedReport
    ) -> None:
        """Remove the copies of the partitions at the stage CLEAN, and tell the report."""

    def discard(self, leased: LeasedShard, partition_ids: Collection[str]) -> bool:
        """Remove what was prepared for partitions that are not switched; whether there was anything."""

    def abandon(self, leased: LeasedShard, moved: Collection[str]) -> None:
        """Remove what was prepared for all but the moved, where the shard path cannot be read any more."""

    def look_after(
        self,
        leased: LeasedShard,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Ask the servers, and look at the switched partitions again.

        Takes from ``report.moved`` what is not as it must be. ``shard`` has the replicas that are asked.
        """
