# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""replica_ledger and replica_ledger_info on synthetic tables, and part_move that looks into the ledger."""

from __future__ import annotations

from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    ReplicaKey,
)
from support.ansible.modules import Pair, partitions_of
from support.memory.ledger import SIGN, enter
from support.memory.tables import Table, build_table, days
from support.servers.moving import open_stores

FIRST, _SECOND, THIRD = days(3)
MOVE: dict[str, Any] = {"assume_active": True, "min_age": "0"}


def enter_all(pair: Pair, table: Table, *replicas: str) -> None:
    """Enter replicas as their verified servers would have been."""
    addresses = [",".join(pair.options[name]["hosts"]) for name in ("hot", "cold")]
    with open_stores(addresses[0], addresses[1]) as (hot, cold):
        keys = (ReplicaKey(table.path, each) for each in replicas)
        enter(hot, cold, *keys, root=pair.options["coordination_root"])


def row(table: Table, replica: str, before: str, after: str) -> dict[str, str]:
    return {
        "shard_path": table.path,
        "replica": replica,
        "table": "",
        "before": before,
        "after": after,
    }


def test_partitions_move_when_their_replicas_are_in_the_ledger(pair: Pair, table: Table) -> None:
    look = pair.task("replica_ledger_info", shard_paths=[table.path])
    move = pair.task("part_move", partitions=partitions_of(table, FIRST), **MOVE)
    enter_all(pair, table, "r1")
    half, refused = pair.call_all(look, move)
    enter_all(pair, table, "r2")
    ready, moved, after = pair.call_all(look, move, look)

    missing = "replica r2 is not in the ledger"
    assert [each["ready"] for each in (half, ready)] == [False, True]
    assert half["msg"] == "0 of 1 shard path ready, 0 partitions cold"
    (shard,) = half["shards"]
    assert (shard["shard_path"], shard["ready"], shard["reason"]) == (table.path, False, missing)
    assert [each["ready"] for each in shard["replicas"]] == [True, False]
    assert [each["host"] for each in shard["replicas"]] == ["r1.example", "r2.example"]
    assert [each["entry"] and each["entry"]["host"] for each in shard["replicas"]] == ["r1.example", None]
    assert (refused["deferred"][0]["gate"], refused["deferred"][0]["reason"]) == ("patched_replicas", missing)
    assert moved["counts"]["moved"] == 1
    assert [each["downgrade_allowed"] for each in (half, ready, after)] == [True, True, False]
    assert after["shards"][0]["cold_partitions"] == [FIRST]


def test_replicas_are_withdrawn_from_zookeeper_alone(pair: Pair, table: Table) -> None:
    """In check mode, for real, and again by their names; one of them restarted before."""
    other = build_table(pair.hot, f"{pair.base}/other")
    enter_all(pair, table, "r1", "r2")
    enter_all(pair, other, "r2")
    host = f"{other.path}/replicas/r2/host"
    pair.hot.set(host, pair.hot.get(host)[0])
    by_host: dict[str, Any] = {"host": "R2.example", "interserver_port": 9009, "root": pair.base}
    by_name: dict[str, Any] = {
        "replicas": [{"shard_path": each.path, "replica": "r2"} for each in (other, table)]
    }
    trees = pair.trees()
    checked = pair.call("replica_ledger", check=True, state="absent", **by_host)
    assert pair.trees() == trees
    withdrawn, again, look = pair.call_all(
        pair.task("replica_ledger", state="absent", **by_host),
        pair.task("replica_ledger", state="absent", **by_name),
        pair.task("replica_ledger_info", root=pair.base, host="r2.example"),
    )

    assert withdrawn["msg"] == "2 of 2 replicas withdrawn"
    assert withdrawn["replicas"] == [
        row(table, "r2", "ready", "absent"),
        row(other, "r2", "stale", "absent"),
    ]
    for name in ("changed", "replicas", "diff", "msg"):
        assert checked[name] == withdrawn[name]
    assert withdrawn["diff"]["before"] == f"{table.path} r2: ready\n{other.path} r2: stale\n"
    assert withdrawn["diff"]["after"] == f"{table.path} r2: absent\n{other.path} r2: absent\n"
    assert (withdrawn["changed"], again["changed"], again["failed"]) == (True, False, False)
    assert [shard["reason"] for shard in look["shards"]] == [
        "replica r2 is not in the ledger",
        "replica r1 is not in the ledger, replica r2 is not in the ledger",
    ]


