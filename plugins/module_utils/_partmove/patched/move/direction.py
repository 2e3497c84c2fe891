# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The differences between a run to cold and a run to hot; `run` has the common part."""

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
    """The next action of a run for a partition, by its location."""

    DONE = "done"
    """None: the partition is in the desired state."""
    SWITCH = "switch"
    """Judge, prepare and switch the partition."""
    CLEAN = "clean"
    """Remove the copies of the partition, or wait until no server can need them."""
    LEAVE = "leave"
    """None: no run in this direction starts from this location."""


class Refusals(NamedTuple):
    """The refusals of a direction for partitions that a run could not finish."""

    keeps_changing: Refusal
    """The partition changed again and again after its preparation."""
    answer_lost: Refusal
    """The answer to the switch was lost for good."""
    unchecked: Refusal
    """The partition was switched, and the run ended before the check after the switch."""
    too_large: str
    """The remedy for a partition whose operations do not fit one multi."""


class Direction(Protocol):
    """One direction of a run over one shard path; it lives as long as the run, over all its leases."""

    event: Event
    """The journal event of a switched partition."""
    state: State
    """The State of a switched partition; before the switch, State is different."""
    deletes_read_parts: bool
    """Whether the switch deletes all parts in hot, each with the version read before.

    If so, the read right before the switch skips cold, and the data of unchanged znodes in hot.
    """
    next_actions: Mapping[Location, NextAction]
    """Location → next action; LEAVE for a location that is no key."""
    refusals: Refusals

    def judge_early(self, shard: ShardFacts, partition_ids: Collection[str]) -> Mapping[str, Refusal]:
        """Return partition id → refusal by the gates of the whole shard path, before the lease is taken."""

    def judge(self, read: ShardRead, partition_ids: Sequence[str], now: float) -> Judgement:
        """Judge the partitions to be switched by the gates, without asking the servers."""

    def expected(self, partition: PartitionFacts) -> PartitionFacts:
        """Return the partition with the parts expected on the disks as its parts in hot."""

    def prepare(
        self, leased: LeasedShard, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]
    ) -> dict[str, Refusal]:
        """Prepare the partitions for the switch; return partition id → refusal for each failure."""

    def is_changed(self, prepared: PartitionFacts, now: PartitionFacts) -> bool:
        """Return whether the partition differs from the prepared one."""

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """Return the operations of the switch; ``state`` is the State znode."""

    def parts(self, partition: PartitionFacts) -> Sequence[RegisteredPart]:
        """Return the parts that change the ensemble with the switch."""

    def row(self, partition: PartitionFacts) -> MovedPartition:
        """Return the row of a switched partition; ``partition``: the facts before the switch."""

    def copies_needed(self, shard: ShardFacts, state: Znode | None, now: float) -> Refusal | None:
        """Return why the copies of a partition with the action CLEAN have to stay; None if they may go."""

    def clean(
        self, leased: LeasedShard, read: ShardRead, partition_ids: Sequence[str], report: PatchedReport
    ) -> None:
        """Remove the copies of the partitions with the action CLEAN, and report the outcomes."""

    def discard(self, leased: LeasedShard, partition_ids: Collection[str]) -> bool:
        """Remove the preparations for partitions that are not switched; return whether there were any."""

    def abandon(self, leased: LeasedShard, moved: Collection[str]) -> None:
        """Remove the preparations for all but the moved partitions, if the shard path became unreadable."""

    def check_switched(
        self,
        leased: LeasedShard,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Ask the servers, and read the switched partitions again.

        Moves inconsistent partitions from ``report.moved`` to another outcome. ``shard`` has the replicas to
        ask.
        """
