# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What partition_merge refuses, and which merges an error ends; tests/clickhouse covers the merges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.merge_servers import (
    PartitionOnReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchTable,
    ServerAway,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.partition_merge import PartitionMerge
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.resources import MemoryResources

GONE = "/clickhouse/tables/99/gone"
SECOND = "/clickhouse/tables/02/hits"


def parameters(**given: Any) -> dict[str, Any]:
    return {
        "coordination_root": "/partmove",
        "clickhouse": {"port": None},
        "lock_wait": "0",
        "src": None,
        "partitions": [],
        "max_queue": 20,
        "max_merges": 8,
        "limit": 0,
        "patience": "10m",
        "timeout": "6h",
        "poll": "5s",
        **given,
    }


class TwoShards:
    """The servers of two shards; one of the first may be away. Implements what HttpMergeServers has."""

    def __init__(self, *, is_away: bool) -> None:
        self.is_away = is_away
        self.merged: list[str] = []

    def server(self, shard_path: str, replica: str, _host: str) -> str:
        return f"{shard_path} {replica}"

    def read_state(self, shard_path: str, replica: str, _host: str, _partition: str) -> PartitionOnReplica:
        if self.is_away and shard_path == PATH and replica == "r2":
            raise ServerAway("ClickHouse at r2 cannot be reached", remedy="Start it")
        parts = ("a_0_1_1",) if shard_path in self.merged else ("a_0_0_0", "a_1_1_0")
        return PartitionOnReplica(replica, parts, is_leader=True, queue=0, merges=0)

    def optimize(self, shard_path: str, _replica: str, _host: str, _partition: str) -> str:
        self.merged.append(shard_path)
        return ""


def two_shards() -> Bench:
    """A bench with a second table like the first one."""
    bench = Bench()
    for path, data in sorted(bench.hot_ensemble.data().items()):
        if path.startswith(f"{PATH}/") and not bench.hot.exists(path.replace(PATH, SECOND)):
            bench.hot.create(path.replace(PATH, SECOND), data, makepath=True)
    return bench


def merge_all(bench: Bench, servers: TwoShards, *, check_mode: bool) -> PartitionMerge:
    partitions = [(PATH, DAY), (PATH, OTHER), (SECOND, DAY)]
    params = parameters(partitions=[{"shard_path": path, "partition": each} for path, each in partitions])
    task = PartitionMerge(params)
    task._servers = servers  # type: ignore[assignment]
    task.run(MemoryResources(bench, params, check_mode=check_mode))
    return task


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_server_that_is_away_ends_the_merges_of_its_replicas_alone(check_mode: bool) -> None:
    servers = TwoShards(is_away=True)
    task = merge_all(two_shards(), servers, check_mode=check_mode)
    result = task.result()
    assert result["merged"] == [{"shard_path": SECOND, "partition": DAY}]
    assert servers.merged == ([] if check_mode else [SECOND])
    assert result["failed_partitions"] == [
        {
            "shard_path": PATH,
            "partition": DAY,
            "reason": "ClickHouse at r2 cannot be reached",
            "remedy": "Start it",
        }
    ]
    assert result["left"] == 1
    assert task.failure == f"Partition {DAY} of {PATH}: ClickHouse at r2 cannot be reached. Start it."


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_table_that_cannot_be_read_ends_its_own_merges_alone(check_mode: bool) -> None:
    bench = two_shards()
    metadata = bench.hot.get(f"{PATH}/metadata")[0]
    bench.hot.set(f"{PATH}/metadata", metadata.replace(b"data format version: 1", b"data format version: 7"))
    task = merge_all(bench, TwoShards(is_away=False), check_mode=check_mode)
    result = task.result()
    assert result["merged"] == [{"shard_path": SECOND, "partition": DAY}]
    assert [each["partition"] for each in result["failed_partitions"]] == [DAY, OTHER]
    assert result["left"] == 0
    assert task.failure.startswith(f"Partition {DAY} of {PATH} (1 other failed too): ")


def merge(*shard_paths: str, check_mode: bool = True) -> dict[str, Any]:
    partitions = [{"shard_path": each, "partition": DAY} for each in shard_paths]
    params = parameters(partitions=partitions)
    task = PartitionMerge(params)
    task.run(MemoryResources(Bench(), params, check_mode=check_mode))
    return task.result()


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_without_any_table_fails(check_mode: bool) -> None:
    """A wrong chroot must not look like a run with nothing to merge."""
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {GONE} in the hot ensemble"):
        merge(GONE, check_mode=check_mode)


def test_nothing_requested_is_nothing_to_do() -> None:
    assert merge()["merged"] == []


@pytest.mark.parametrize("name", ["merges.sql", "report/merges.sql"])
def test_a_relative_file_is_named_with_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module runs in another folder than ansible-playbook, for example over SSH."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError) as error:
        PartitionMerge(parameters(src=name, partitions=None))
    assert error.value.message == f"{name} in {tmp_path} cannot be read: No such file or directory"
    assert error.value.remedy.startswith("Give the absolute path")


def test_an_absolute_file_is_named_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        PartitionMerge(parameters(src=str(tmp_path / "none"), partitions=None))
    assert error.value.message == f"{tmp_path}/none cannot be read: No such file or directory"