def test_a_downgrade_is_refused_while_a_partition_is_cold(pair: Pair, table: Table) -> None:
    enter_all(pair, table, "r1", "r2")
    pair.call("part_move", partitions=partitions_of(table, FIRST, THIRD), **MOVE)
    trees = pair.trees_below(pair.options["coordination_root"])
    absent: dict[str, Any] = {"state": "absent", "host": "r1.example", "root": pair.base}
    refused = pair.call("replica_ledger", **absent)
    assert refused["failed"]
    assert refused["msg"].startswith(
        "2 partitions are registered in cold only, which a server without the patch does not read; nothing"
        f" was withdrawn: {FIRST} of the table ({table.path}), {THIRD} of the table"
        f" ({table.path}). First bring the partitions back to hot: ansible-playbook olap.partmove.reheat with"
    )
    assert refused["cold_partitions"] == [
        {"shard_path": table.path, "table": "", "partition": each} for each in (FIRST, THIRD)
    ]
    assert (refused["changed"], refused["replicas"]) == (False, [])
    assert pair.trees_below(pair.options["coordination_root"]) == trees


def test_refusals_and_an_entry_that_outlived_its_replica(pair: Pair, table: Table) -> None:
    enter_all(pair, table, "r1", "r2")
    pair.hot.delete(f"{table.path}/replicas/r2", recursive=True)
    absent: dict[str, Any] = {"state": "absent", "root": pair.base}
    results = pair.call_all(
        pair.task("replica_ledger", host="r7.example", **absent),
        pair.task("replica_ledger", replicas=[{"shard_path": table.path, "replica": "r7"}], **absent),
        pair.task("replica_ledger", replicas=[{"shard_path": "hits", "replica": "r7"}], **absent),
        pair.task("replica_ledger", host="r1.example", patched_sign=SIGN),
        pair.task("replica_ledger"),
        pair.task("replica_ledger", patched_sign=SIGN, clickhouse={"host": "127.0.0.1", "port": 9}),
        pair.task("replica_ledger", interserver_port=9009, **absent),
        pair.task("replica_ledger_info", shard_paths=[table.path], host="r7.example"),
        pair.task("replica_ledger_info", shard_paths=[table.path, f"{pair.base}/nothing"]),
    )
    expected = [
        f"No replica below {pair.base} in hot is registered by r7.example.",
        f"There is no replica r7 of {table.path} in hot.",
        "The shard path 'hits' does not begin with a slash.",
        "host selects the replicas to withdraw, but state is present.",
        "state is present but all of the following are missing: patched_sign",
        "ClickHouse at 127.0.0.1:9 cannot be reached",
        "missing parameter(s) required by 'interserver_port': host",
        "No replica of these tables in hot is registered by r7.example.",
    ]
    for result, message in zip(results, expected, strict=False):
        assert result["failed"]
        assert message in result["msg"]
    outlived, nothing = results[-1]["shards"]
    assert (outlived["ready"], outlived["reason"]) == (True, "")
    assert [(each["replica"], each["reason"]) for each in outlived["replicas"]] == [
        ("r1", ""),
        ("r2", "replica r2 is in the ledger but not in the table"),
    ]
    assert (nothing["ready"], nothing["replicas"]) == (False, [])
    assert nothing["reason"] == f"there is no replica at {pair.base}/nothing in hot"
