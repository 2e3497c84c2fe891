# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_info on synthetic tables: where partitions are, and how much there is of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.synthetic import LEGACY, MINIMALISTIC
from support.memory.tables import Table, TableOptions, build_table, days, register

FIRST, SECOND, THIRD = days(3)
NOTHING = {"parts": 0, "znodes": 0, "bytes": 0}
TWO_PARTS = {"parts": 2, "znodes": 2, "bytes": 2 * len(MINIMALISTIC)}


def iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def newest(table: Table, client: Any, partition: str) -> str:
    return iso(
        max(
            client.get(f"{table.parts_path(replica)}/{name}")[1].mtime
            for replica in table.options.replicas
            for name in table.part_names(partition)
        )
    )


def test_nothing_is_written_in_any_mode(pair: Pair, table: Table) -> None:
    before = pair.trees()
    results = pair.call_all(
        *(pair.task("part_info", check=check, shard_paths=[table.path]) for check in (True, False))
    )
    assert results[0] == results[1]
    assert not results[0]["changed"]
    assert pair.trees() == before


def test_a_partition_of_each_location(pair: Pair, table: Table) -> None:
    pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    register(pair.cold, table, "r1", [SECOND])
    pair.hot.create(table.state_path(THIRD), b"COLD")

    result = pair.call("part_info", shard_paths=[table.path], partitions=[THIRD, FIRST, SECOND, "nil"])

    assert result["partitions"] == [
        {
            "shard_path": table.path,
            "partition": FIRST,
            "state": "COLD",
            "location": "cold",
            "replicas": ["r1", "r2"],
            "former_replicas": [],
            "last_modified": newest(table, pair.cold, FIRST),
            "hot": NOTHING,
            "cold": TWO_PARTS,
        },
        {
            "shard_path": table.path,
            "partition": SECOND,
            "state": "",
            "location": "hot",
            "replicas": ["r1", "r2"],
            "former_replicas": [],
            "last_modified": newest(table, pair.hot, SECOND),
            "hot": TWO_PARTS,
            "cold": {"parts": 1, "znodes": 1, "bytes": len(MINIMALISTIC)},
        },
        {
            "shard_path": table.path,
            "partition": THIRD,
            "state": "COLD",
            "location": "drifted",
            "replicas": ["r1", "r2"],
            "former_replicas": [],
            "last_modified": newest(table, pair.hot, THIRD),
            "hot": TWO_PARTS,
            "cold": NOTHING,
        },
        {
            "shard_path": table.path,
            "partition": "nil",
            "state": "",
            "location": "absent",
            "replicas": [],
            "former_replicas": [],
            "last_modified": None,
            "hot": NOTHING,
            "cold": NOTHING,
        },
    ]
    assert result["totals"] == {
        "hot": {"partitions": 2, "parts": 4, "znodes": 4, "bytes": 4 * len(MINIMALISTIC)},
        "cold": {"partitions": 2, "parts": 3, "znodes": 3, "bytes": 3 * len(MINIMALISTIC)},
    }


def test_cold_partition_that_one_replica_lacks_has_drifted(pair: Pair, table: Table) -> None:
    pair.hot.delete(f"{table.parts_path('r1')}/{table.part_names(FIRST)[0]}")
    pair.hot.delete(f"{table.parts_path('r2')}/{table.part_names(FIRST)[0]}")
    pair.hot.create(table.state_path(FIRST), b"COLD")
    register(pair.cold, table, "r1", [FIRST])
    (entry,) = pair.call("part_info", shard_paths=[table.path], partitions=[FIRST])["partitions"]
    assert (entry["location"], entry["replicas"]) == ("drifted", ["r1"])


def test_hot_alone_tells_no_location(pair: Pair, table: Table) -> None:
    result = pair.call("part_info", shard_paths=[table.path], cold=None)
    assert [(entry["partition"], entry["location"]) for entry in result["partitions"]] == [
        (FIRST, None),
        (SECOND, None),
        (THIRD, None),
    ]
    assert "cold" not in result["partitions"][0]
    assert result["totals"] == {
        "hot": {"partitions": 3, "parts": 6, "znodes": 6, "bytes": 6 * len(MINIMALISTIC)}
    }


def test_parts_are_listed_on_request(pair: Pair) -> None:
    table = build_table(pair.hot, f"{pair.base}/hits", TableOptions(partitions=[FIRST], legacy=True))
    (entry,) = pair.call("part_info", shard_paths=[table.path], details="parts")["partitions"]
    name = table.part_names(FIRST)[0]
    assert entry["parts"] == [
        {
            "ensemble": "hot",
            "replica": replica,
            "part": name,
            "last_modified": iso(pair.hot.get(f"{table.parts_path(replica)}/{name}")[1].mtime),
            "znodes": 3,
            "bytes": sum(len(data) for data in LEGACY.values()),
        }
        for replica in ("r1", "r2")
    ]


def test_tables_below_a_root_are_found_and_sorted(pair: Pair, table: Table) -> None:
    deep = build_table(pair.hot, f"{pair.base}/a/01/deep", TableOptions(partitions=[FIRST]))
    broken = build_table(pair.hot, f"{pair.base}/broken", TableOptions(partitions=[FIRST]))
    pair.hot.create(f"{broken.parts_path('r1')}/tmp_insert", b"")

    result = pair.call("part_info", root=pair.base)

    assert [(entry["shard_path"], entry["partition"]) for entry in result["partitions"]] == [
        (deep.path, FIRST),
        (table.path, FIRST),
        (table.path, SECOND),
        (table.path, THIRD),
    ]
    (unreadable,) = result["unreadable"]
    assert unreadable["shard_path"] == broken.path
    assert f"{broken.parts_path('r1')}/tmp_insert" in unreadable["reason"]


@pytest.mark.parametrize("check", [False, True], ids=["run", "check"])
def test_refusals(pair: Pair, table: Table, check: bool) -> None:
    missing, same, root, partition = pair.call_all(
        pair.task("part_info", check=check, shard_paths=[f"{pair.base}/none"]),
        pair.task("part_info", check=check, shard_paths=[table.path], cold=pair.options["hot"]),
        pair.task("part_info", check=check, root=f"{pair.base}/none"),
        pair.task("part_info", check=check, shard_paths=[table.path], partitions=["a_b"]),
    )
    assert missing["msg"].startswith(f"There is no replicated table at {pair.base}/none in the hot ensemble")
    assert same["msg"].startswith("Hot and cold are one ensemble: both were given the address")
    assert root["msg"].startswith(f"There is no znode {pair.base}/none in the hot ensemble")
    assert "'a_b'" in partition["msg"]
    assert all(result["failed"] for result in (missing, same, root, partition))
    assert "Traceback" not in json.dumps([missing, same, root, partition])
