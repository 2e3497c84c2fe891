# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules and pins of a policy without effect."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from partition_classify.policy.file import parse_policy
from partition_classify.policy.rule_use import RuleUse, misfits_of, refuse_misfits, rule_uses
from partition_classify.policy.strict_yaml import PolicyError
from partition_classify.policy.transforms import plan_rows
from partition_classify.sources.signals import SIGNAL_SCHEMA
from support.classify.inventory import DAY, NOW, inventory_of, part, sign

POLICY = b"""
version: 1
defaults: {pin_cold: ["1", "5"]}
rules:
  - {table: /tables/a, pin_hot: ["2", "9"]}
  - {table: "/tables/*"}
  - {table: /tables/b, never: true}
  - {table: /tabels/**, never: true}
"""


@pytest.fixture(scope="module")
def uses(spark: SparkSession) -> list[RuleUse]:
    parts = [part(each, DAY)._replace(shard_path="/tables/a") for each in ("1", "2", "8")]
    parts += [part(each, DAY)._replace(shard_path="/tables/b") for each in ("3", "9")]
    parts += [part("4", DAY)._replace(shard_path="/other")]
    policy = parse_policy(POLICY, "policy.yml")
    return rule_uses(plan_rows(inventory_of(spark, parts), policy, NOW), policy)


def test_partitions_by_deciding_rule(uses: list[RuleUse]) -> None:
    assert uses == [
        RuleUse("rules[0]", "/tables/a", 3, ("9",)),
        RuleUse("rules[1]", "/tables/*", 2, ()),
        RuleUse("rules[2]", "/tables/b", 0, ()),
        RuleUse("rules[3]", "/tabels/**", 0, ()),
        # A table with a rule of its own has the 1 of the defaults.
        RuleUse("defaults", None, 1, ("5",)),
    ]


def test_misfits(uses: list[RuleUse]) -> None:
    nothing = "decides nothing: no shard path with parts matches this rule first"
    assert misfits_of(uses) == [
        "rules[0], /tables/a, pins unknown partitions of its tables: 9",
        f"rules[2], /tables/b, {nothing}",
        f"rules[3], /tabels/**, {nothing}",
        "defaults pins unknown partitions of its tables: 5",
    ]


def test_rule_with_unknown_reads_only(spark: SparkSession) -> None:
    text = b"""
version: 1
defaults: {max_reads: 10}
rules:
  - {table: /tables/a}
  - {table: /tables/b}
  - {table: /tables/c, max_reads: any}
  - {table: /tables/d, never: true}
"""
    policy = parse_policy(text, "policy.yml")
    paths = [f"/tables/{each}" for each in "abcd"]
    parts = [part(each, DAY)._replace(shard_path=path) for path in paths for each in "12"]
    known = sign("1", replica="r1", active_parts=1, reads_within={7 * DAY: 0})
    signs = [known._replace(shard_path=path) for path in paths if path != "/tables/b"]
    rows = plan_rows(
        inventory_of(spark, parts),
        policy,
        NOW,
        spark.createDataFrame(signs, SIGNAL_SCHEMA),
    )
    uses = rule_uses(rows, policy)
    assert [(each.partitions, each.reads_known) for each in uses] == [
        (2, 1),
        (2, 0),
        (2, None),
        (2, None),
        (0, 0),
    ]
    assert misfits_of(uses) == [
        "rules[1], /tables/b, has max_reads, but the reads of all its partitions are unknown"
    ]


def test_policy_that_fits() -> None:
    assert misfits_of([RuleUse("rules[0]", "/a", 1, ()), RuleUse("defaults", None, 0, ())]) == []
    refuse_misfits([])


def test_policy_that_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"does not fit the tables: one; two\. Correct the policy"):
        refuse_misfits(["one", "two"])
