# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory: which shard paths there are, and what is registered at each.

Tables in real ensembles, also such as change during the walk, are in ``tests/integration``.
"""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    FormatError,
    NoSuchTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard import inventory
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import (
    InventoryRow,
    check_tables,
    count_parts,
    find_paths_in_cold,
    find_shard_paths,
    read_inventory,
)
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.memory import START, ManualClock, MemoryEnsemble
from support.memory.synthetic import LEGACY, MINIMALISTIC, SyntheticTable

HITS, VISITS = "/clickhouse/tables/01/hits", "/clickhouse/tables/01/visits"
LEGACY_BYTES = sum(len(data) for data in LEGACY.values())


class Pair:
    """Two ensembles with clients to fill them, and stores to read them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock).open() for name in ("hot", "cold"))
        self.hot_client, self.cold_client = MemoryClient(self.hot), MemoryClient(self.cold)

    def table(self, path: str) -> SyntheticTable:
        return SyntheticTable(self.hot_client, path).create()


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_rows_of_hot_come_first_and_states_come_from_hot(pair: Pair) -> None:
    table = pair.table(HITS)
    table.set_state("202610", b"COLD")
    table.add_part("r2", "202611_0_4_1")
    pair.clock.time += 5
    table.add_legacy_part("r1", "202611_0_4_1")
    copies = SyntheticTable(pair.cold_client, HITS)
    copies.add_part("r1", "202610_0_0_0")

    rows = list(read_inventory(pair.hot, HITS, cold=pair.cold))

    then, later = int(START * 1000), int(START * 1000) + 5000
    assert rows == [
        InventoryRow(HITS, "r1", "202611_0_4_1", "202611", later, LEGACY_BYTES, 3, "hot", ""),
        InventoryRow(HITS, "r2", "202611_0_4_1", "202611", then, len(MINIMALISTIC), 1, "hot", ""),
        InventoryRow(HITS, "r1", "202610_0_0_0", "202610", later, len(MINIMALISTIC), 1, "cold", "COLD"),
    ]
    assert list(read_inventory(pair.hot, HITS)) == rows[:2]


def test_a_path_without_a_definition_is_no_table(pair: Pair) -> None:
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {HITS} in the hot ensemble"):
        list(read_inventory(pair.hot, HITS))


def test_an_invalid_part_name_is_refused_with_its_path(pair: Pair) -> None:
    pair.table(HITS).add_part("r1", "tmp_insert")
    with pytest.raises(FormatError, match=f"{HITS}/replicas/r1/parts/tmp_insert: 'tmp_insert' is not"):
        list(read_inventory(pair.hot, HITS))


def test_parts_of_each_replica_are_counted(pair: Pair) -> None:
    hits = pair.table(HITS)
    for replica, name in (("r1", "a_0_0_0"), ("r1", "b_0_0_0"), ("r2", "a_0_0_0")):
        hits.add_legacy_part(replica, name)
    pair.table(VISITS)
    pair.hot_client.create(f"{VISITS}/replicas/r1")

    assert count_parts(pair.hot, [VISITS, HITS, "/clickhouse/none"]) == [{"r1": 0}, {"r1": 2, "r2": 1}, {}]
    assert count_parts(pair.hot, []) == []


def test_shard_paths_are_found_nearest_first(pair: Pair) -> None:
    for path in (HITS, VISITS, "/clickhouse/z", "/clickhouse/tables/a/b/c/d"):
        pair.table(path).add_part("r1", "all_0_0_0")
    pair.hot_client.ensure_path("/clickhouse/task_queue/ddl/query-0000000000")

    found = ["/clickhouse/z", HITS, VISITS, "/clickhouse/tables/a/b/c/d"]
    assert list(find_shard_paths(pair.hot, "/clickhouse")) == found
    assert list(find_shard_paths(pair.hot, "/")) == found
    assert list(find_shard_paths(pair.hot, HITS)) == [HITS]


def test_excluded_subtrees_and_tables_are_not_descended_into(pair: Pair) -> None:
    for path in (HITS, f"{HITS}/replicas/r1/nested", "/partmove/x", "/zookeeper/x", "/old/x"):
        pair.table(path)
    assert list(find_shard_paths(pair.hot, "/")) == ["/old/x", HITS]
    assert list(find_shard_paths(pair.hot, "/", without={"/old"})) == ["/partmove/x", "/zookeeper/x", HITS]


def test_unreadable_znodes_are_reported_and_skipped() -> None:
    bench = Bench()
    names = [f"/n{number:02}" for number in range(9)]
    for name in names:
        bench.hot.create(f"{name}/x", b"", makepath=True)
        bench.cold.create(f"{name}/replicas/r1/parts", b"", makepath=True)
    told: list[str] = []

    def denied(path: str, error: AccessDenied) -> None:
        assert path in error.message
        told.append(path)

    bench.hot_store.denied = {"/n00", "/n05", "/n08", "/n03/x", "/none"}
    assert list(find_shard_paths(bench.hot_store, "/", denied=denied)) == [PATH]
    assert told == ["/n00", "/n05", "/n08", "/n03/x"]
    with pytest.raises(AccessDenied):
        list(find_shard_paths(bench.hot_store, "/"))

    told.clear()
    bench.cold_store.denied = {"/n00", "/n01/replicas", "/n02/replicas/r1", "/n03/replicas/r1/parts"}
    assert list(find_paths_in_cold(bench.cold_store, "/", denied=denied)) == names[3:]
    assert sorted(set(told)) == ["/n00", "/n01/replicas", "/n02/replicas/r1"]


