# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any policy over any inventory, against a model of both in plain Python.

A thousand shard paths are decided in one Spark job, because a job costs a second whatever its size; and by
several policies in it, each for a part of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame, SparkSession

from partition_classify.policy.transforms import plan_rows
from support.classify.policy_model import (
    COLUMNS,
    NOW,
    Shard,
    as_one,
    decide,
    frames,
    made,
    policies,
    policy_of,
    shards,
)

JOBS = 3
POLICIES = 8
SHARDS = 1000

ALL_KEYS = {
    "version": 1,
    "defaults": {"cold_after": "48h", "keep_newest": 1, "pin_hot": ["all"], "pin_cold": ["1"]},
    "rules": [
        {"table": "/*1/**", "never": True},
        {"table": "/**/b", "keep_newest": 0, "pin_hot": [], "max_reads": 2, "reads_within": "1d"},
    ],
}


@pytest.fixture(scope="module")
def cases() -> dict[str, Shard]:
    """Shard paths, of which each policy of a job decides those below a folder such as ``/p3``."""
    found = enumerate(made(shards, SHARDS))
    return {f"/p{index % POLICIES}/{index}/{shard.name}": shard for index, shard in found}


@pytest.fixture(scope="module")
def known(spark: SparkSession, cases: Mapping[str, Shard]) -> tuple[DataFrame, DataFrame]:
    return frames(spark, cases)


@pytest.mark.parametrize("job", range(JOBS))
def test_plan_equals_the_model(
    cases: Mapping[str, Shard], known: tuple[DataFrame, DataFrame], job: int
) -> None:
    policy = as_one(made(policies(), POLICIES)) if job else ALL_KEYS
    wanted = {path: decide(policy, path, shard) for path, shard in cases.items()}
    if job == 0:
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

    inventory, signal = known
    plan = plan_rows(inventory, policy_of(policy), NOW, signal)
    found: dict[str, dict[str, tuple[object, ...]]] = {path: {} for path in cases}
    for path, partition, reason, *values in plan.select(
        "shard_path", "partition", "reason", *COLUMNS
    ).collect():
        assert reason
        assert partition not in found[path]
        found[path][partition] = tuple(values)

    for path, shard in cases.items():
        assert found[path] == wanted[path], f"{policy}\n{path}: {shard}"
