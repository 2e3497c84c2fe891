# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates in their order, and their judgement of a shard path and its partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..shard.facts import PartitionFacts, ShardFacts
from .gate import GateOptions, PartitionGate, Refusal, ShardGate
from .partition import PARTITION_GATES
from .shard import SHARD_GATES

__all__ = [
    "MOVE_GATES",
    "REHEAT_GATES",
    "STRAY_COPIES",
    "GateOptions",
    "Gates",
    "Refusal",
    "refuse_partitions",
    "refuse_shard",
]


class Gates(NamedTuple):
    """The gates of one direction, in their order."""

    shard: tuple[ShardGate, ...]
    partition: tuple[PartitionGate, ...]


MOVE_GATES = Gates(SHARD_GATES, PARTITION_GATES)

# The others keep from cold what cannot be cold for long; they must not keep it there. A TTL that was
# added to the table is even a reason to hurry.
_NOT_IN_THE_WAY_BACK = "no_ttl"
_IN_THE_WAY_BACK = ("queue_clear", "block_numbers_present", "payload_readable")

REHEAT_GATES = Gates(
    tuple(gate for gate in SHARD_GATES if gate.name != _NOT_IN_THE_WAY_BACK),
    tuple(gate for gate in PARTITION_GATES if gate.name in _IN_THE_WAY_BACK),
)
STRAY_COPIES = Gates((), tuple(gate for gate in PARTITION_GATES if gate.name == "no_stray_copies"))


def refuse_shard(shard: ShardFacts, gates: Gates = MOVE_GATES) -> Refusal | None:
    """The first gate that stops the whole shard path."""
    for gate in gates.shard:
        refusal = gate.refusal(shard)
        if refusal is not None:
            return refusal
    return None


def refuse_partitions(
    shard: ShardFacts,
    partitions: Sequence[PartitionFacts],
    options: GateOptions,
    gates: Gates = MOVE_GATES,
) -> dict[str, Refusal]:
    """Partition id → the first gate that stops it; a partition that may be moved is no key.

    A gate that stops the shard path stops every partition.
    """
    stopped = refuse_shard(shard, gates)
    if stopped is not None:
        return {partition.partition_id: stopped for partition in partitions}
    refused: dict[str, Refusal] = {}
    for partition in partitions:
        for gate in gates.partition:
            refusal = gate.refusal(shard, partition, options)
            if refusal is not None:
                refused[partition.partition_id] = refusal
                break
    return refused
