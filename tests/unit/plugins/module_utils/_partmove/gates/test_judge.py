# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judgement of all gates: which closed gate is reported, and for which partitions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import (
    PartitionGate,
    ShardGate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import (
    MOVE_GATES,
    REHEAT_GATES,
    STRAY_COPIES,
    Gates,
    refuse_partitions,
    refuse_shard,
)
from support.memory.arrange import Arrange, both, create, create_cold, define, entry, on_both
from support.memory.bench import DAY, OTHER, PART, Bench
from support.memory.gate_cases import REMEDIES

CLOSE: dict[str, Arrange] = {
    "queue_clear": create("log/log-0000000000", entry(f"get\n{DAY}_1_1_0\n".encode())),
    "no_ttl": define("metadata", lambda data: data + b"ttl: d + 1\n"),
    "one_part": on_both(f"{DAY}_1_1_0"),
    "replicas_healthy": lambda bench: bench.servers.stop(),
    "same_table": create_cold(f"replicas/r1/parts/{PART}"),
    "no_stray_copies": create_cold(f"replicas/r1/parts/{DAY}_7_7_0"),
    "old_enough": lambda bench: setattr(bench, "options", bench.options._replace(min_age=1.0)),
}
"""Ways to let gates trip for DAY; of the last, cold also gets parts that are not ours."""


def judged(bench: Bench, gates: Gates = MOVE_GATES) -> dict[str, str]:
    """Return partition id → name of the gate that refuses it."""
    reader = bench.reader()
    shard, found = reader.read([DAY, OTHER])
    partitions, now = list(found.values()), bench.clock.now()
    refusals = refuse_partitions(shard, partitions, now, options=bench.options, gates=gates)
    stopped = refuse_shard(shard, gates)
    assert stopped is None or set(refusals.values()) == {stopped}
    return {partition: refusal.gate.value for partition, refusal in refusals.items()}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("queue_clear", "no_ttl", "one_part", "replicas_healthy"), "replicas_healthy"),
        (("queue_clear", "no_ttl", "one_part"), "no_ttl"),
        (("one_part", "same_table"), "same_table"),
        (("old_enough", "one_part", "queue_clear"), "queue_clear"),
        (("old_enough", "one_part"), "one_part"),
    ],
)
def test_the_first_closed_gate_is_reported(names: Sequence[str], told: str) -> None:
    assert told == min(names, key=list(REMEDIES).index)
    for last in names:
        bench = Bench()
        both(*(CLOSE[name] for name in names if name != last), CLOSE[last])(bench)
        assert judged(bench)[DAY] == told


def test_a_gate_of_the_shard_path_stops_every_partition_and_another_its_own() -> None:
    bench = Bench()
    assert judged(bench) == {}
    CLOSE["queue_clear"](bench)
    assert judged(bench) == {DAY: "queue_clear"}
    CLOSE["replicas_healthy"](bench)
    assert judged(bench) == {DAY: "replicas_healthy", OTHER: "replicas_healthy"}


@pytest.mark.parametrize(
    ("name", "gates", "told"),
    [
        ("no_ttl", REHEAT_GATES, None),
        ("one_part", REHEAT_GATES, None),
        ("replicas_healthy", REHEAT_GATES, "replicas_healthy"),
        ("queue_clear", REHEAT_GATES, "queue_clear"),
        ("replicas_healthy", STRAY_COPIES, None),
        ("queue_clear", STRAY_COPIES, None),
        ("no_stray_copies", STRAY_COPIES, "no_stray_copies"),
    ],
)
def test_every_direction_has_gates_of_its_own(name: str, gates: Gates, told: str | None) -> None:
    bench = Bench()
    CLOSE[name](bench)
    assert judged(bench, gates).get(DAY) == told


def test_a_gate_is_known_by_one_name() -> None:
    assert len(REMEDIES) == len(MOVE_GATES.shard) + len(MOVE_GATES.partition)


def test_a_gate_says_whole_sentences_in_the_manual() -> None:
    gates: list[ShardGate | PartitionGate] = [*MOVE_GATES.shard, *MOVE_GATES.partition]
    for gate in gates:
        assert gate.protects.endswith("."), gate.name
        assert gate.remedy, gate.name
        assert not gate.remedy.endswith("."), gate.name
