# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gate turns a reason into a refusal, and no reason into none."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import (
    GateCase,
    GateOptions,
    PartitionGate,
    Refusal,
    ShardGate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import ShardFacts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from support.memory.bench import DAY, Bench

OPTIONS = GateOptions(min_age=2.0, max_parts=3)
NAME = GateName.ONE_PART


@pytest.fixture
def reader() -> ShardReader:
    bench = Bench()
    return bench.reader()


@pytest.mark.parametrize(
    ("reason", "refusal"), [("it is so", Refusal(NAME, "it is so", "Do this")), (None, None)]
)
def test_a_gate_of_a_shard_path(reader: ShardReader, reason: str | None, refusal: Refusal | None) -> None:
    seen: list[ShardFacts] = []

    def look(shard: ShardFacts) -> str | None:
        seen.append(shard)
        return reason

    gate = ShardGate(NAME, "Something.", "Do this", look)
    shard = reader.shard()

    assert gate.refusal(shard) == refusal
    assert seen == [shard]


@pytest.mark.parametrize(
    ("reason", "refusal"), [("it is so", Refusal(NAME, "it is so", "Do this")), (None, None)]
)
def test_a_gate_of_a_partition(reader: ShardReader, reason: str | None, refusal: Refusal | None) -> None:
    seen: list[GateCase] = []

    def look(case: GateCase) -> str | None:
        seen.append(case)
        return reason

    gate = PartitionGate(NAME, "Something.", "Do this", look)
    shard, found = reader.read([DAY])
    case = GateCase(shard, found[DAY], OPTIONS, 1.0)

    assert gate.refusal(case) == refusal
    assert seen == [case]


def test_a_refusal_has_the_name_of_its_gate() -> None:
    assert Refusal(NAME, "it is so", "Do this").as_result() == {
        "gate": "one_part",
        "reason": "it is so",
        "remedy": "Do this",
    }
