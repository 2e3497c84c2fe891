# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates of each direction in their order, and the judgement of a shard path and its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..shard.facts import PartitionFacts, ShardFacts
from ..tree.znodes import Op
from .gate import GateCase, GateOptions, PartitionGate, Refusal, ShardGate
from .names import GateName
from .partition import PARTITION_GATES
from .shard import SHARD_GATES


class Gates(NamedTuple):
    """The gates of one direction, in their order."""

    shard: tuple[ShardGate, ...]
    partition: tuple[PartitionGate, ...]


class Judgement(NamedTuple):
    """The refused partitions, and the operations to keep the judgement valid."""

    refused: Mapping[str, Refusal]
    """Partition id → refusal; a partition that passed is no key."""
    checks: tuple[Op, ...] = ()
    """Check operations for the multi of the switch: they fail if the judgement no longer holds."""


# All other gates keep a partition out of cold that cannot stay there for long. They must not keep such a
# partition in cold. A TTL that was added to the table is even a reason to bring the partition back soon.
_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL,)
_PARTITION_GATES_FOR_REHEAT = (
    GateName.QUEUE_CLEAR,
    GateName.BLOCK_NUMBERS_PRESENT,
    GateName.PAYLOAD_READABLE,
)

_DO_NOT_CHECK_A_COLD_PART = (
    "Do not CHECK the table: CHECK would detach the cold parts. Run part_audit_info, which lists the part"
    " znodes of both ensembles (system.zookeeper shows hot only), then part_repair with the kind it reports"
)

MOVE_GATES = Gates(SHARD_GATES, PARTITION_GATES)
REHEAT_GATES = Gates(
    tuple(gate for gate in SHARD_GATES if gate.name not in _SHARD_GATES_NOT_FOR_REHEAT),
    tuple(
        replace(gate, remedy=_DO_NOT_CHECK_A_COLD_PART) if gate.name is GateName.PAYLOAD_READABLE else gate
        for gate in PARTITION_GATES
        if gate.name in _PARTITION_GATES_FOR_REHEAT
    ),
)
STATE_GATES = Gates((), tuple(gate for gate in PARTITION_GATES if gate.name is GateName.QUEUE_CLEAR))
"""The gates of a change of State alone: an entry that waits now reads State when a server executes it."""
STRAY_COPIES = Gates((), tuple(gate for gate in PARTITION_GATES if gate.name is GateName.NO_STRAY_COPIES))

_ANY = GateOptions(min_age=0.0, max_parts=1)


def refuse_shard(shard: ShardFacts, gates: Gates = MOVE_GATES) -> Refusal | None:
    """Return the refusal of the first closed gate of the shard path, or None."""
    refusals = (gate.refusal(shard) for gate in gates.shard)
    return next((refusal for refusal in refusals if refusal is not None), None)


def refuse_partitions(
    shard: ShardFacts,
    partitions: Sequence[PartitionFacts],
    now: float,
    *,
    options: GateOptions = _ANY,
    gates: Gates = MOVE_GATES,
) -> dict[str, Refusal]:
    """Return partition id → refusal of the first closed gate; a partition that passed is no key.

    A closed shard gate refuses every partition. ``now`` is in seconds since 1970.
    """
    stopped = refuse_shard(shard, gates)
    if stopped is not None:
        return {partition.partition_id: stopped for partition in partitions}
    refused: dict[str, Refusal] = {}
    # Eleven gates a partition, nearly always open: build a refusal only for a closed gate.
    reasons = [(gate, gate.reason) for gate in gates.partition]
    for partition in partitions:
        case = GateCase(shard, partition, options, now)
        for gate, reason_of in reasons:
            reason = reason_of(case)
            if reason is not None:
                refused[partition.partition_id] = gate.refused_for(reason)
                break
    return refused
