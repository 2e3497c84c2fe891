# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From inventory to plan rows, on a real local Spark.

Every case is a shard path of its own, and one job decides them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import PartitionUsage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import InventoryRow
from partition_classify.policy.file import Policy, Rule, Settings
from partition_classify.policy.transforms import plan_rows, with_settings, with_table
from partition_classify.sources.inventory_rows import INVENTORY_SCHEMA
from partition_classify.sources.signals import SIGNAL_SCHEMA

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 20_000 * DAY

A_DAY = Settings(cold_after_ms=DAY, keep_newest=0)


def part(
    partition: str,
    age: int,
    *,
    name: str = "0_0_0",
    replica: str = "r1",
    ensemble: str = "hot",
    state: str = "",
) -> InventoryRow:
    """A part of one znode and 100 bytes that was registered ``age`` milliseconds ago."""
    return InventoryRow("", replica, f"{partition}_{name}", partition, NOW - age, 100, 1, ensemble, state)


def sign(partition: str, **known: Any) -> PartitionUsage:
    """What a server says of a partition."""
    return PartitionUsage("", partition, "default.t")._replace(**known)


class Expected(NamedTuple):
    """What a plan row is to say of a partition."""

    partition: str
    state: str | None
    reason: str
    action: str
    gate: str | None = None


class Case(NamedTuple):
    """An inventory of one shard path, and what is to be decided; the rows of the plan by partition."""

    parts: list[InventoryRow]
    expected: list[Expected]
    settings: Settings = A_DAY
    signs: Sequence[PartitionUsage] = ()


