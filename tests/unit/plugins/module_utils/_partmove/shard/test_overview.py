# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Totals and locations of a table's partitions."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import state_text
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.location import Location
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.overview import (
    PartitionOverview,
    Registered,
    read_overview,
)
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.memory import START
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import TableOptions


@pytest.fixture
def bench() -> Bench:
    return Bench()


def overviews(bench: Bench, only: list[str] | None = None) -> dict[str, PartitionOverview]:
    found = read_overview(bench.hot_store, bench.cold_store, PATH, only)
    assert [each.partition_id for each in found] == sorted(each.partition_id for each in found)
    return {each.partition_id: each for each in found}


def test_a_moved_and_an_unmoved_partition(bench: Bench) -> None:
    assert bench.move().moved.keys() == {DAY}

    found = overviews(bench)

    two = Registered(2, 2, 2 * len(MINIMALISTIC))
    assert found.keys() == {DAY, OTHER}
    assert (found[DAY].location, state_text(found[DAY].state)) == (Location.COLD, "COLD")
    assert (found[DAY].registered("hot"), found[DAY].registered("cold")) == (Registered(), two)
    assert (found[OTHER].location, state_text(found[OTHER].state)) == (Location.HOT, "")
    assert (found[OTHER].registered("hot"), found[OTHER].registered("cold")) == (two, Registered())


def test_children_of_a_part_count_as_znodes() -> None:
    found = overviews(Bench(TableOptions(partitions=(DAY,), parts=2, legacy=True)))
    assert found[DAY].registered("hot")[:2] == (4, 12)


def test_exactly_the_requested_partitions_are_returned_even_without_parts(bench: Bench) -> None:
    found = overviews(bench, [OTHER, "none"])
    assert found.keys() == {OTHER, "none"}
    assert (found["none"].location, found["none"].last_modified) == (Location.ABSENT, None)
    assert overviews(bench, []) == {}


@pytest.mark.parametrize("replica", ["r1", "r2"])
def test_a_replica_without_a_cold_part_makes_the_partition_drifted(bench: Bench, replica: str) -> None:
    """Also without any other part: every replica in hot counts, not only replicas with parts."""
    bench.move()
    bench.cold.delete(bench.part(replica))
    assert overviews(bench)[DAY].location is Location.UNEVEN


@pytest.mark.parametrize("dropped", [False, True])
def test_parts_in_cold_of_a_former_replica_do_not_count(bench: Bench, *, dropped: bool) -> None:
    """No server removes them, and no move sees them: what waits for them would wait for ever."""
    bench.move()
    bench.hot.delete(f"{PATH}/replicas/r2", recursive=True)
    if dropped:
        bench.cold.delete(bench.part("r1"))
    else:
        assert bench.reheat().moved.keys() == {DAY}
        bench.clock.time += 700
        bench.reheat()
    found = overviews(bench)[DAY]
    assert found.location is (Location.ABSENT if dropped else Location.HOT)
    assert found.former_replicas == ["r2"]
    assert found.registered("cold").parts == 1


def test_without_cold_only_hot_counts(bench: Bench) -> None:
    bench.move()
    assert [each.partition_id for each in read_overview(bench.hot_store, None, PATH)] == [OTHER]


def test_a_copy_does_not_make_a_partition_younger(bench: Bench) -> None:
    bench.clock.time += 60
    bench.hot.create(bench.part("r1", f"{DAY}_1_1_0"), MINIMALISTIC)
    bench.clock.time += 60
    bench.cold.create(bench.part("r1"), MINIMALISTIC, makepath=True)
    bench.cold.create(bench.part("r9", f"{OTHER}_0_0_0"), MINIMALISTIC, makepath=True)
    for replica in ("r1", "r2"):
        bench.hot.delete(bench.part(replica, f"{OTHER}_0_0_0"))

    found = overviews(bench)

    assert found[DAY].last_modified == (START + 60) * 1000
    assert found[OTHER].last_modified == (START + 120) * 1000
    assert [(row.ensemble, row.replica, row.part) for row in found[DAY].rows] == [
        ("hot", "r1", PART),
        ("hot", "r1", f"{DAY}_1_1_0"),
        ("hot", "r2", PART),
        ("cold", "r1", PART),
    ]


def test_a_missing_table(bench: Bench) -> None:
    with pytest.raises(NoSuchTable, match="There is no replicated table at /none in the hot ensemble"):
        read_overview(bench.hot_store, bench.cold_store, "/none")
