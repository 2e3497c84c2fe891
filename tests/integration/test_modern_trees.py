# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a modern ClickHouse has in ZooKeeper is understood where it is read, and refused where it is moved."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.auxiliary import (
    BY_ENGINE,
    auxiliary_tables,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.census_servers import query_servers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sent_settings import (
    PART_SIZE,
    SENT,
    TABLE_SIZE,
    KnownSettings,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import read_usage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.walk import take_census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.log_entry import (
    EntryKind,
    parse_log_entry,
    partitions_named,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.mutation_entry import (
    parse_mutation_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.table_metadata import (
    columns_have_ttl,
    parse_table_metadata,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.ansible.calls import Call, run_modules
from support.files.versions_page import features
from support.memory.tables import read_tree
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.modern.history import UPDATE, Tables, tables_with_a_history
from support.servers.modern.server import ModernShard, ModernShardMaker
from support.servers.moving import open_stores
from support.servers.registered import data_of
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Ground(NamedTuple):
    """Tables with a history, and what both ensembles have below their common path: path → data."""

    tables: Tables
    base: str
    hot: Mapping[str, bytes]
    cold: Mapping[str, bytes]

    def data(self, *names: str) -> dict[str, bytes]:
        """Path → data of znodes by the names below the table, where * is any one."""
        found = {}
        for path, data in {**self.hot, **self.cold}.items():
            below = path.removeprefix(f"{self.base}/").split("/")[1:]
            if len(below) == len(names) and all(b in ("*", a) for a, b in zip(below, names, strict=True)):
                found[path] = data
        return found


@pytest.fixture(scope="module")
def ground(modern: ModernShard, hot_ensemble: Ensemble, cold_ensemble: Ensemble) -> Iterator[Ground]:
    base = f"/modern-{uuid.uuid4().hex[:8]}"
    tables = tables_with_a_history(modern, base)
    trees = []
    for ensemble in (hot_ensemble, cold_ensemble):
        with connected(ensemble.connect_string) as client:
            client.sync(base)
            trees.append({path: data_of(znode) for path, znode in read_tree(client, base).items()})
    yield Ground(tables, base, *trees)
    for table in tables:
        modern.execute(f"DROP TABLE {table} SYNC")


def ensembles(hot: Ensemble, cold: Ensemble) -> dict[str, object]:
    return {
        "hot": {"hosts": [member.address for member in hot.members]},
        "cold": {"hosts": [member.address for member in cold.members]},
    }


def test_every_entry_is_understood(ground: Ground) -> None:
    entries = [parse_log_entry(data, path) for path, data in ground.data("log", "*").items()]
    assert {entry.kind for entry in entries} == {
        EntryKind.GET,
        EntryKind.ATTACH,
        EntryKind.MERGE,
        EntryKind.MUTATE,
        EntryKind.DROP,
        EntryKind.DETACH,
        EntryKind.REPLACE_RANGE,
        EntryKind.ALTER,
    }
    assert all(entry.table_wide or partitions_named(entry, 1) for entry in entries)
    versions = {data.partition(b"\n")[0] for data in ground.data("log", "*").values()}
    assert {b"format version: 4", b"format version: 5", b"format version: 6"} <= versions
    queued = [
        parse_log_entry(data, path) for path, data in ground.data("replicas", "r2", "queue", "*").items()
    ]
    assert EntryKind.GET in {entry.kind for entry in queued}
    mutations = [parse_mutation_entry(data, path) for path, data in ground.data("mutations", "*").items()]
    assert any("UPDATE v = v + 1" in each.commands for each in mutations)
    assert any(each.alter_version not in (None, -1) for each in mutations)


def test_entries_of_a_move_to_another_shard_are_understood(
    modern: ModernShard, base: str, hot: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    first, second = modern.servers
    for server, shard in ((first, "from"), (second, "to")):
        server.execute(
            f"CREATE TABLE moving (id UInt32) ENGINE = ReplicatedMergeTree('{base}/{shard}', '{{replica}}')"
            " ORDER BY id SETTINGS min_replicated_logs_to_keep = 100, assign_part_uuids = 1,"
            " part_moves_between_shards_enable = 1, part_moves_between_shards_delay_seconds = 0"
        )
    first.execute("INSERT INTO moving VALUES (1)")
    first.execute("SYSTEM SYNC REPLICA moving")
    first.execute(f"ALTER TABLE moving MOVE PART 'all_0_0_0' TO SHARD '{base}/to'")
    wait_for(lambda: first.query("SELECT state FROM system.part_moves_between_shards") == [("DONE",)])
    client = connect(hot.connect_string)
    kinds, versions = set(), set()
    for path, znode in read_tree(client, base).items():
        if "/log/" in path:
            kinds.add(parse_log_entry(data_of(znode), path).kind)
            versions.add(data_of(znode).partition(b"\n")[0])
    modern.execute("DROP TABLE moving SYNC")
    assert {EntryKind.SYNC_PINNED_PARTS, EntryKind.CLONE_FROM_SHARD, EntryKind.ATTACH} <= kinds
    assert b"format version: 7" in versions


def test_definitions_and_parts_are_understood(ground: Ground) -> None:
    definitions = {
        path.split("/")[-2]: parse_table_metadata(data, path)
        for path, data in ground.data("metadata").items()
    }
    assert definitions.keys() == set(ground.tables)
    assert {name: each.has_ttl for name, each in definitions.items() if each.has_ttl} == {"altered": True}
    with_ttl = [path for path, data in ground.data("columns").items() if columns_have_ttl(data, path)]
    assert with_ttl == [f"{ground.base}/altered/columns"]
    parts = ground.data("replicas", "*", "parts", "*")
    assert all(parse_payload(data, {}, path).is_minimalistic for path, data in parts.items())


def test_census_knows_every_znode(ground: Ground, hot_ensemble: Ensemble, cold_ensemble: Ensemble) -> None:
    with open_stores(hot_ensemble.connect_string, cold_ensemble.connect_string) as stores:
        for store, names in zip(stores, (ground.tables[:3], ground.tables[3:]), strict=True):
            census = take_census(store, Places(DEFAULT_ROOT))
            for name in names:
                table = census.tables[f"{ground.base}/{name}"]
                assert table.kinds.get(ZnodeKind.UNKNOWN) is None, census.unknown.by_name
                assert table.kinds[ZnodeKind.PART].znodes
                assert sorted(table.replicas) == ["r1", "r2"]


def test_part_info_tells_what_the_servers_tell(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:
    args = {**ensembles(hot, cold), "root": ground.base, "details": "parts"}
    first, _second = modern.servers

    def told() -> dict[str, set[str]]:
        (result,) = run_modules(Call("part_info", args))
        assert result["unreadable"] == []
        assert {partition["location"] for partition in result["partitions"]} == {"hot"}
        return {
            name: {
                row["part"]
                for partition in result["partitions"]
                if partition["shard_path"] == f"{ground.base}/{name}"
                for row in partition["parts"]
                if row["replica"] == "r1"
            }
            for name in ground.tables[:3]
        }

    # Outdated parts are registered until they are removed, and merges go on.
    wait_for(lambda: told() == {name: set(first.parts(name)) for name in ground.tables[:3]})


def test_a_table_with_lightweight_updates_is_not_moved(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:
    if not modern.servers[0].knows(UPDATE):
        pytest.skip("this version has no updates in place")
    path = f"{ground.base}/{ground.tables.other}"
    args = {
        **ensembles(hot, cold),
        "partitions": [{"shard_path": path, "partition": "20240101"}],
        "assume_patched": True,
        "assume_active": True,
        "min_age": "0",
    }
    (result,) = run_modules(Call("part_move", args, check_mode=True))
    (row,) = result["deferred"]
    assert row["gate"] == "known_layout"
    assert row["reason"] == f"znodes of an unknown kind: {path}/lightweight_updates"


def test_audit_finds_nothing_where_nothing_is_moved(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:
    clickhouse = {"endpoints": modern.endpoints}
    args = {**ensembles(hot, cold), "root": ground.base, "clickhouse": clickhouse}
    (result,) = run_modules(Call("part_audit_info", args))
    assert (result["findings"], result["unjudged"], result["shard_paths"]) == ([], [], 3)


# --- tables in an auxiliary ensemble, which hot and cold know nothing of --------------------------


def client_of(shard: ModernShard) -> ClickHouseClient:
    """Asks the first server."""
    return ClickHouseClient("127.0.0.1", shard.servers[0].http_port, ClickHouseOptions())


def asked(shard: ModernShard) -> dict[str, object]:
    """The options of a module that asks the first server."""
    return {"clickhouse": {"host": "127.0.0.1", "port": shard.servers[0].http_port}}


def test_server_with_a_table_in_an_auxiliary_ensemble_is_diagnosed(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:
    both = ensembles(hot, cold)
    for given in ({}, {"hot": both["hot"]}, both):
        (result,) = run_modules(Call("replica_info", {**asked(modern), **given}))
        assert not result["failed"], result
        assert {each["table"]: each["ensemble"] for each in result["replicas"]} == {
            name: "cold" if name == ground.tables.cold else "default" for name in ground.tables
        }
        assert "cold_parts_missing" not in {each["symptom"] for each in result["findings"]}


def test_read_only_table_in_an_auxiliary_ensemble_has_not_lost_its_znodes(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    sources = [ZooKeeperSource(each.connect_string, session_ms=4000) for each in (hot, cold)]
    shard = start_modern(sources[0], {"cold": sources[1]}, replicas=1)
    (server,) = shard.servers
    path = f"{base}/twin"
    server.execute(
        f"CREATE TABLE twin (id UInt32) ENGINE = ReplicatedMergeTree('cold:{path}', 'r1') ORDER BY id"
    )
    server.execute("DETACH TABLE twin SYNC")
    with connected(cold.connect_string) as client:
        client.delete(path, recursive=True)
    server.execute("ATTACH TABLE twin")
    wait_for(lambda: server.value("SELECT is_readonly FROM system.replicas") == 1)
    (result,) = run_modules(Call("replica_info", {**asked(shard), "hot": ensembles(hot, cold)["hot"]}))
    assert [each["symptom"] for each in result["findings"]] == ["read_only"], result


def test_ledger_gets_no_replica_of_an_auxiliary_ensemble(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:
    args = {**ensembles(hot, cold), **asked(modern), "patched_sign": "SELECT 1"}
    (result,) = run_modules(Call("replica_ledger", args, check_mode=True))
    assert not result["failed"], result
    assert {each["shard_path"] for each in result["replicas"]} == {
        f"{ground.base}/{name}" for name in ground.tables[:3]
    }


def test_what_servers_know_of_partitions_is_of_hot(ground: Ground, modern: ModernShard) -> None:
    rows = list(read_usage(client_of(modern)))
    assert {row.shard_path for row in rows} == {f"{ground.base}/{name}" for name in ground.tables[:3]}


def test_census_of_any_ensemble_hears_of_all_tables(ground: Ground, modern: ModernShard) -> None:
    """Of an auxiliary one, too, where a table would be taken for one that no server has."""
    (answer,) = query_servers([client_of(modern)])
    assert {path for path, _replica in answer.replicas} == {f"{ground.base}/{name}" for name in ground.tables}


def test_engine_of_a_table_tells_its_ensemble_where_the_server_does_not(
    ground: Ground, modern: ModernShard
) -> None:
    """Versions before 23.5 have no name of it in system.replicas; their query gives the same here."""
    client = client_of(modern)
    expected = {("default", ground.tables.cold): "cold"}
    assert auxiliary_tables(client) == expected
    assert {(each, name): ensemble for each, name, ensemble in client.rows(BY_ENGINE)} == expected


def test_merges_of_a_table_in_an_auxiliary_ensemble_are_passed_by(
    ground: Ground, modern: ModernShard, hot: Ensemble, cold: Ensemble
) -> None:

    def merged(name: str) -> dict[str, Any]:
        rows = [{"shard_path": f"{ground.base}/{name}", "partition": "20240101"}]
        args = {**ensembles(hot, cold), "clickhouse": {"endpoints": modern.endpoints}, "partitions": rows}
        (result,) = run_modules(Call("partition_merge", args, check_mode=True))
        return result

    done = merged(ground.tables.altered)
    assert done["merged_already"] == 1, done.get("msg")
    refused = merged(ground.tables.cold)
    assert [each["reason"] for each in refused["passed_by"]] == [
        f"{ground.base}/{ground.tables.cold} is no table with replicas in hot"
    ]


@pytest.mark.smoke
def test_a_version_has_what_the_page_says(modern: ModernShard, modern_version: str) -> None:
    server, known = client_of(modern), KnownSettings()
    found = {each.name: "yes" if server.rows(each.sql) else "no" for each in features()}
    assert found == {each.name: each.cells[modern_version] for each in features()}
    # A version without the settings of sizes has the limits of its configuration.
    needed = [each for each in SENT if each not in (PART_SIZE, TABLE_SIZE)]
    assert all(known.name_of(server, each) in each.names for each in needed)


def test_parts_of_a_partition_are_merged(
    modern: ModernShard, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    table, path = f"merged_{uuid.uuid4().hex[:8]}", f"{base}/merged"
    modern.execute(
        f"CREATE TABLE {table} (id UInt32) ENGINE = ReplicatedMergeTree('{path}', '{{replica}}') ORDER BY id"
        # All parts are too large for the merges that the server begins by itself.
        " SETTINGS max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1"
    )
    first, second = modern.servers
    for number in range(3):
        first.execute(f"INSERT INTO {table} VALUES ({number})")
    second.execute(f"SYSTEM SYNC REPLICA {table}")
    args = {
        **ensembles(hot, cold),
        "clickhouse": {"endpoints": modern.endpoints},
        "coordination_root": f"{base}/partmove",
        "partitions": [{"shard_path": path, "partition": "all"}],
        "poll": "1s",
    }
    (result,) = run_modules(Call("partition_merge", args))
    parts = [each.parts(table) for each in modern.servers]
    modern.execute(f"DROP TABLE {table} SYNC")
    assert len(result["merged"]) == 1, result.get("msg")
    assert parts[0] == parts[1]
    assert len(parts[0]) == 1


def test_move_of_a_table_in_an_auxiliary_ensemble_is_refused_by_name(
    ground: Ground, hot: Ensemble, cold: Ensemble
) -> None:
    path = f"{ground.base}/{ground.tables.cold}"
    args = {
        **ensembles(hot, cold),
        "partitions": [{"shard_path": path, "partition": "20240101"}],
        "assume_patched": True,
        "assume_active": True,
    }
    (result,) = run_modules(Call("part_move", args, check_mode=True))
    assert result["failed"]
    assert result["msg"].startswith(f"There is no replicated table at {path} in the hot ensemble."), result
