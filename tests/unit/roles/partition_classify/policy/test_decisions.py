# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which state each partition should have, why, and what stands in the way, on a real local Spark.

Every case is a shard path of its own, and one job decides them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import PartitionUsage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import InventoryRow
from partition_classify.policy.decisions import Separation
from partition_classify.policy.file import Policy, PolicySettings, Rule
from partition_classify.policy.transforms import apply_policy, known_partitions, plan_rows
from partition_classify.sources.signals import SIGNAL_SCHEMA
from support.classify.inventory import DAY, HOUR, NOW, inventory_of, part, sign

A_DAY = PolicySettings(cold_after_ms=DAY, keep_newest=0)


class Expected(NamedTuple):
    """Expected values of a plan row."""

    partition: str
    state: str | None
    reason: str
    action: str
    gate: str | None = None


class Case(NamedTuple):
    """An inventory of one shard path, and the expected plan rows by partition."""

    parts: list[InventoryRow]
    expected: list[Expected]
    settings: PolicySettings = A_DAY
    signs: Sequence[PartitionUsage] = ()


YOUNG = "changed less than 1 day ago"

UNMARKED = "registered in the cold ensemble only, but its State is not COLD: see part_audit_info"

QUEUED = "a merge or a mutation of its parts is queued"

MUTATED = "a mutation has not reached all of its parts"

OLD = "unchanged for 9 days, cold_after is 1 day"

PATCHES = "patches of a lightweight update never move: a merge of their partition applies them"

UNKNOWN = "number of reads within 7 days unknown"


def unread(partition: str, *, replica: str = "r1", ensemble: str = "hot") -> InventoryRow:
    """An unreadable part."""
    row = part(partition, 0, name="7_7_0", replica=replica, ensemble=ensemble)
    return row._replace(mtime=0, bytes=0, state=None)


