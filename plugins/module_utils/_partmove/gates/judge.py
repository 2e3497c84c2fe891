# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates in their order, and their judgement of a shard path and its partitions."""

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
    """Which partitions are refused, and what a multi has to check for the others to stay as judged."""

    refused: Mapping[str, Refusal]
    """Partition id → why not; a partition that may go on is no key."""
    checks: tuple[Op, ...] = ()


# The others keep from cold what cannot be cold for long; they must not keep it there. A TTL that was
# added to the table is even a reason to hurry.
_NOT_IN_THE_WAY_BACK = (GateName.NO_TTL,)
_IN_THE_WAY_BACK = (GateName.QUEUE_CLEAR, GateName.BLOCK_NUMBERS_PRESENT, GateName.PAYLOAD_READABLE)

_CHECK_NO_COLD_PART = (
    "Do not CHECK the table, which would detach what is cold: part_audit_info tells what is registered,"
    " also in the cold ensemble, which system.zookeeper does not show, and part_repair repairs it"
)

MOVE_GATES = Gates(SHARD_GATES, PARTITION_GATES)
REHEAT_GATES = Gates(
    tuple(gate for gate in SHARD_GATES if gate.name not in _NOT_IN_THE_WAY_BACK),
    tuple(
        replace(gate, remedy=_CHECK_NO_COLD_PART) if gate.name is GateName.PAYLOAD_READABLE else gate
        for gate in PARTITION_GATES
        if gate.name in _IN_THE_WAY_BACK
    ),
)
STRAY_COPIES = Gates((), tuple(gate for gate in PARTITION_GATES if gate.name is GateName.NO_STRAY_COPIES))

_ANY = GateOptions(min_age=0.0, max_parts=1)


def refuse_shard(shard: ShardFacts, gates: Gates = MOVE_GATES) -> Refusal | None:
    """The first gate that stops the whole shard path."""
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
    """Partition id → the first gate that stops it; a partition that may be moved is no key.

    A gate that stops the shard path stops every partition. ``now`` is in seconds since 1970.
    """
    stopped = refuse_shard(shard, gates)
    if stopped is not None:
        return {partition.partition_id: stopped for partition in partitions}
    refused: dict[str, Refusal] = {}
    # Hardly any gate is closed, and there are eleven a partition: a refusal is made where there is a reason.
    reasons = [(gate, gate.reason) for gate in gates.partition]
    for partition in partitions:
        case = GateCase(shard, partition, options, now)
        for gate, reason_of in reasons:
            reason = reason_of(case)
            if reason is not None:
                refused[partition.partition_id] = gate.refused_for(reason)
                break
    return refused
