# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Summary of a plan for Ansible."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from olap_partmove._partmove.plan.file import PlanHeader
from olap_partmove._partmove.plan.origin import OriginZnode
from partition_classify.policy.file import parse_policy
from partition_classify.policy.transforms import DEFAULTS
from partition_classify.summary import RowTotals, findings_of, is_change, summary_of

HEADER = PlanHeader("0" * 64, "test", (), 0, 7, "1" * 64)
POLICY = parse_policy(b"{version: 1, rules: [{table: /a, pin_hot: ['1', '7']}]}", "policy.yml")
SCHEMA = (
    "state string, action string, gate string, shard_path string, partition string, statement string, "
    "parts bigint, znodes bigint, bytes bigint, rule int, reads_in_window bigint"
)
OPTIMIZE = "OPTIMIZE TABLE t PARTITION ID '1' FINAL"
ROWS = [
    ("COLD", "move", None, "/a", "1", None, 1, 3, 10),
    ("COLD", "move", None, "/a", "2", None, 2, 6, 20),
    ("COLD", "move", "one_part", "/a", "3", OPTIMIZE, 4, 12, 40),
    # The servers have merged it already and only clean up: there is no statement.
    ("COLD", "move", "one_part", "/a", "4", None, 2, 2, 5),
    ("COLD", "stay", None, "/b", "1", None, 1, 1, 1),
    ("HOT", "stay", None, "/b", "2", None, 1, 1, 1),
    ("HOT", "busy", "queue_clear", "/b", "3", None, 1, 100, 1),
    ("HOT", "busy", "mutations_applied", "/b", "4", None, 1, 200, 1),
    ("HOT", "reheat", None, "/b", "5", None, 5, 5, 5),
    (None, "leave", None, "/c", "1", None, 9, 9, 9),
]


def test_summary_adds_up_partitions_by_action(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(*row, 0 if row[3] == "/a" else DEFAULTS, None) for row in ROWS], SCHEMA)
    findings = findings_of(rows, POLICY)
    assert findings.planned == 9
    assert summary_of(Path("/plan.jsonl"), HEADER, None, findings, "/report.html") == {
        "plan": "/plan.jsonl",
        "report": "/report.html",
        "changed": True,
        "rows": 7,
        "cold": 5,
        "hot": 4,
        "to_move": {"partitions": 4, "parts": 9, "znodes": 23, "bytes": 75},
        "to_merge": {
            "partitions": 2,
            "parts": 6,
            "znodes": 14,
            "bytes": 45,
            "statements": [{"shard_path": "/a", "partition": "3", "statement": OPTIMIZE}],
        },
        "to_reheat": {"partitions": 1, "parts": 5, "znodes": 5, "bytes": 5},
        "busy": {"partitions": 2, "parts": 2, "znodes": 300, "bytes": 2},
        "left_alone": {"partitions": 1, "parts": 9, "znodes": 9, "bytes": 9},
        "complete": True,
        "unread": {"count": 0, "first": []},
        "rules": [
            {"rule": "rules[0]", "table": "/a", "partitions": 4, "unused_pins": ["7"], "reads_known": None},
            {"rule": "defaults", "table": None, "partitions": 6, "unused_pins": [], "reads_known": None},
        ],
    }


def test_unreadable_items_are_counted_and_the_first_named(spark: SparkSession) -> None:
    unread = [(None, "unread", None, f"/s{number:02}", "", None, 1, 1, 0) for number in range(29, 0, -1)]
    found = [*ROWS, *unread, (None, "unread", None, "/a", "9", None, 3, 3, 0)]
    rows = spark.createDataFrame([(*row, DEFAULTS, None) for row in found], SCHEMA)
    summary = summary_of(Path("/plan.jsonl"), HEADER, None, findings_of(rows, POLICY))
    assert summary["complete"] is False
    assert summary["unread"] == {
        "count": 30,
        "first": [
            {"shard_path": "/a", "partition": "9"},
            *({"shard_path": f"/s{number:02}", "partition": ""} for number in range(1, 20)),
        ],
    }
    assert (summary["cold"], summary["hot"], summary["left_alone"]["partitions"]) == (5, 4, 1)


def test_statements_with_the_most_znodes_are_listed(spark: SparkSession) -> None:
    """There are 30, of two sizes; equal ones are listed by shard path and partition."""
    rows = [
        ("COLD", "move", "one_part", f"/{number % 2}", f"{number:02}", OPTIMIZE, 2, 5 + number // 15, 1)
        for number in range(30)
    ]
    findings = findings_of(spark.createDataFrame([(*row, DEFAULTS, None) for row in rows], SCHEMA), POLICY)
    expected = sorted(rows, key=lambda row: (-row[7], row[3], row[4]))[:20]
    assert [(each["shard_path"], each["partition"]) for each in findings.merges] == [
        (row[3], row[4]) for row in expected
    ]
    assert findings.totals == {("COLD", "move", "one_part"): RowTotals(30, 60, 15 * 5 + 15 * 6, 30)}


def test_plan_changes_with_its_policy_its_cluster_and_its_rows_and_not_with_time() -> None:
    assert is_change(None, HEADER)
    assert not is_change(HEADER, HEADER._replace(as_of=99, source="elsewhere"))
    assert is_change(HEADER, HEADER._replace(policy_digest="2" * 64))
    assert is_change(HEADER, HEADER._replace(rows_digest="2" * 64))
    assert is_change(HEADER, HEADER._replace(origin=(OriginZnode("/ch", 17, 0),)))
