# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two ways to switch a partition: to the cold ensemble, and back to hot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..gates.judge import REHEAT_GATES, GateOptions, refuse_partitions
from ..gates.partition import is_registered_or_replaced
from ..gates.servers import Readiness
from ..shard.facts import COLD, HOT, PartitionFacts, RegisteredPart, ShardFacts
from ..tree.znodes import Delete, Op, SetData, Znode
from .copies import restoring
from .switch import Verdict


class ToCold:
    """Implements Direction: hot gives up a partition of which cold has verified copies."""

    state = COLD
    needs_cold = False
    too_large = "Merge the partition into fewer parts and run again"

    def __init__(self, readiness: Readiness, options: GateOptions) -> None:
        self._readiness = readiness
        self._options = options

    def judge(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Verdict:
        """All gates, and whether the servers are still those that know cold."""
        ready = self._readiness.look(shard)
        if ready.refusal is not None:
            return Verdict({each.partition_id: ready.refusal for each in partitions})
        return Verdict(refuse_partitions(shard, partitions, self._options), ready.checks)

    def is_changed(self, verified: PartitionFacts, now: PartitionFacts) -> bool:
        """Whether hot registers something else than what was copied."""
        return now.is_cold or now.hot != verified.hot

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """State first, then every part of every replica, children before their parent."""
        ops: list[Op] = [SetData(state.path, COLD, state.stat.version)]
        for part in partition.hot_parts:
            ops += [Delete(each.path, each.stat.version) for each in (*part.children, part.znode)]
        return ops


class ToHot:
    """Implements Direction: hot registers again what only cold has. Cold keeps it for now."""

    state = HOT
    # A DROP PARTITION that was carried out since takes the copies away, and they must not come back.
    needs_cold = True
    too_large = "This collection moves no partition of that size; what moved it has to bring it back"

    def __init__(self, options: GateOptions) -> None:
        self._options = options

    def judge(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Verdict:
        """The gates that also the way back has."""
        returned = [as_returned(each) for each in partitions]
        return Verdict(refuse_partitions(shard, returned, self._options, REHEAT_GATES))

    def is_changed(self, verified: PartitionFacts, now: PartitionFacts) -> bool:
        """Whether either ensemble registers something else than what the servers were asked about."""
        return not now.is_cold or (now.hot, now.cold) != (verified.hot, verified.cold)

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """Every part that hot has to have again, the parent before its children, then State."""
        return restoring(returning_parts(partition), state)


def returning_parts(partition: PartitionFacts) -> list[RegisteredPart]:
    """The parts that cold registers, and hot neither registers nor has replaced."""
    return [
        part
        for replica, parts in partition.cold.items()
        for part in parts
        if not is_registered_or_replaced(part, partition.hot[replica])
    ]


def as_returned(partition: PartitionFacts) -> PartitionFacts:
    """The partition as it will be: hot registers its parts again."""
    returning = returning_parts(partition)
    hot = {
        replica: (*parts, *(part for part in returning if part.replica == replica))
        for replica, parts in partition.hot.items()
    }
    return replace(partition, hot=hot)
