# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences between two policies, against a model of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession, functions as F  # noqa: N812 - what everyone calls it

from partition_classify.comparison import (
    TABLES_LISTED,
    ActionDifference,
    PolicyComparison,
    PolicyDifference,
    comparison_of,
    comparison_section,
    comparison_text,
    persisted_rows,
)
from partition_classify.policy.rule_use import RuleUse, misfits_of
from partition_classify.policy.transforms import apply_policy, known_partitions
from partition_classify.summary import RowTotals
from support.classify.policy_model import NOW, Shard, decide, frames, made, policy_of, shards

PATHS = 300
TABLES = TABLES_LISTED + 10
NONE = PolicyDifference(
    ActionDifference(RowTotals(), RowTotals()), ActionDifference(RowTotals(), RowTotals())
)

ALONE = {
    "version": 1,
    "defaults": {"cold_after": "48h", "pin_hot": ["all"], "pin_cold": ["1"], "max_reads": 2},
    "rules": [{"table": "/*/*/b", "never": True}],
}
OTHER = {
    "version": 1,
    "defaults": {"cold_after": "1d"},
    "rules": [{"table": "/*/*/a", "never": True}, {"table": "/none/**"}],
}


def add(one: PolicyDifference, two: PolicyDifference) -> PolicyDifference:
    return PolicyDifference(
        *(
            ActionDifference(*(mine + theirs for mine, theirs in zip(*changes, strict=True)))
            for changes in zip(one, two, strict=True)
        )
    )


def changes_of(rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> PolicyDifference:
    """Differences between pairs of the model's decisions."""
    found = NONE
    for one, two in rows:
        # State and action come first, parts, znodes and bytes after the replicas.
        totals = RowTotals(1, one[6], one[8], one[9])
        changes = []
        for action in ("move", "reheat"):
            before, after = one[1] == action, two[1] == action
            more, less = after and not before, before and not after
            changes.append(ActionDifference(totals if more else RowTotals(), totals if less else RowTotals()))
        found = add(found, PolicyDifference(*changes))
    return found


def znodes(changes: PolicyDifference) -> int:
    return sum(totals.znodes for change in changes for totals in change)


def test_comparison_equals_the_model(spark: SparkSession) -> None:
    # Names such as t07 are no names of shards: these are tables in several shards.
    cases: dict[str, Shard] = {
        f"/{index}/t{index % TABLES:02}/{shard.name}": shard
        for index, shard in enumerate(made(shards, PATHS))
    }
    wanted: dict[str, PolicyDifference] = {}
    for path, shard in cases.items():
        table = "/*/" + path.split("/", 2)[2]
        before, after = decide(ALONE, path, shard), decide(OTHER, path, shard)
        changes = changes_of((before[key], after[key]) for key in before)
        if changes != NONE:
            wanted[table] = add(wanted.get(table, NONE), changes)
    # Everything has to be there for the comparison to mean something.
    assert len(wanted) > TABLES_LISTED
    assert all(totals.partitions for change in changes_of_all(wanted) for totals in change)

    inventory, signal = frames(spark, cases)
    policy, compared = policy_of(ALONE), policy_of(OTHER)
    known = known_partitions(inventory, NOW, policy.read_windows | compared.read_windows, signal).persist()
    found = comparison_of(apply_policy(policy, known), known, compared)
    known.unpersist()

    ordered = sorted(wanted.items(), key=lambda item: (-znodes(item[1]), item[0]))
    assert found.tables == ordered[:TABLES_LISTED]
    assert found.other_tables == len(ordered[TABLES_LISTED:])
    assert found.all == changes_of_all(wanted)
    assert found.policy_digest == compared.digest
    partitions = sum(len(each.partitions) for each in cases.values())
    assert sum(rule.partitions for rule in found.rules) == partitions


def test_ensembles_are_read_once_for_both_policies(spark: SparkSession) -> None:
    cases = {f"/{index}/{shard.name}": shard for index, shard in enumerate(made(shards, 9))}
    inventory, signal = frames(spark, cases)
    parts_read = spark.sparkContext.accumulator(0)

    def read(path: str) -> str:
        parts_read.add(1)
        return path

    reading = F.udf(read, "string", useArrow=False).asNondeterministic()
    counted = inventory.withColumn("shard_path", reading("shard_path"))
    policy, other = policy_of(ALONE), policy_of(OTHER)
    known = known_partitions(counted, NOW, policy.read_windows, signal)
    rows = persisted_rows(known, policy, other)
    assert rows.count() == sum(len(each.partitions) for each in cases.values())
    comparison_of(rows, known, other)
    assert parts_read.value == inventory.count()
    rows.unpersist()
    known.unpersist()


def changes_of_all(tables: dict[str, PolicyDifference]) -> PolicyDifference:
    found = NONE
    for changes in tables.values():
        found = add(found, changes)
    return found


DIFFERENT = PolicyDifference(
    ActionDifference(RowTotals(12, 34, 1_000_000, 5), RowTotals(3, 4, 5, 6)),
    ActionDifference(RowTotals(), RowTotals(2, 2, 2, 2)),
)
RULES = [RuleUse("rules[0]", "/none/**", 0, ()), RuleUse("defaults", None, 9, ())]


def test_text_is_a_table_with_misfits_below() -> None:
    comparison = PolicyComparison("0" * 64, DIFFERENT, [("/ch/*/hits", DIFFERENT), ("/a", NONE)], 3, RULES)
    (misfit,) = misfits_of(RULES)
    assert comparison_text(comparison) == [
        "differences of the other policy, more (+) and less (-):",
        "table       partitions to move   parts       znodes  partitions to reheat",
        "/ch/*/hits              +12 -3  +34 -4  +1000000 -5                 +0 -2",
        "/a                       +0 -0   +0 -0        +0 -0                 +0 -0",
        "and 3 more tables",
        "all tables              +12 -3  +34 -4  +1000000 -5                 +0 -2",
        f"the other policy does not fit the tables: {misfit}",
    ]


def test_equal_policies() -> None:
    comparison = PolicyComparison("0" * 64, NONE, [], 0, RULES[1:])
    assert comparison_text(comparison) == ["the other policy moves and reheats the same partitions"]


def test_section_of_the_summary() -> None:
    comparison = PolicyComparison("0" * 64, DIFFERENT, [("/a", DIFFERENT)], 0, RULES[1:])
    nothing = {"partitions": 0, "parts": 0, "znodes": 0, "bytes": 0}
    different = {
        "to_move": {
            "more": {"partitions": 12, "parts": 34, "znodes": 1_000_000, "bytes": 5},
            "less": {"partitions": 3, "parts": 4, "znodes": 5, "bytes": 6},
        },
        "to_reheat": {"more": nothing, "less": {"partitions": 2, "parts": 2, "znodes": 2, "bytes": 2}},
    }
    assert comparison_section(comparison) == {
        "policy_digest": "0" * 64,
        **different,
        "tables": [{"table": "/a", **different}],
        "other_tables": 0,
        "rules": [
            {"rule": "defaults", "table": None, "partitions": 9, "unused_pins": [], "reads_known": None}
        ],
        "misfits": [],
        "text": comparison_text(comparison),
    }
    misfits = comparison_section(comparison._replace(rules=RULES))["misfits"]
    assert misfits == misfits_of(RULES)
    assert len(misfits) == 1