@pytest.mark.parametrize("batch", [2000, 3])
def test_unreadable_parts_are_rows_without_a_state(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "_PATHS_PER_REQUEST", batch)
    bench = Bench()
    for number in range(1, 8):
        bench.hot.create(bench.part("r1").replace(PART, f"20190101_{number}_{number}_0"), b"x")
    bench.cold.create(bench.part("r2"), b"x", makepath=True)
    before = list(read_inventory(bench.hot_store, PATH, cold=bench.cold_store, past_denied=True))
    assert before == list(read_inventory(bench.hot_store, PATH, cold=bench.cold_store))
    part = bench.part("r1")
    second = part.replace(PART, "20190101_2_2_0")
    child = part.replace(PART, "20190101_4_4_0/checksums")
    bench.hot.create(child, b"x")
    bench.hot_store.denied = {second, child}
    bench.cold_store.denied = {bench.part("r2")}
    with pytest.raises(AccessDenied):
        list(read_inventory(bench.hot_store, PATH, cold=bench.cold_store))

    rows = list(read_inventory(bench.hot_store, PATH, cold=bench.cold_store, past_denied=True))

    assert [row[:4] for row in rows] == [row[:4] for row in before]
    unread = [row for row in rows if row.state is None]
    assert [(row.ensemble, row.replica, row.part) for row in unread] == [
        ("hot", "r1", "20190101_2_2_0"),
        ("hot", "r1", "20190101_4_4_0"),
        ("cold", "r2", PART),
    ]
    assert {(row.mtime, row.bytes, row.znodes) for row in unread} == {(0, 0, 1)}
    assert [row for row in rows if row.state is not None] == [
        row for row in before if row[:3] + row[7:8] not in {each[:3] + each[7:8] for each in unread}
    ]


def test_rows_of_a_partition_with_an_unreadable_state_have_no_state() -> None:
    bench = Bench()
    state = f"{PATH}/block_numbers/{DAY}/State"
    bench.hot_store.denied = {state}
    rows = list(read_inventory(bench.hot_store, PATH, past_denied=True))
    assert {row.state is None for row in rows if row.partition_id == DAY} == {True}
    assert {row.state is None for row in rows if row.partition_id != DAY} == {False}
    assert all(row.mtime for row in rows)


@pytest.mark.parametrize("znode", ["metadata", "replicas", "replicas/r1/parts"])
def test_znodes_about_all_parts_must_be_readable(znode: str) -> None:
    bench = Bench()
    bench.hot_store.denied = {f"{PATH}/{znode}"}
    with pytest.raises(AccessDenied, match=f"may not read {PATH}/{znode}[.]"):
        list(read_inventory(bench.hot_store, PATH, past_denied=True))


def test_a_missing_root_is_refused(pair: Pair) -> None:
    with pytest.raises(EnsembleError, match="There is no znode /clickhouse in the hot ensemble"):
        list(find_shard_paths(pair.hot, "/clickhouse"))


def test_missing_tables_are_named(pair: Pair) -> None:
    pair.table(HITS)
    pair.hot_client.ensure_path("/c/no_table")
    check_tables(pair.hot, [])
    check_tables(pair.hot, [HITS])
    missing = [f"/c/{name}" for name in ("no_table", 1, 2, 3)]
    check_tables(pair.hot, [*missing, HITS])
    with pytest.raises(NoSuchTable, match="There is no replicated table at /c/2 in the hot ensemble"):
        check_tables(pair.hot, [*missing, HITS], required=[HITS, "/c/2"])
    with pytest.raises(NoSuchTable) as refusal:
        check_tables(pair.hot, missing)
    assert refusal.value.message == (
        "There is no replicated table at /c/no_table, /c/1, /c/2 and 1 more in the hot ensemble"
    )


def test_shard_paths_in_cold(pair: Pair) -> None:
    client = pair.cold_client
    for path in (VISITS, HITS, "/other/t", "/partmove/t"):
        SyntheticTable(client, path).add_part("r1", "201902_0_0_0")
    client.ensure_path(f"{HITS}/replicas/r2/parts")
    client.ensure_path("/clickhouse/replicas/r1")
    client.ensure_path(f"{HITS}/below/replicas/r1/parts")
    assert list(find_paths_in_cold(pair.cold, "/")) == ["/other/t", HITS, VISITS]
    assert list(find_paths_in_cold(pair.cold, "/clickhouse")) == [HITS, VISITS]
    assert list(find_paths_in_cold(pair.cold, HITS)) == [HITS]
    assert list(find_paths_in_cold(pair.cold, "/", without={"/clickhouse", "/other"})) == ["/partmove/t"]
    assert list(find_paths_in_cold(pair.cold, "/none")) == []


def test_a_shard_path_below_a_znode_named_replicas_is_found(pair: Pair) -> None:
    path = "/clickhouse/replicas/hits"
    SyntheticTable(pair.cold_client, path).add_part("r1", "201902_0_0_0")
    assert list(find_paths_in_cold(pair.cold, "/")) == [path]
