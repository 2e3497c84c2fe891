# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths of a table's znodes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import (
    KNOWN_REPLICA_CHILDREN,
    KNOWN_TABLE_CHILDREN,
    TABLE_CHILDREN_WITHOUT_MOVES,
    ShardLayout,
    check_shard_path,
    is_shard_path,
    unknown_replica_children,
    unknown_table_children,
)

SHARD = "/clickhouse/tables/01/hits"

# Children of a fresh table and of a replica, as servers of these versions create them.
TABLE_18_16 = (
    "block_numbers",
    "blocks",
    "columns",
    "leader_election",
    "log",
    "metadata",
    "mutations",
    "nonincrement_block_numbers",
    "quorum",
    "replicas",
    "temp",
)
TABLE_2022 = (
    *TABLE_18_16,
    "alter_partition_version",
    "part_moves_shard",
    "pinned_part_uuids",
    "table_shared_id",
)
TABLE_2022_SHARED = (*TABLE_2022, "zero_copy_hdfs", "zero_copy_s3")
REPLICA_18_16 = (
    "columns",
    "flags",
    "host",
    "is_active",
    "is_lost",
    "log_pointer",
    "max_processed_insert_time",
    "metadata",
    "min_unprocessed_insert_time",
    "mutation_pointer",
    "parts",
    "queue",
)
REPLICA_2022 = (*REPLICA_18_16, "metadata_version")


def test_paths_of_a_shard() -> None:
    shard = ShardLayout(SHARD)
    assert shard.metadata == f"{SHARD}/metadata"
    assert shard.columns == f"{SHARD}/columns"
    assert shard.log == f"{SHARD}/log"
    assert shard.mutations == f"{SHARD}/mutations"
    assert shard.quorum_status == f"{SHARD}/quorum/status"
    assert shard.quorum_parallel == f"{SHARD}/quorum/parallel"
    assert shard.quorum_failed_parts == f"{SHARD}/quorum/failed_parts"
    assert shard.block_numbers == f"{SHARD}/block_numbers"
    assert shard.partition("2019-1") == f"{SHARD}/block_numbers/2019-1"
    assert shard.state("2019-1") == f"{SHARD}/block_numbers/2019-1/State"
    assert shard.temp == f"{SHARD}/temp"
    assert shard.replicas == f"{SHARD}/replicas"
    assert shard.table_shared_id == f"{SHARD}/table_shared_id"
    assert shard.pinned_part_uuids == f"{SHARD}/pinned_part_uuids"
    assert shard.part_moves_shard == f"{SHARD}/part_moves_shard"
    assert shard.zero_copy(TABLE_2022_SHARED) == (f"{SHARD}/zero_copy_hdfs", f"{SHARD}/zero_copy_s3")
    assert shard.zero_copy(TABLE_2022) == ()


def test_paths_of_a_replica() -> None:
    replica = ShardLayout(SHARD).replica("r1")
    assert replica.name == "r1"
    assert replica.path == f"{SHARD}/replicas/r1"
    assert replica.host == f"{SHARD}/replicas/r1/host"
    assert replica.is_active == f"{SHARD}/replicas/r1/is_active"
    assert replica.is_lost == f"{SHARD}/replicas/r1/is_lost"
    assert replica.log_pointer == f"{SHARD}/replicas/r1/log_pointer"
    assert replica.queue == f"{SHARD}/replicas/r1/queue"
    assert replica.parts == f"{SHARD}/replicas/r1/parts"
    assert replica.part("all_0_0_0") == f"{SHARD}/replicas/r1/parts/all_0_0_0"
    assert replica.metadata == f"{SHARD}/replicas/r1/metadata"
    assert replica.columns == f"{SHARD}/replicas/r1/columns"


@pytest.mark.parametrize("name", ["", "r1/parts", "/"])
def test_refuses_an_invalid_replica_name(name: str) -> None:
    with pytest.raises(FormatError, match=f"is not the name of a replica of {SHARD}"):
        ShardLayout(SHARD).replica(name)


@pytest.mark.parametrize(
    "path", [SHARD, "/t", "/\u0434\u0430\u043d\u043d\u044b\u0435/01", "/a.b/..c/d..", "/a b"]
)
def test_shard_paths(path: str) -> None:
    assert check_shard_path(path) == path
    assert ShardLayout(path).path == path


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "does not begin with a slash"),
        ("clickhouse/t", "does not begin with a slash"),
        ("zookeeper2:/clickhouse/t", "does not begin with a slash"),
        ("/", "ends with a slash"),
        ("/clickhouse/t/", "ends with a slash"),
        ("/clickhouse//t", "has two slashes in a row"),
        ("//clickhouse/t", "has two slashes in a row"),
        ("/clickhouse/./t", "has a . or .. in it"),
        ("/clickhouse/../t", "has a . or .. in it"),
        ("/clickhouse/t\n", "has a character that ZooKeeper does not allow"),
        ("/clickhouse/t\x00", "has a character that ZooKeeper does not allow"),
        ("/clickhouse/\ue000", "has a character that ZooKeeper does not allow"),
    ],
)
def test_refuses_an_invalid_shard_path(path: str, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        ShardLayout(path)
    assert caught.value.message == f"The shard path {path!r} {problem}"
    assert caught.value.remedy


@given(st.text())
def test_a_shard_path_has_one_way_to_write_it(text: str) -> None:
    try:
        check_shard_path(text)
    except FormatError:
        return
    segments = text.split("/")
    assert segments[0] == ""
    assert not {"", ".", ".."} & set(segments[1:])


@pytest.mark.parametrize("children", [TABLE_18_16, TABLE_2022, TABLE_2022_SHARED, KNOWN_TABLE_CHILDREN])
def test_a_table_is_a_shard_path_with_known_children(children: tuple[str, ...]) -> None:
    assert is_shard_path(children)
    assert unknown_table_children(children) == ()


@pytest.mark.parametrize("children", [REPLICA_18_16, REPLICA_2022, KNOWN_REPLICA_CHILDREN])
def test_a_replica_is_no_shard_path_and_has_known_children(children: tuple[str, ...]) -> None:
    assert not is_shard_path(children)
    assert unknown_replica_children(children) == ()


@pytest.mark.parametrize(
    "children",
    [
        (),
        ("01", "02"),
        ("replicas", "log", "max_log_ptr", "counter"),
        tuple(name for name in TABLE_18_16 if name != "replicas"),
        ("dropped", "metadata", "columns", "blocks", "block_numbers", "log"),
    ],
)
def test_other_znodes_are_no_shard_path(children: tuple[str, ...]) -> None:
    assert not is_shard_path(children)


def test_unknown_children() -> None:
    assert unknown_table_children((*TABLE_18_16, "selective", "dropped")) == ("dropped", "selective")
    assert unknown_replica_children((*REPLICA_18_16, "epoch")) == ("epoch",)


def test_children_of_untested_tables_are_unknown() -> None:
    assert TABLE_CHILDREN_WITHOUT_MOVES.isdisjoint(KNOWN_TABLE_CHILDREN)
    assert unknown_table_children(KNOWN_TABLE_CHILDREN | {"lightweight_updates"}) == ("lightweight_updates",)
