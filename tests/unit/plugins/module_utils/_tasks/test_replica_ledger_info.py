# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""replica_ledger_info over ensembles in memory: ready replicas, and partitions that block a downgrade."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchReplica,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_ledger_info import (
    ReplicaLedgerInfo,
)
from support.memory.bench import DAY, PATH, Bench
from support.memory.ledger import enter
from support.memory.resources import MemoryResources
from support.memory.tables import TableOptions, build_table

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")
MISSING = "replica r2 is not in the ledger"
DEFAULTS: dict[str, Any] = {
    "hot": {},
    "cold": {},
    "coordination_root": "/partmove",
    "shard_paths": [PATH],
    "root": None,
    "host": None,
    "interserver_port": None,
}


@pytest.fixture
def bench() -> Bench:
    """A table of whose replicas r1 is entered."""
    bench = Bench()
    enter(bench.hot_store, bench.cold_store, R1)
    return bench


def inspect(bench: Bench, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = ReplicaLedgerInfo(params)
    task.run(MemoryResources(bench, params))
    return task.result()


def test_a_replica_that_is_not_entered_is_not_ready(bench: Bench) -> None:
    result = inspect(bench)
    (shard,) = result["shards"]
    assert (result["ready"], shard["ready"], shard["reason"]) == (False, False, MISSING)
    assert result["msg"] == "0 of 1 shard path ready, 0 partitions cold"
    first, second = shard["replicas"]
    assert (first["replica"], first["host"]) == ("r1", "r1.example")
    assert (first["ready"], first["reason"]) == (True, "")
    assert first["entry"]["cold"] == {"hosts": ("cold.example:2181",), "chroot": ""}
    assert second == {
        "replica": "r2",
        "host": "r2.example",
        "ready": False,
        "reason": MISSING,
        "entry": None,
    }


def test_entered_replicas_are_ready_until_a_partition_is_cold(bench: Bench) -> None:
    enter(bench.hot_store, bench.cold_store, R2)
    before = inspect(bench)
    assert (before["ready"], before["downgrade_allowed"]) == (True, True)
    bench.move()
    after = inspect(bench)
    assert (after["ready"], after["downgrade_allowed"]) == (True, False)
    assert after["shards"][0]["cold_partitions"] == [DAY]
    assert after["msg"] == "1 of 1 shard path ready, 1 partition cold"
    assert not after["changed"]


def test_an_unreadable_entry_is_listed_without_its_fields(bench: Bench) -> None:
    bench.hot.set(Ledger(bench.hot_store).entry_path(R1), b"junk")
    first = inspect(bench)["shards"][0]["replicas"][0]
    assert (first["ready"], first["entry"]) == (False, None)
    assert "is no JSON object" in first["reason"]


def test_an_entry_without_a_replica_is_listed_and_does_no_harm(bench: Bench) -> None:
    enter(bench.hot_store, bench.cold_store, R2)
    bench.servers.remove_replica("r2")
    (shard,) = inspect(bench)["shards"]
    assert (shard["ready"], shard["reason"]) == (True, "")
    assert [(each["replica"], each["reason"]) for each in shard["replicas"]] == [
        ("r1", ""),
        ("r2", "replica r2 is in the ledger but not in the table"),
    ]


def test_a_path_without_a_table_is_not_ready(bench: Bench) -> None:
    (shard,) = inspect(bench, shard_paths=["/none"])["shards"]
    assert (shard["ready"], shard["replicas"], shard["cold_partitions"]) == (False, [], [])
    assert shard["reason"] == "there is no replica at /none in hot"


def test_tables_below_a_root_with_a_replica_of_a_host(bench: Bench) -> None:
    build_table(bench.hot, "/clickhouse/other", TableOptions(partitions=(), replicas=("r7",)))
    everything = inspect(bench, shard_paths=None, root="/")
    assert [each["shard_path"] for each in everything["shards"]] == ["/clickhouse/other", PATH]
    some = inspect(bench, shard_paths=None, root="/", host="R1.example")
    assert [each["shard_path"] for each in some["shards"]] == [PATH]
    with pytest.raises(NoSuchReplica, match="^No replica of these tables in hot is registered by r9:9009"):
        inspect(bench, host="r9", interserver_port=9009)


def test_a_root_without_tables_allows_no_downgrade(bench: Bench) -> None:
    """A wrong root or chroot must not say that no partition is cold."""
    bench.hot.create("/elsewhere", b"")
    with pytest.raises(NoSuchTable, match="There is no replicated table at or below /elsewhere"):
        inspect(bench, shard_paths=None, root="/elsewhere")
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        inspect(bench, shard_paths=[])


@pytest.mark.parametrize("options", [{"shard_paths": ["a"]}, {"coordination_root": ""}])
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        ReplicaLedgerInfo(DEFAULTS | options)
