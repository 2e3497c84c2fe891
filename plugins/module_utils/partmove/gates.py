# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates in their order, and their judgement of a shard path and its partitions."""

from __future__ import annotations

from collections.abc import Sequence

from .facts import PartitionFacts, ShardFacts
from .gate import GateOptions, Refusal
from .partition_gates import PARTITION_GATES
from .shard_gates import SHARD_GATES

__all__ = ["GateOptions", "Refusal", "refuse_partitions", "refuse_shard"]


def refuse_shard(shard: ShardFacts) -> Refusal | None:
    """The first gate that stops the whole shard path."""
    for gate in SHARD_GATES:
        refusal = gate.refusal(shard)
        if refusal is not None:
            return refusal
    return None


def refuse_partitions(
    shard: ShardFacts, partitions: Sequence[PartitionFacts], options: GateOptions
) -> dict[str, Refusal]:
    """Partition id → the first gate that stops it; a partition that may be moved is no key.

    A gate that stops the shard path stops every partition.
    """
    stopped = refuse_shard(shard)
    if stopped is not None:
        return {partition.partition_id: stopped for partition in partitions}
    refused: dict[str, Refusal] = {}
    for partition in partitions:
        for gate in PARTITION_GATES:
            refusal = gate.refusal(shard, partition, options)
            if refusal is not None:
                refused[partition.partition_id] = refusal
                break
    return refused
