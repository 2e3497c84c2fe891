# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any policy over any inventory, against a model of both in plain Python.

Each policy decides all shard paths in one Spark job, because a job costs a second whatever its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from partition_classify.policy.transforms import plan_rows
from support.classify.policy_model import (
    COLUMNS,
    NOW,
    Shard,
    decide,
    frames,
    made,
    policies,
    policy_of,
    shards,
)

POLICIES = 3
SHARDS = 200

ALL_KEYS = {
    "version": 1,
    "defaults": {"cold_after": "48h", "keep_newest": 1, "pin_hot": ["all"], "pin_cold": ["1"]},
    "rules": [
        {"table": "/*1/**", "never": True},
        {"table": "/**/b", "keep_newest": 0, "pin_hot": [], "max_reads": 2, "reads_within": "1d"},
    ],
}


@pytest.mark.parametrize("number", range(POLICIES))
def test_plan_is_that_of_the_model(spark: SparkSession, number: int) -> None:
    policy = made(policies(), number)[-1] if number else ALL_KEYS
    cases = {f"/{index}/{shard.name}": shard for index, shard in enumerate(made(shards, SHARDS))}
    wanted = {path: decide(policy, path, shard) for path, shard in cases.items()}
    if number == 0:
        # Every outcome has to be there for the comparison to mean something.
        outcomes = {row[:3] for rows in wanted.values() for row in rows.values()}
        rare = {("HOT", "reheat", gate) for gate in ("queue_clear", "mutations_applied")}
        assert outcomes - rare == {
            (None, "leave", None),
            ("COLD", "stay", None),
            ("COLD", "move", None),
            ("COLD", "move", "one_part"),
            ("HOT", "stay", None),
            ("HOT", "reheat", None),
            ("HOT", "busy", "queue_clear"),
            ("HOT", "busy", "mutations_applied"),
        }
        read = {row[-1] for rows in wanted.values() for row in rows.values()}
        assert read > {None, 0, 2, 3}

    found: dict[str, dict[str, tuple[object, ...]]] = {path: {} for path in cases}
    for path, partition, reason, *values in planned(spark, policy, cases):
        assert reason
        assert partition not in found[path]
        found[path][partition] = tuple(values)

    for path, shard in cases.items():
        assert found[path] == wanted[path], f"{policy}\n{path}: {shard}"


def planned(spark: SparkSession, policy: Mapping[str, Any], cases: Mapping[str, Shard]) -> list[Row]:
    inventory, signal = frames(spark, cases)
    plan = plan_rows(inventory, policy_of(policy), NOW, signal)
    return plan.select("shard_path", "partition", "reason", *COLUMNS).collect()
