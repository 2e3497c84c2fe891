# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of a shard path, the order of their reads, and changes during the read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import (
    PartitionFacts,
    state_text,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import read_inventory
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import (
    ColdPartitions,
    ShardReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import Arrange, both, create, create_cold, define
from support.memory.bench import DAY, OTHER, PART, PATH, Bench, Listing
from support.memory.synthetic import MINIMALISTIC

LAYOUT = ShardLayout(PATH)
NO_TABLE = f"There is no replicated table at {PATH} in the hot ensemble"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def reader_of(bench: Bench) -> ShardReader:
    return bench.reader()


def partition_of(bench: Bench, partition: str = DAY) -> PartitionFacts:
    return reader_of(bench).read([partition]).partitions[partition]


def test_an_invalid_part_name_is_refused_with_its_path(bench: Bench) -> None:
    create("replicas/r2/parts/tmp_insert")(bench)
    with pytest.raises(FormatError, match=f"{PATH}/replicas/r2/parts/tmp_insert"):
        partition_of(bench)


def test_an_invalid_part_name_in_cold_is_refused_with_its_ensemble(bench: Bench) -> None:
    create_cold("replicas/r2/parts/junk")(bench)
    place = f"{PATH}/replicas/r2/parts/junk in the cold ensemble: 'junk' is not the name"
    with pytest.raises(FormatError, match=place):
        partition_of(bench)
    with pytest.raises(FormatError, match=place):
        list(read_inventory(bench.hot_store, PATH, cold=bench.cold_store))


@pytest.mark.parametrize(
    ("arrange", "has_parts"),
    [
        (both(), False),
        (create_cold("replicas/r1/parts"), False),
        (create_cold(f"replicas/r1/parts/{PART}"), True),
        # A replica that hot does not have may be one of a former table.
        (create_cold(f"replicas/r9/parts/{PART}"), True),
    ],
)
def test_parts_in_cold_of_every_replica_count(bench: Bench, arrange: Arrange, has_parts: bool) -> None:
    arrange(bench)
    assert reader_of(bench).shard().has_parts_in_cold is has_parts


def test_parts_are_grouped_by_replica_and_ensemble(bench: Bench) -> None:
    create(f"replicas/r2/parts/{DAY}_1_1_0", MINIMALISTIC)(bench)
    create_cold(f"replicas/r1/parts/{PART}", MINIMALISTIC)(bench)
    bench.hot.create(f"{PATH}/block_numbers/{DAY}/State", b"HOT")

    found = partition_of(bench)

    assert found.exists
    assert state_text(found.state) == "HOT"
    assert found.names.hot == {"r1": [PART], "r2": [PART, f"{DAY}_1_1_0"]}
    assert found.names.cold == {"r1": [PART], "r2": []}
    assert reader_of(bench).read_hot([DAY], reread=True).partitions[DAY].cold == {}
    assert not partition_of(bench, "none").exists


def test_parts_merged_during_the_read_are_read_again(bench: Bench) -> None:
    """Otherwise the partition would seem to have lost parts."""
    bench.servers.insert(DAY)
    bench.servers.catch_up()
    hot = Listing(bench.hot_ensemble)
    reader = ShardReader(hot, bench.cold_store, LAYOUT, DEFAULT_ROOT)
    acts: list[Callable[[], object]] = [bench.servers.catch_up]
    bench.servers.assign_merge(DAY)
    hot.listed = lambda paths: acts.pop()() if acts and LAYOUT.replica("r1").parts in paths else None

    found = reader.read([DAY]).partitions[DAY]

    assert acts == []
    assert found.names.hot == {"r1": [f"{DAY}_0_2_1"], "r2": [f"{DAY}_0_2_1"]}


def test_a_partition_switched_during_the_read_is_left_out(bench: Bench) -> None:
    """Without the lease, its location is unknown."""
    hot = Listing(bench.hot_ensemble)
    reader = ShardReader(hot, bench.cold_store, LAYOUT, DEFAULT_ROOT)
    assert reader.registered_names([DAY, OTHER])[1].keys() == {DAY, OTHER}
    reader = ShardReader(hot, bench.cold_store, LAYOUT, DEFAULT_ROOT)
    hot.listed = lambda paths: bench.move() if LAYOUT.replica("r1").parts in paths else None

    assert reader.registered_names([DAY, OTHER])[1].keys() == {OTHER}


def test_state_is_not_read_again_where_nothing_is_concluded(bench: Bench) -> None:
    hot = Listing(bench.hot_ensemble)
    reader = ShardReader(hot, bench.cold_store, LAYOUT, DEFAULT_ROOT)
    hot.listed = lambda paths: bench.move() if LAYOUT.replica("r1").parts in paths else None

    found = reader.registered_names([DAY, OTHER], lambda names: names.is_cold)[1]

    assert found.keys() == {DAY, OTHER}
    assert not found[DAY].is_cold


def test_replicas_may_be_named_by_the_read_of_a_bar(bench: Bench) -> None:
    reader = reader_of(bench)
    assert reader.read_with_replicas("/missing") is None
    bench.hot.delete(LAYOUT.replica("r2").path, recursive=True)
    assert [each.name for each in reader.shard().replicas] == ["r1"]
    znode = reader.read_with_replicas(LAYOUT.log)
    assert znode is not None
    assert znode.path == LAYOUT.log


def test_names_of_parts_in_both_ensembles(bench: Bench) -> None:
    bench.move()
    reader = reader_of(bench)
    shard = reader.shard()
    other = f"{OTHER}_0_0_0"
    assert reader.names_in_hot(shard) == {"r1": {OTHER: [other]}, "r2": {OTHER: [other]}}
    assert reader.names_in_cold(shard) == {"r1": {DAY: [PART]}, "r2": {DAY: [PART]}}
    _shard, found = reader.registered_names([DAY, OTHER])
    assert {each: (where.is_cold, where.hot["r1"], where.cold["r1"]) for each, where in found.items()} == {
        DAY: (True, (), (PART,)),
        OTHER: (False, (other,), ()),
    }


def set_state(partition: str, data: bytes) -> Arrange:
    return create(f"block_numbers/{partition}/State", data)


@pytest.mark.parametrize(
    ("arrange", "found"),
    [
        (both(), ColdPartitions([], [])),
        (lambda bench: bench.move(DAY), ColdPartitions([DAY], [])),
        (create_cold(f"replicas/r2/parts/{OTHER}_0_0_0"), ColdPartitions([OTHER], [])),
        (set_state(OTHER, b"COLD"), ColdPartitions([OTHER], [])),
        (set_state(OTHER, b"HOT"), ColdPartitions([], [])),
        (
            both(lambda bench: bench.move(DAY), set_state(OTHER, b"COLD")),
            ColdPartitions([DAY, OTHER], []),
        ),
        (
            both(lambda bench: bench.move(DAY), lambda bench: bench.servers.drop(DAY)),
            ColdPartitions([], [DAY]),
        ),
    ],
    ids=["all hot", "cold", "a copy", "only marked", "marked as hot", "both", "dropped while cold"],
)
def test_partitions_not_only_in_hot(bench: Bench, arrange: Arrange, found: ColdPartitions) -> None:
    arrange(bench)
    reader = reader_of(bench)
    assert reader.partitions_not_only_in_hot(reader.shard()) == found


def test_names_of_a_recreated_table_are_parsed_again(bench: Bench) -> None:
    """A name has different meanings in the two data format versions."""
    name = "20190101_20190102_20190103_20190104_3"
    reader = reader_of(bench)
    create(f"replicas/r1/parts/{name}")(bench)
    create_cold(f"replicas/r1/parts/{name}")(bench)
    ids = ["201901", "20190101"]
    assert name in reader.names_in_hot(reader.shard())["r1"]["20190101"]
    assert [reader.read_names(ids).partitions[each].cold["r1"] for each in ids] == [(), (name,)]

    bench.servers.recreate()
    for replica in ("r1", "r2"):
        for part in bench.hot.get_children(f"{PATH}/replicas/{replica}/parts"):
            bench.hot.delete(f"{PATH}/replicas/{replica}/parts/{part}", recursive=True)
    create(f"replicas/r1/parts/{name}")(bench)
    define("metadata", lambda data: data.replace(b"\ndata format version: 1\npartition key: d", b""))(bench)

    assert reader.names_in_hot(reader.shard())["r1"] == {"201901": [name]}
    found = reader.read_names(ids).partitions
    assert [(found[each].hot["r1"], found[each].cold["r1"]) for each in ids] == [((name,), (name,)), ((), ())]
