# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which gates each act has, and what they advise."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import (
    MOVE_GATES,
    REHEAT_GATES,
    STATE_GATES,
    STRAY_COPIES,
    Gates,
    refuse_partitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import PARTITION_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from support.memory.arrange import on_both
from support.memory.bench import DAY, Bench

OF_SHARDS = {gate.name for gate in SHARD_GATES}
TO_COME_BACK = {GateName.QUEUE_CLEAR, GateName.BLOCK_NUMBERS_PRESENT, GateName.PAYLOAD_READABLE}


@pytest.mark.parametrize(
    ("gates", "of_shards", "of_partitions"),
    [
        (MOVE_GATES, OF_SHARDS, {gate.name for gate in PARTITION_GATES}),
        (REHEAT_GATES, OF_SHARDS - {GateName.NO_TTL}, TO_COME_BACK),
        (STATE_GATES, set(), {GateName.QUEUE_CLEAR}),
        (STRAY_COPIES, set(), {GateName.NO_STRAY_COPIES}),
    ],
    ids=["move", "bring back", "state", "stray copies"],
)
def test_the_gates_of_each_act(gates: Gates, of_shards: set[GateName], of_partitions: set[GateName]) -> None:
    assert {gate.name for gate in gates.shard} == of_shards
    assert {gate.name for gate in gates.partition} == of_partitions


def test_only_the_advice_for_a_damaged_cold_part_differs() -> None:
    """CHECK TABLE would detach a cold part."""
    remedies = {gate.name: gate.remedy for gate in MOVE_GATES.partition}
    differing = {
        gate.name: gate.remedy for gate in REHEAT_GATES.partition if gate.remedy != remedies[gate.name]
    }

    assert differing.keys() == {GateName.PAYLOAD_READABLE}
    assert differing[GateName.PAYLOAD_READABLE].startswith("Do not CHECK the table")


def test_without_options_one_part_may_move_and_two_may_not() -> None:
    bench = Bench()
    shard, found = bench.reader().read([DAY])
    assert refuse_partitions(shard, list(found.values()), bench.clock.now()) == {}

    on_both(f"{DAY}_1_1_0")(bench)
    shard, found = bench.reader().read([DAY])
    refused = refuse_partitions(shard, list(found.values()), bench.clock.now())
    assert refused[DAY].gate is GateName.ONE_PART