def known_to(partition: str, replica: str, *windows: int) -> PartitionUsage:
    """A server's data of a partition, with a query log that covers the windows."""
    return sign(partition, replica=replica, active_parts=1, reads_within=dict.fromkeys(windows, 0))


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
        PolicySettings(cold_after_ms=1000, keep_newest=0),
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
        PolicySettings(cold_after_ms=DAY, keep_newest=2),
    ),
    # The time of a partition in cold is that of its move, later than that of what is really newer.
    "partitions in cold do not count among the newest": Case(
        [part("1", HOUR, ensemble="cold", state="COLD"), part("2", 5 * DAY)],
        [Expected("1", "COLD", "cold already", "stay"), Expected("2", "HOT", "the newest partition", "stay")],
        PolicySettings(cold_after_ms=DAY, keep_newest=1),
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
    "nothing is decided of what may not be read": Case(
        [
            part("1", 9 * DAY),
            unread("1", replica="r2"),
            part("2", 9 * DAY, state="COLD"),
            unread("2", ensemble="cold"),
            unread("3", ensemble="cold"),
            unread("4")._replace(mtime=NOW - 9 * DAY, bytes=100),
            part("5", 9 * DAY),
        ],
        [
            *(Expected(each, None, "not all of its znodes may be read", "unread") for each in "1234"),
            Expected("5", "COLD", OLD, "move"),
        ],
    ),
    "nothing is decided of what may not be read, pinned or not": Case(
        [unread("1"), part("1", 9 * DAY, replica="r2"), unread("2"), part("3", HOUR)],
        [
            Expected("1", None, "not all of its znodes may be read", "unread"),
            Expected("2", None, "not all of its znodes may be read", "unread"),
            Expected("3", "COLD", "pinned cold", "move"),
        ],
        replace(A_DAY, pin_cold=("1", "3"), pin_hot=("2",)),
    ),
    "what may not be read does not count among the newest": Case(
        [unread("3"), part("1", 9 * DAY), part("2", 8 * DAY)],
        [
            Expected("1", "COLD", OLD, "move"),
            Expected("2", "HOT", "the newest partition", "stay"),
            Expected("3", None, "not all of its znodes may be read", "unread"),
        ],
        PolicySettings(cold_after_ms=DAY, keep_newest=1),
    ),
    "tables that are left alone are not reported as unread": Case(
        [unread("1"), unread("")],
        [Expected(each, None, "the policy leaves its table alone", "leave") for each in ("", "1")],
        replace(A_DAY, never=True),
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
    "patches of a partition are no partition of their own": Case(
        [
            part("1", 9 * DAY), part("2", 9 * DAY),
            part("patch-0a1b-1", 2 * DAY), part("patch-0a1b-2", 8 * DAY),
        ],
        [
            Expected("1", "COLD", "pinned cold", "move"),
            Expected("2", "HOT", "the newest partition", "stay"),
            Expected("patch-0a1b-1", "HOT", PATCHES, "stay"),
            Expected("patch-0a1b-2", "HOT", PATCHES, "stay"),
        ],
        replace(A_DAY, keep_newest=1, pin_cold=("1", "patch-0a1b-2")),
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
            Expected("8", "HOT", QUEUED, "reheat", "queue_clear"),
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
    "what is read more often than max_reads is hot": Case(
        [
            *(part(str(number), 9 * DAY) for number in range(1, 5)),
            part("5", HOUR),
            part("6", 9 * DAY),
            part("7", 9 * DAY, ensemble="cold", state="COLD"),
        ],
        [
            Expected("1", "COLD", f"{OLD}; read 0 times within 2 days, max_reads is 2", "move"),
            Expected("2", "COLD", f"{OLD}; read 2 times within 2 days, max_reads is 2", "move"),
            Expected("3", "HOT", "read 3 times within 2 days, max_reads is 2", "stay"),
            Expected("4", "COLD", "pinned cold", "move"),
            Expected("5", "HOT", YOUNG, "stay"),
            Expected("6", "HOT", QUEUED, "busy", "queue_clear"),
            Expected("7", "COLD", "cold already", "stay"),
        ],
        replace(A_DAY, pin_cold=("4",), max_reads=2, reads_within_ms=2 * DAY),
        [
            *(known_to(str(number), "r1", 2 * DAY) for number in range(1, 8)),
            *[sign("2", reads_within={2 * DAY: 1})] * 2,
            *[sign("3", reads_within={2 * DAY: 1})] * 3,
            sign("4", reads_within={2 * DAY: 99}),
            sign("6", is_queued=1),
            sign("7", reads_within={2 * DAY: 99}),
        ],
    ),
    "what is not known to be read rarely is hot": Case(
        [
            part("1", 9 * DAY),
            part("2", 9 * DAY), part("2", 9 * DAY, replica="r2"),
            part("3", 9 * DAY), part("3", 9 * DAY, replica="r2"),
            part("4", 9 * DAY), part("4", 9 * DAY, replica="r2"),
            part("5", 9 * DAY),
            part("6", HOUR),
            part("7", 9 * DAY, state="COLD"), part("7", 9 * DAY, ensemble="cold", state="COLD"),
            part("8", 9 * DAY), part("8", 9 * DAY, replica="r2"),
        ],
        [
            Expected("1", "HOT", f"{UNKNOWN}: no server has reported it", "stay"),
            Expected("2", "HOT", f"{UNKNOWN}: 1 of its 2 replicas have reported it", "stay"),
            Expected("3", "HOT", f"{UNKNOWN}: a server has no query log that covers that time", "stay"),
            Expected("4", "HOT", f"{UNKNOWN}: 1 of its 2 replicas have reported it", "stay"),
            Expected("5", "HOT", f"{UNKNOWN}: no server has reported it", "stay"),
            Expected("6", "HOT", YOUNG, "stay"),
            Expected("7", "HOT", f"{UNKNOWN}: no server has reported it", "reheat"),
            Expected("8", "COLD", f"{OLD}; read 1 times within 7 days, max_reads is 9", "move"),
        ],
        replace(A_DAY, max_reads=9),
        [
            known_to("2", "r1", 7 * DAY),
            known_to("3", "r1", 7 * DAY), known_to("3", "r2", 2 * DAY),
            # One server by two names.
            known_to("4", "r1", 7 * DAY), known_to("4", "r1", 7 * DAY),
            # A server that knows of reads and has no part.
            sign("5", reads_within={7 * DAY: 1}),
            known_to("8", "r1", 7 * DAY), known_to("8", "r2", 7 * DAY), sign("8", reads_within={7 * DAY: 1}),
        ],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def decided(spark: SparkSession) -> dict[str, list[Expected]]:
    """The decisions of the job for each case."""
    paths = {name: f"/cases/{number:02d}" for number, name in enumerate(CASES)}
    rules = tuple(Rule(paths[name], case.settings) for name, case in CASES.items())
    rows = [row._replace(shard_path=paths[name]) for name, case in CASES.items() for row in case.parts]
    signs = [row._replace(shard_path=paths[name]) for name, case in CASES.items() for row in case.signs]
    planned = plan_rows(
        inventory_of(spark, rows),
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


def test_several_parts_are_an_obstacle_for_patched_only(spark: SparkSession) -> None:
    names = ("0_0_0", "1_1_0")
    rows = [part("1", 9 * DAY, name=name) for name in names] + [part("2", 9 * DAY), part("3", HOUR)]
    signs = spark.createDataFrame([sign("2", is_queued=1)], SIGNAL_SCHEMA)
    known = known_partitions(inventory_of(spark, rows), NOW, (), signs)
    seen = ["partition", "state", "gate", "statement"]
    for separation, gate in ((Separation.PATCHED, "one_part"), (Separation.TWIN, None)):
        planned = apply_policy(Policy((), A_DAY, "0" * 64), known, separation)
        merge = "OPTIMIZE TABLE … PARTITION ID '1' FINAL" if gate else None
        assert {tuple(row) for row in planned.select(*seen).collect()} == {
            ("1", "COLD", gate, merge),
            ("2", "HOT", "queue_clear", None),
            ("3", "HOT", None, None),
        }


def test_statement_has_the_table_name_reported_by_a_server(spark: SparkSession) -> None:
    rows = [
        part(partition, 9 * DAY, name=name)._replace(shard_path="/hits")
        for partition in ("1", "2", "3")
        for name in ("0_0_0", "1_1_0")
    ]
    signs = [sign("1", active_parts=2), sign("3", active_parts=1)]
    planned = plan_rows(
        inventory_of(spark, rows),
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
