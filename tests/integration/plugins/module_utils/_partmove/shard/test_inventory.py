# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of synthetic tables in real ensembles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    FormatError,
    NoSuchTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import (
    InventoryRow,
    find_shard_paths,
    read_inventory,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeReader
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions as ConnectionOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import (
    ZooKeeperStore,
    connect as open_store,
)
from support.memory.synthetic import LEGACY, MINIMALISTIC, SyntheticTable
from support.servers.zookeeper import Ensemble

Open = Callable[[str, Ensemble], ZooKeeperStore]
Connect = Callable[[str], KazooClient]

LEGACY_BYTES = sum(len(data) for data in LEGACY.values())


@pytest.fixture
def open_ensemble() -> Iterator[Open]:
    with ExitStack() as stack:

        def open_it(name: str, ensemble: Ensemble) -> ZooKeeperStore:
            hosts = tuple(ensemble.connect_string.split(","))
            return stack.enter_context(open_store(ConnectionOptions(name, hosts)))

        yield open_it


@pytest.fixture
def hot_reader(hot: Ensemble, open_ensemble: Open) -> ZooKeeperStore:
    return open_ensemble("hot", hot)


@pytest.fixture
def hot_client(hot: Ensemble, connect: Connect) -> KazooClient:
    return connect(hot.connect_string)


def test_rows_tell_what_is_registered(hot_reader: ZnodeReader, hot_client: KazooClient, base: str) -> None:
    table = SyntheticTable(hot_client, f"{base}/hits").create()
    new = table.add_part("r1", "202611_0_4_1")
    old = table.add_legacy_part("r2", "202610_0_0_0_7")
    table.set_state("202610", b"COLD")

    rows = list(read_inventory(hot_reader, table.path))

    assert rows == [
        InventoryRow(
            shard_path=f"{base}/hits",
            replica="r1",
            part="202611_0_4_1",
            partition_id="202611",
            mtime=hot_client.get(new)[1].mtime,
            bytes=len(MINIMALISTIC),
            znodes=1,
            ensemble="hot",
            state="",
        ),
        InventoryRow(
            shard_path=f"{base}/hits",
            replica="r2",
            part="202610_0_0_0_7",
            partition_id="202610",
            mtime=hot_client.get(old)[1].mtime,
            bytes=LEGACY_BYTES,
            znodes=3,
            ensemble="hot",
            state="COLD",
        ),
    ]


def test_both_forms_of_a_payload_count_together(
    hot_reader: ZnodeReader, hot_client: KazooClient, base: str
) -> None:
    table = SyntheticTable(hot_client, base).create()
    table.add_part("r1", "all_0_0_0", data=MINIMALISTIC, children=LEGACY)
    (row,) = read_inventory(hot_reader, base)
    assert (row.bytes, row.znodes) == (len(MINIMALISTIC) + LEGACY_BYTES, 3)


@pytest.mark.parametrize(
    ("format_version", "part", "partition_id"),
    [
        (0, "20191201_20191220_0_5_2", "201912"),
        (0, "20191201_20191220_0_5_2_9", "201912"),
        (1, "20191201_0_5_2_9", "20191201"),
        (1, "2019--1_0_5_2", "2019--1"),
        (1, "all_0_5_2", "all"),
    ],
)
def test_partition_id_follows_the_format_of_the_table(
    hot_reader: ZnodeReader,
    hot_client: KazooClient,
    base: str,
    format_version: int,
    part: str,
    partition_id: str,
) -> None:
    table = SyntheticTable(hot_client, base, format_version).create()
    table.add_part("r1", part)
    table.set_state(partition_id, b"HOT")
    assert [(row.partition_id, row.state) for row in read_inventory(hot_reader, base)] == [
        (partition_id, "HOT")
    ]


def test_state_is_given_as_it_is(hot_reader: ZnodeReader, hot_client: KazooClient, base: str) -> None:
    table = SyntheticTable(hot_client, base).create()
    states = {"1": b"COLD\n", "2": b"", "3": b"\xffCOLD", "4": b"MOVING"}
    for partition, data in states.items():
        table.add_part("r1", f"{partition}_0_0_0")
        table.set_state(partition, data)
    assert [row.state for row in read_inventory(hot_reader, base)] == ["COLD\n", "", "\\xffCOLD", "MOVING"]


def test_many_parts_are_read_in_order(hot_reader: ZnodeReader, hot_client: KazooClient, base: str) -> None:
    table = SyntheticTable(hot_client, base).create()
    table.add_part("r1", "202601_0_0_0")
    batch = hot_client.transaction()
    names = [f"{202602 + number % 7}_{number}_{number}_0" for number in range(4500)]
    for name in names:
        batch.create(f"{base}/replicas/r1/parts/{name}", b"x")
    assert not [result for result in batch.commit() if isinstance(result, Exception)]

    rows = list(read_inventory(hot_reader, base))

    assert [row.part for row in rows] == sorted(["202601_0_0_0", *names])
    assert {row.bytes for row in rows[1:]} == {1}


def test_cold_parts_take_format_and_state_from_hot(
    hot_reader: ZnodeReader,
    hot_client: KazooClient,
    cold: Ensemble,
    open_ensemble: Open,
    connect: Connect,
    base: str,
) -> None:
    table = SyntheticTable(hot_client, base, format_version=0).create()
    table.add_part("r1", "20191101_20191130_0_0_0")
    table.set_state("201910", b"COLD")
    copies = SyntheticTable(connect(cold.connect_string), base, format_version=0)
    copies.add_legacy_part("r1", "20191001_20191031_0_0_0")

    rows = read_inventory(hot_reader, base, cold=open_ensemble("cold", cold))

    assert [(row.ensemble, row.partition_id, row.state, row.znodes) for row in rows] == [
        ("hot", "201911", "", 1),
        ("cold", "201910", "COLD", 3),
    ]


def test_table_that_cold_does_not_know_has_hot_rows_only(
    hot_reader: ZnodeReader, hot_client: KazooClient, cold: Ensemble, open_ensemble: Open, base: str
) -> None:
    SyntheticTable(hot_client, base).create().add_part("r1", "all_0_0_0")
    rows = read_inventory(hot_reader, base, cold=open_ensemble("cold", cold))
    assert [row.ensemble for row in rows] == ["hot"]


@pytest.mark.parametrize("name", ["tmp_insert", "20191201_20191220_0_5_2", "all_0_0_0_0_0"])
def test_name_that_is_no_part_is_refused_with_its_path(
    hot_reader: ZnodeReader, hot_client: KazooClient, base: str, name: str
) -> None:
    SyntheticTable(hot_client, base).create().add_part("r1", name)
    with pytest.raises(FormatError, match=f"{base}/replicas/r1/parts/{name}: .* is not the name of a part"):
        list(read_inventory(hot_reader, base))


def test_unknown_definition_is_refused(hot_reader: ZnodeReader, hot_client: KazooClient, base: str) -> None:
    SyntheticTable(hot_client, base).create().add_part("r1", "all_0_0_0")
    hot_client.set(f"{base}/metadata", b"metadata format version: 2\n")
    with pytest.raises(FormatError, match=f"{base}/metadata, line 1"):
        list(read_inventory(hot_reader, base))


def test_missing_table_is_reported(hot_reader: ZnodeReader, base: str) -> None:
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {base} in the hot ensemble"):
        list(read_inventory(hot_reader, base))


def test_table_dropped_during_the_walk_ends_it(
    hot_reader: ZnodeReader, hot_client: KazooClient, base: str
) -> None:
    table = SyntheticTable(hot_client, base).create()
    for replica in ("r1", "r2"):
        table.add_part(replica, "all_0_0_0")
    rows = read_inventory(hot_reader, base)
    assert next(rows).replica == "r1"
    hot_client.delete(base, recursive=True)
    assert list(rows) == []


def test_shard_paths_are_found_at_any_depth(
    hot_reader: ZnodeReader, hot_client: KazooClient, base: str
) -> None:
    paths = [f"{base}/b/01/hits", f"{base}/b/02/hits", f"{base}/a", f"{base}/c-d/01"]
    for path in paths:
        SyntheticTable(hot_client, path).create().add_part("r1", "all_0_0_0")
    hot_client.ensure_path(f"{base}/task_queue/ddl/query-0000000000/finished")

    assert list(find_shard_paths(hot_reader, base)) == [
        f"{base}/a",
        f"{base}/c-d/01",
        f"{base}/b/01/hits",
        f"{base}/b/02/hits",
    ]


def test_shard_paths_inside_of_a_shard_path_are_not_looked_for(
    hot_reader: ZnodeReader, hot_client: KazooClient, base: str
) -> None:
    SyntheticTable(hot_client, base).create()
    SyntheticTable(hot_client, f"{base}/replicas/r1/nested").create()
    assert list(find_shard_paths(hot_reader, base)) == [base]


def test_zookeepers_own_znodes_and_the_locks_are_left_out(
    tmp_path: Path, open_ensemble: Open, connect: Connect, base: str
) -> None:
    """All that is there is looked through, which is not to be what other tests have left."""
    with Ensemble(tmp_path) as own:
        client = connect(own.connect_string)
        SyntheticTable(client, base).create()
        SyntheticTable(client, f"/partmove{base}").create()
        assert list(find_shard_paths(open_ensemble("hot", own), "/")) == [base]


def test_empty_root_has_no_shard_paths(hot_reader: ZnodeReader, hot_client: KazooClient, base: str) -> None:
    hot_client.create(base)
    assert list(find_shard_paths(hot_reader, base)) == []


def test_unknown_root_is_refused(hot_reader: ZnodeReader, base: str) -> None:
    with pytest.raises(EnsembleError, match=f"There is no znode {base} in the hot ensemble"):
        list(find_shard_paths(hot_reader, base))
