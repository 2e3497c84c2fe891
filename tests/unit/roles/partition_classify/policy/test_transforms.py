# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of each partition, and the settings for it, on a real local Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import InventoryRow
from partition_classify.policy.file import Policy, PolicySettings, Rule
from partition_classify.policy.transforms import (
    DEFAULTS,
    parts,
    plan_rows,
    replicas,
    with_settings,
    with_table,
)
from partition_classify.sources.part_groups import GROUP_SCHEMA, PartGroup
from partition_classify.sources.signals import SIGNAL_SCHEMA
from support.classify.inventory import DAY, HOUR, NOW, inventory_of, part, sign

A_DAY = PolicySettings(cold_after_ms=DAY, keep_newest=0)


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
    planned = plan_rows(inventory_of(spark, rows), Policy((), A_DAY, "0" * 64), NOW)
    counts = ("last_modified", "has_hot", "replicas", "parts", "parts_per_replica", "znodes", "bytes")
    assert {tuple(row) for row in planned.select("shard_path", "partition", *counts).collect()} == {
        ("/hits", "1", NOW - 3 * DAY, True, 2, 3, 2, 5, 1200),
        ("/hits", "2", NOW - HOUR, True, 1, 1, 1, 1, 100),
        ("/visits", "1", NOW - HOUR, False, 1, 1, 1, 3, 100),
    }


def test_parts_read_before_the_state_became_cold_stay_separate(spark: SparkSession) -> None:
    group = PartGroup("/hits", "1", "r1", "hot", False, None, 3, NOW, 100, 3, 21)
    groups = [
        group,
        group._replace(ensemble="cold", parts=1),
        group._replace(ensemble="cold", parts=5, is_marked_cold=True),
        group._replace(replica="r2", part="1_0_0_0", parts=1, is_marked_cold=True),
        group._replace(replica="r2", part="1_0_0_0", parts=1, is_marked_cold=True, ensemble="cold"),
        group._replace(replica="r2", part="1_1_1_0", parts=1, is_marked_cold=True),
    ]
    known = spark.createDataFrame(groups, GROUP_SCHEMA).transform(parts).transform(replicas)
    found = {row.replica: (row.parts_in_hot_only, row.hot_parts, row.cold_parts) for row in known.collect()}
    assert found == {"r1": (2, 3, 6), "r2": (1, 2, 1)}


def test_sizes_are_of_one_replica_and_reads_of_all(spark: SparkSession) -> None:
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
        inventory_of(spark, rows),
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
            Rule(
                "/ch/hits",
                PolicySettings(
                    7 * DAY, 1, pin_hot=("1", "2"), pin_cold=("3",), max_reads=5, reads_within_ms=HOUR
                ),
            ),
            Rule("/ch/*", PolicySettings(36 * HOUR, 2, never=True)),
        ),
        A_DAY,
        "0" * 64,
    )
    paths = ("/ch/hits", "/ch/visits", "/ch/01/hits", "/x/ch/hits")
    rows = spark.createDataFrame([(path, "1") for path in paths], "shard_path string, partition_id string")
    any_reads = (None, 7 * DAY, "7 days")
    assert {tuple(row) for row in with_settings(rows, policy).collect()} == {
        ("/ch/hits", "1", 0, 7 * DAY, "7 days", 1, True, False, False, 5, HOUR, "1 hour"),
        ("/ch/visits", "1", 1, 36 * HOUR, "36 hours", 2, False, False, True, *any_reads),
        ("/ch/01/hits", "1", DEFAULTS, DAY, "1 day", 0, False, False, False, *any_reads),
        ("/x/ch/hits", "1", DEFAULTS, DAY, "1 day", 0, False, False, False, *any_reads),
    }


def test_patterns_mean_the_same_to_spark_as_to_python(spark: SparkSession) -> None:
    """Every character with a special meaning in regular expressions."""
    signs = [chr(code) for code in range(33, 127) if chr(code) not in "/*?"] + ["é", "таб", "\U0001f4c8"]
    rules = tuple(
        Rule(f"/t{sign}x", PolicySettings(DAY + number, 0)) for number, sign in enumerate(signs, start=1)
    )
    paths = [(f"/t{sign}x", "1") for sign in signs]
    rows = with_settings(
        spark.createDataFrame(paths, "shard_path string, partition_id string"), Policy(rules, A_DAY, "0" * 64)
    ).collect()
    assert {row.shard_path: row.cold_after for row in rows} == {
        rule.table: rule.settings.cold_after_ms for rule in rules
    }


def test_snapshot_bytes_equal_the_record_sizes(spark: SparkSession) -> None:
    path = "/ch/01/é"
    known = [("r1", "a_0_0_0", 1, 44), ("r1", "a_1_1_0", 3, 100), ("replica2", "a_0_0_0", 1, 44)]
    inventory = [
        InventoryRow(path, replica, name, "a", 0, size, znodes, "hot", "")
        for replica, name, znodes, size in known
    ]
    expected = 0
    for replica, name, znodes, size in known:
        top = f"{path}/replicas/{replica}/parts/{name}"
        for znode in [top, f"{top}/columns", f"{top}/checksums"][:znodes]:
            expected += 4 + len(znode.encode()) + 4 + 8 + 60
        expected += size
    frame = inventory_of(spark, inventory)
    planned = plan_rows(frame, Policy((), A_DAY, "0" * 64), NOW)
    assert [row.snapshot_bytes for row in planned.collect()] == [expected]
