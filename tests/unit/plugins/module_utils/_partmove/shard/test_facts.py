# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Properties of facts: payloads, markers, and ensembles of parts."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import (
    PartitionFacts,
    RegisteredNames,
    RegisteredPart,
    ShardFacts,
    state_text,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.bench import PATH, Bench

STAT = Stat(*[0] * 11)


def state(data: bytes | None) -> Znode | None:
    return None if data is None else Znode(f"{PATH}/block_numbers/all/State", data, STAT)


def part(replica: str, name: str, data: bytes = b"", **children: bytes) -> RegisteredPart:
    path = f"{PATH}/replicas/{replica}/parts/{name}"
    znodes = tuple(Znode(f"{path}/{child}", content, STAT) for child, content in children.items())
    return RegisteredPart(parse_part_name(name, 1, path), Znode(path, data, STAT), znodes)


R1_FIRST, R1_SECOND, R2_FIRST = part("r1", "all_0_0_0"), part("r1", "all_1_1_0"), part("r2", "all_0_0_0")


def partition(data: bytes | None = None) -> PartitionFacts:
    """A partition with two parts of r1 in hot, and one of r2 in cold."""
    hot = {"r1": (R1_FIRST, R1_SECOND), "r2": ()}
    return PartitionFacts("all", True, state(data), (), hot, {"r1": (), "r2": (R2_FIRST,)})


def test_the_payload_is_the_data_of_the_part_znode_and_its_children() -> None:
    legacy = part("r1", "all_0_0_0", checksums=b"sums", columns=b"names")
    assert legacy.payload == (b"", (("checksums", b"sums"), ("columns", b"names")))
    assert (legacy.znodes, legacy.data_bytes, legacy.replica) == (3, 9, "r1")

    minimalistic = part("r2", "all_0_0_0", b"header")
    assert minimalistic.payload == (b"header", ())
    assert (minimalistic.znodes, minimalistic.data_bytes, minimalistic.replica) == (1, 6, "r2")


@pytest.mark.parametrize(
    "other",
    [
        part("r2", "all_0_0_0", b"data", checksums=b"sums", columns=b"names"),
        part("replica_10", "all_0_0_0", b"data", checksums=b"sums", columns=b"names"),
        part("r2", "all_0_0_0", b"date", checksums=b"sums", columns=b"names"),
        part("r2", "all_0_0_0", b"data", checksums=b"sums", columns=b"mames"),
        part("r2", "all_0_0_0", b"data", checksums=b"sum", columns=b"names"),
        part("r2", "all_0_0_0", b"data", checksums=b"sums", column=b"names"),
        part("r2", "all_0_0_0", b"data", checksums=b"sums"),
        part("r2", "all_0_0_0", b"data", checksums=b"sums", columns=b"names", more=b""),
        part("r2", "all_0_0_0", b"data"),
    ],
)
def test_parts_with_equal_payloads_are_registered_alike(other: RegisteredPart) -> None:
    legacy = part("r1", "all_0_0_0", b"data", checksums=b"sums", columns=b"names")
    assert legacy.registers_as(other) == other.registers_as(legacy) == (legacy.payload == other.payload)


@pytest.mark.parametrize(
    ("data", "is_cold", "text"),
    [
        (None, False, ""),
        (b"", False, ""),
        (b"HOT", False, "HOT"),
        (b"COLD", True, "COLD"),
        (b"COLD\n", False, "COLD\n"),
        (b"cold", False, "cold"),
        (b"\xffCOLD", False, "\\xffCOLD"),
    ],
)
def test_a_partition_is_cold_if_state_is_exactly_cold(data: bytes | None, is_cold: bool, text: str) -> None:
    found = partition(data)
    assert found.is_cold is is_cold
    assert found.names.is_cold is is_cold
    assert state_text(found.state) == text


def test_a_partition_by_the_names_of_its_parts() -> None:
    found = partition(b"HOT")
    assert found.names == RegisteredNames(
        state(b"HOT"), {"r1": ["all_0_0_0", "all_1_1_0"], "r2": []}, {"r1": [], "r2": ["all_0_0_0"]}
    )
    assert found.hot_parts == (R1_FIRST, R1_SECOND)
    assert found.cold_parts == [R2_FIRST]


@pytest.fixture
def shard() -> ShardFacts:
    bench = Bench()
    return bench.reader().shard()


def test_a_part_in_hot_of_another_replica_counts_as_only_in_cold() -> None:
    assert partition().only_in_cold == [R2_FIRST]
    both = PartitionFacts("all", True, None, (), {"r2": (R2_FIRST,)}, {"r2": (R2_FIRST,)})
    assert both.only_in_cold == []
