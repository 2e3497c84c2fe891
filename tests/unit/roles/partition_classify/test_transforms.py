# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From inventory to plan rows, on a real local Spark.

Every case is a shard path of its own, and one job decides them all.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from ansible_collections.olap.partmove.plugins.module_utils.partmove.inventory import InventoryRow
from partition_classify.live_source import INVENTORY_SCHEMA
from partition_classify.policy import Policy, Rule, Settings
from partition_classify.transforms import plan_rows, with_settings

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 20_000 * DAY

A_DAY = Settings(cold_after_ms=DAY, keep_newest=0)

PLAN_SCHEMA = (
    "shard_path string, partition string, state string, reason string, last_modified bigint, "
    "parts bigint, znodes bigint, bytes bigint, action string"
)


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


class Expected(NamedTuple):
    """What a plan row is to say of a partition."""

    partition: str
    state: str
    reason: str
    action: str


class Case(NamedTuple):
    """An inventory of one shard path, and what is to be decided; the rows of the plan by partition."""

    parts: list[InventoryRow]
    expected: list[Expected]
    settings: Settings = A_DAY


YOUNG = "changed less than 1 day ago"
UNMARKED = "registered in the cold ensemble only, but its State is not COLD: audit it"
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
}  # fmt: skip


@pytest.fixture(scope="module")
def decided(spark: SparkSession) -> dict[str, list[Expected]]:
    """What the job decides for each case."""
    paths = {name: f"/cases/{number:02d}" for number, name in enumerate(CASES)}
    rules = tuple(Rule(paths[name], case.settings) for name, case in CASES.items())
    rows = [row._replace(shard_path=paths[name]) for name, case in CASES.items() for row in case.parts]
    planned = plan_rows(
        spark.createDataFrame(rows, INVENTORY_SCHEMA), Policy(rules, A_DAY, "0" * 64), NOW
    ).collect()
    return {
        name: sorted(
            Expected(row.partition, row.state, row.reason, row.action)
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
    expected = [
        (
            "/hits",
            "1",
            "COLD",
            "unchanged for 3 days, cold_after is 1 day",
            NOW - 3 * DAY,
            3,
            5,
            1200,
            "move",
        ),
        ("/hits", "2", "HOT", YOUNG, NOW - HOUR, 1, 1, 100, "stay"),
        ("/visits", "1", "COLD", "cold already", NOW - HOUR, 1, 3, 100, "stay"),
    ]
    assertDataFrameEqual(
        plan_rows(spark.createDataFrame(rows, INVENTORY_SCHEMA), Policy((), A_DAY, "0" * 64), NOW),
        spark.createDataFrame(expected, PLAN_SCHEMA),
    )


def test_first_rule_that_matches_gives_the_settings(spark: SparkSession) -> None:
    policy = Policy(
        (Rule("/ch/hits", Settings(7 * DAY, 1)), Rule("/ch/*", Settings(36 * HOUR, 2))), A_DAY, "0" * 64
    )
    paths = [("/ch/hits",), ("/ch/visits",), ("/ch/01/hits",), ("/x/ch/hits",)]
    expected = [
        ("/ch/hits", 7 * DAY, "7 days", 1),
        ("/ch/visits", 36 * HOUR, "36 hours", 2),
        ("/ch/01/hits", DAY, "1 day", 0),
        ("/x/ch/hits", DAY, "1 day", 0),
    ]
    assertDataFrameEqual(
        with_settings(spark.createDataFrame(paths, "shard_path string"), policy),
        spark.createDataFrame(
            expected, "shard_path string, cold_after bigint, cold_after_text string, keep_newest int"
        ),
    )


def test_patterns_mean_the_same_to_spark_as_to_python(spark: SparkSession) -> None:
    """Every character that a regular expression could take for more than itself."""
    signs = [chr(code) for code in range(33, 127) if chr(code) not in "/*?"] + ["é", "таб", "\U0001f4c8"]
    rules = tuple(Rule(f"/t{sign}x", Settings(DAY + number, 0)) for number, sign in enumerate(signs, start=1))
    paths = [(f"/t{sign}x",) for sign in signs]
    rows = with_settings(
        spark.createDataFrame(paths, "shard_path string"), Policy(rules, A_DAY, "0" * 64)
    ).collect()
    assert {row.shard_path: row.cold_after for row in rows} == {
        rule.table: rule.settings.cold_after_ms for rule in rules
    }