YOUNG = "changed less than 1 day ago"
UNMARKED = "registered in the cold ensemble only, but its State is not COLD: audit it"
QUEUED = "a merge or a mutation of its parts is queued"
MUTATED = "a mutation has not reached all of its parts"
CASES = {
    "ages count to the millisecond": Case(
        [part("1", DAY - 1), part("2", DAY), part("3", DAY + 1), part("4", -HOUR), part("5", 2 * DAY - 1)],
        [
            Expected("1", "HOT", YOUNG, "stay"),
            Expected("2", "COLD", "unchanged for 24 hours, cold_after is 1 day", "move"),
            Expected("3", "COLD", "unchanged for 24 hours, cold_after is 1 day", "move"),
            Expected("4", "HOT", YOUNG, "stay"),
            Expected("5", "COLD", "unchanged for 47 hours, cold_after is 1 day", "move"),
        ],
    ),
    "ages are said in units that fit": Case(
        [part("1", 1_999), part("2", 119_999), part("3", 120_000), part("4", 2 * HOUR), part("5", 2 * DAY)],
        [
            Expected("1", "COLD", "unchanged for 1 seconds, cold_after is 1 second", "move"),
            Expected("2", "COLD", "unchanged for 119 seconds, cold_after is 1 second", "move"),
            Expected("3", "COLD", "unchanged for 2 minutes, cold_after is 1 second", "move"),
            Expected("4", "COLD", "unchanged for 2 hours, cold_after is 1 second", "move"),
            Expected("5", "COLD", "unchanged for 2 days, cold_after is 1 second", "move"),
        ],
        Settings(cold_after_ms=1000, keep_newest=0),
    ),
    "the newest part of all replicas counts": Case(
        [part("1", 9 * DAY), part("1", HOUR, name="1_1_0", replica="r2"), part("1", 8 * DAY, replica="r2")],
        [Expected("1", "HOT", YOUNG, "stay")],
    ),
    "newest partitions stay hot and ties go to the greater id": Case(
        [part("1", 9 * DAY), part("3", 5 * DAY), part("2", 5 * DAY), part("4", 5 * DAY)],
        [
            Expected("1", "COLD", "unchanged for 9 days, cold_after is 1 day", "move"),
            Expected("2", "COLD", "unchanged for 5 days, cold_after is 1 day", "move"),
            Expected("3", "HOT", "among the 2 newest partitions", "stay"),
            Expected("4", "HOT", "among the 2 newest partitions", "stay"),
        ],
        Settings(cold_after_ms=DAY, keep_newest=2),
    ),
    # The time of a partition in cold is that of its move, later than that of what is really newer.
    "partitions in cold do not count among the newest": Case(
        [part("1", HOUR, ensemble="cold", state="COLD"), part("2", 5 * DAY)],
        [Expected("1", "COLD", "cold already", "stay"), Expected("2", "HOT", "the newest partition", "stay")],
        Settings(cold_after_ms=DAY, keep_newest=1),
    ),
    "new hot parts of a cold partition ask for a reheat": Case(
        [
            part("1", 9 * DAY, ensemble="cold", state="COLD"),
            part("1", 5 * DAY, name="1_1_0", state="COLD"),
            part("1", 5 * DAY, name="1_1_0", replica="r2", state="COLD"),
        ],
        [Expected("1", "HOT", "its State is COLD, but parts of it are in hot only: 2", "reheat")],
    ),
    "a copy on another replica is no copy": Case(
        [part("1", 9 * DAY, ensemble="cold", replica="r2", state="COLD"), part("1", 9 * DAY, state="COLD")],
        [Expected("1", "HOT", "its State is COLD, but parts of it are in hot only: 1", "reheat")],
    ),
    # State is COLD and every part is in both ensembles: cut short before the last deletes.
    "an unfinished move is finished": Case(
        [part("1", 9 * DAY, state="COLD"), part("1", HOUR, ensemble="cold", state="COLD")],
        [Expected("1", "COLD", "unchanged for 9 days, cold_after is 1 day", "move")],
    ),
    "an unfinished reheat is finished": Case(
        [part("1", HOUR, state="COLD"), part("1", 9 * DAY, ensemble="cold", state="COLD")],
        [Expected("1", "HOT", YOUNG, "reheat")],
    ),
    "a partition in cold without its marker is not touched": Case(
        [
            part(str(number), HOUR, ensemble="cold", state=state)
            for number, state in enumerate(["", "HOT", "COLD\n", "MOVING"])
        ],
        [
            Expected(
                str(number), "COLD", UNMARKED, "stay"
            )
            for number in range(4)
        ],
    ),
    "only the exact marker means cold": Case(
        [part(str(number), 9 * DAY, state=state) for number, state in enumerate(["HOT", "COLD\n", "MOVING"])],
        [
            Expected(str(number), "COLD", "unchanged for 9 days, cold_after is 1 day", "move")
            for number in range(3)
        ],
    ),
    "what is pinned hot is hot, cold already or not": Case(
        [
            part("1", 9 * DAY),
            part("2", 9 * DAY, ensemble="cold", state="COLD"),
            part("3", 9 * DAY, ensemble="cold"),
            part("4", 9 * DAY, state="COLD"),
        ],
        [
            Expected("1", "HOT", "pinned hot", "stay"),
            Expected("2", "HOT", "pinned hot", "reheat"),
            Expected("3", "COLD", UNMARKED, "stay"),
            Expected("4", "HOT", "pinned hot", "reheat"),
        ],
        replace(A_DAY, pin_hot=("1", "2", "3", "4")),
    ),
    "what is pinned cold is cold at any age, unless it came back": Case(
        [
            part("1", HOUR),
            part("2", HOUR, ensemble="cold", state="COLD"),
            part("3", HOUR, ensemble="cold"),
            part("4", HOUR, state="COLD"),
            part("5", HOUR),
        ],
        [
            Expected("1", "COLD", "pinned cold", "move"),
            Expected("2", "COLD", "cold already", "stay"),
            Expected("3", "COLD", UNMARKED, "stay"),
            Expected("4", "HOT", "its State is COLD, but parts of it are in hot only: 1", "reheat"),
            Expected("5", "HOT", YOUNG, "stay"),
        ],
        replace(A_DAY, keep_newest=5, pin_cold=("1", "2", "3", "4")),
    ),
    "pinned partitions count among the newest": Case(
        [part("1", 2 * DAY), part("2", 3 * DAY), part("3", 4 * DAY)],
        [
            Expected("1", "COLD", "pinned cold", "move"),
            Expected("2", "HOT", "among the 2 newest partitions", "stay"),
            Expected("3", "COLD", "unchanged for 4 days, cold_after is 1 day", "move"),
        ],
        replace(A_DAY, keep_newest=2, pin_cold=("1",)),
    ),
    "a table is left alone whatever state its partitions are in": Case(
        [
            part("1", 9 * DAY),
            part("2", 9 * DAY, ensemble="cold", state="COLD"),
            part("3", 9 * DAY, ensemble="cold"),
            part("4", 9 * DAY, state="COLD"),
        ],
        [Expected(each, None, "the policy leaves its table alone", "leave") for each in "1234"],
        replace(A_DAY, never=True),
    ),
    "several parts of one replica need a merge": Case(
        [
            part("1", 9 * DAY), part("1", 9 * DAY, name="1_1_0", replica="r2"),
            part("2", 9 * DAY), part("2", 9 * DAY, name="1_1_0"), part("2", 9 * DAY, replica="r2"),
            part("3", HOUR), part("3", HOUR, name="1_1_0"),
            part("4", HOUR, state="COLD"), part("4", HOUR, name="1_1_0", state="COLD"),
            part("5", HOUR, ensemble="cold", state="COLD"),
            part("5", HOUR, name="1_1_0", ensemble="cold", state="COLD"),
        ],
        [
            Expected("1", "COLD", "unchanged for 9 days, cold_after is 1 day", "move"),
            Expected("2", "COLD", "unchanged for 9 days, cold_after is 1 day", "move", "one_part"),
            Expected("3", "HOT", YOUNG, "stay"),
            Expected("4", "HOT", "its State is COLD, but parts of it are in hot only: 2", "reheat"),
            Expected("5", "COLD", "cold already", "stay"),
        ],
    ),
    "what servers work on is not proposed": Case(
        [
            *(part(str(number), 9 * DAY) for number in range(1, 6)),
            part("6", HOUR),
            part("7", HOUR),
            part("8", 9 * DAY, state="COLD"), part("8", 9 * DAY, ensemble="cold", state="COLD"),
            part("9", 9 * DAY, ensemble="cold", state="COLD"),
        ],
        [
            Expected("1", "HOT", QUEUED, "busy", "queue_clear"),
            Expected("2", "HOT", MUTATED, "busy", "mutations_applied"),
            Expected("3", "COLD", "unchanged for 9 days, cold_after is 1 day", "move"),
            Expected("4", "HOT", QUEUED, "busy", "queue_clear"),
            Expected("5", "COLD", "unchanged for 9 days, cold_after is 1 day", "move"),
            Expected("6", "HOT", YOUNG, "stay"),
            Expected("7", "HOT", MUTATED, "busy", "mutations_applied"),
            Expected("8", "HOT", QUEUED, "reheat"),
            Expected("9", "COLD", "cold already", "stay"),
        ],
        replace(A_DAY, pin_cold=("7",)),
        [
            sign("1", is_queued=1),
            # One server knows of the mutation, the other has a part that it has not reached.
            sign("2", mutation=7), sign("2", data_version=6), sign("2", data_version=7),
            sign("3", mutation=7), sign("3", data_version=7),
            sign("4", is_queued=1), sign("4", data_version=6), sign("4", mutation=7),
            # A part that is gone has nothing to wait for.
            sign("5", mutation=7),
            sign("6", is_queued=1),
            sign("7", data_version=1, mutation=2),
            sign("8", is_queued=1),
            sign("9", is_queued=1),
        ],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def decided(spark: SparkSession) -> dict[str, list[Expected]]:
    """What the job decides for each case."""
    paths = {name: f"/cases/{number:02d}" for number, name in enumerate(CASES)}
    rules = tuple(Rule(paths[name], case.settings) for name, case in CASES.items())
    rows = [row._replace(shard_path=paths[name]) for name, case in CASES.items() for row in case.parts]
    signs = [row._replace(shard_path=paths[name]) for name, case in CASES.items() for row in case.signs]
    planned = plan_rows(
        spark.createDataFrame(rows, INVENTORY_SCHEMA),
        Policy(rules, A_DAY, "0" * 64),
        NOW,
        spark.createDataFrame(signs, SIGNAL_SCHEMA),
    ).collect()
    return {
        name: sorted(
            Expected(row.partition, row.state, row.reason, row.action, row.gate)
            for row in planned
            if row.shard_path == path
        )
        for name, path in paths.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_decision(decided: dict[str, list[Expected]], name: str) -> None:
    assert decided[name] == CASES[name].expected


def test_rows_add_up_over_replicas_and_parts(spark: SparkSession) -> None:
    hits = [
        part("1", 5 * DAY),
        part("1", 3 * DAY, name="1_1_0")._replace(znodes=3, bytes=1000),
        part("1", 4 * DAY, replica="r2"),
        part("1", HOUR, ensemble="cold"),
        part("2", HOUR),
    ]
    visits = [part("1", HOUR, ensemble="cold", state="COLD")._replace(znodes=3)]
    rows = [row._replace(shard_path="/hits") for row in hits] + [
        row._replace(shard_path="/visits") for row in visits
    ]
    planned = plan_rows(spark.createDataFrame(rows, INVENTORY_SCHEMA), Policy((), A_DAY, "0" * 64), NOW)
    counts = ("last_modified", "has_hot", "replicas", "parts", "parts_per_replica", "znodes", "bytes")
    assert {tuple(row) for row in planned.select("shard_path", "partition", *counts).collect()} == {
        ("/hits", "1", NOW - 3 * DAY, True, 2, 3, 2, 5, 1200),
        ("/hits", "2", NOW - HOUR, True, 1, 1, 1, 1, 100),
        ("/visits", "1", NOW - HOUR, False, 1, 1, 1, 3, 100),
    }


def test_what_servers_know_is_of_one_replica_and_reads_are_of_all(spark: SparkSession) -> None:
    rows = [part(str(number), HOUR)._replace(shard_path="/hits") for number in range(1, 6)]
    signs = [
        sign("1", rows=10, bytes_on_disk=90, active_parts=2, has_log=True), sign("1", reads=3),
        sign("1", rows=10, bytes_on_disk=99, active_parts=1, has_log=True), sign("1", reads=4),
        sign("2", rows=5, bytes_on_disk=50, active_parts=1, has_log=True),
        sign("3", rows=5, bytes_on_disk=50, active_parts=1, has_log=True), sign("3", reads=3),
        sign("3", rows=5, bytes_on_disk=50, active_parts=1, has_log=False),
        sign("4", mutation=1),
        sign("9", rows=1, has_log=True),
    ]  # fmt: skip
    planned = plan_rows(
        spark.createDataFrame(rows, INVENTORY_SCHEMA),
        Policy((), A_DAY, "0" * 64),
        NOW,
        spark.createDataFrame([each._replace(shard_path="/hits") for each in signs], SIGNAL_SCHEMA),
    )
    known = ("sql_table", "active_parts", "rows", "bytes_on_disk", "reads")
    assert {tuple(row) for row in planned.select("partition", *known).collect()} == {
        ("1", "default.t", 2, 10, 99, 7),
        ("2", "default.t", 1, 5, 50, 0),
        ("3", "default.t", 1, 5, 50, None),
        ("4", "default.t", None, None, None, None),
        ("5", None, None, None, None, None),
    }


def test_statement_names_the_table_where_a_server_did(spark: SparkSession) -> None:
    rows = [
        part(partition, 9 * DAY, name=name)._replace(shard_path="/hits")
        for partition in ("1", "2", "3")
        for name in ("0_0_0", "1_1_0")
    ]
    signs = [sign("1", active_parts=2), sign("3", active_parts=1)]
    planned = plan_rows(
        spark.createDataFrame(rows, INVENTORY_SCHEMA),
        Policy((), A_DAY, "0" * 64),
        NOW,
        spark.createDataFrame([each._replace(shard_path="/hits") for each in signs], SIGNAL_SCHEMA),
    )
    assert {tuple(row) for row in planned.select("partition", "gate", "statement").collect()} == {
        ("1", "one_part", "OPTIMIZE TABLE default.t PARTITION ID '1' FINAL"),
        ("2", "one_part", "OPTIMIZE TABLE … PARTITION ID '2' FINAL"),
        # Merged already; what is registered besides is only to be cleaned up.
        ("3", "one_part", None),
    }


def test_tables_are_named_alike_in_all_shards(spark: SparkSession) -> None:
    tables = {
        "/ch/tables/01/hits": "/ch/tables/*/hits",
        "/ch/hits/7": "/ch/hits/*",
        "/ch/01-02/db/hits": "/ch/*/db/hits",
        "/ch/01/02/hits": "/ch/*/*/hits",
        "/ch/shard3/shard_04/shard-5/hits": "/ch/*/*/*/hits",
        "/ch/hits2/shard/01a": "/ch/hits2/shard/01a",
    }
    rows = spark.createDataFrame([(path,) for path in tables], "shard_path string")
    assert {row.shard_path: row.table for row in with_table(rows).collect()} == tables


def test_first_rule_that_matches_gives_the_settings(spark: SparkSession) -> None:
    policy = Policy(
        (
            Rule("/ch/hits", Settings(7 * DAY, 1, pin_hot=("1", "2"), pin_cold=("3",))),
            Rule("/ch/*", Settings(36 * HOUR, 2, never=True)),
        ),
        A_DAY,
        "0" * 64,
    )
    paths = ("/ch/hits", "/ch/visits", "/ch/01/hits", "/x/ch/hits")
    rows = spark.createDataFrame([(path, "1") for path in paths], "shard_path string, partition_id string")
    assert {tuple(row) for row in with_settings(rows, policy).collect()} == {
        ("/ch/hits", "1", 7 * DAY, "7 days", 1, True, False, False),
        ("/ch/visits", "1", 36 * HOUR, "36 hours", 2, False, False, True),
        ("/ch/01/hits", "1", DAY, "1 day", 0, False, False, False),
        ("/x/ch/hits", "1", DAY, "1 day", 0, False, False, False),
    }


def test_patterns_mean_the_same_to_spark_as_to_python(spark: SparkSession) -> None:
    """Every character that a regular expression could take for more than itself."""
    signs = [chr(code) for code in range(33, 127) if chr(code) not in "/*?"] + ["é", "таб", "\U0001f4c8"]
    rules = tuple(Rule(f"/t{sign}x", Settings(DAY + number, 0)) for number, sign in enumerate(signs, start=1))
    paths = [(f"/t{sign}x", "1") for sign in signs]
    rows = with_settings(
        spark.createDataFrame(paths, "shard_path string, partition_id string"), Policy(rules, A_DAY, "0" * 64)
    ).collect()
    assert {row.shard_path: row.cold_after for row in rows} == {
        rule.table: rule.settings.cold_after_ms for rule in rules
    }
