# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Comparison of the plan with the decisions of another policy for the same partitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, functions as F  # noqa: N812 - what everyone calls it

from .policy.decisions import MOVE, REHEAT, Separation
from .policy.file import Policy
from .policy.rule_use import RuleUse, misfits_of, rule_uses
from .policy.transforms import apply_policy
from .summary import RowTotals, rules_listed

TABLES_LISTED = 30

_ACTIONS = {"to_move": MOVE, "to_reheat": REHEAT}
_SIDES = ("more", "less")
_AMOUNTS = ("parts", "znodes", "bytes")


class ActionDifference(NamedTuple):
    """Sums of partitions with an action by one policy only.

    more: only by the other policy. less: only by the plan's policy.
    """

    more: RowTotals
    less: RowTotals


class PolicyDifference(NamedTuple):
    """Differences between two policies, in one table or in all."""

    to_move: ActionDifference
    to_reheat: ActionDifference


class PolicyComparison(NamedTuple):
    """Comparison with another policy, for the summary."""

    policy_digest: str
    all: PolicyDifference
    tables: Sequence[tuple[str, PolicyDifference]]
    """At most TABLES_LISTED differing tables, in descending order of differing znodes."""
    other_tables: int
    """Number of differing tables not listed."""
    rules: Sequence[RuleUse]
    """Use of the other policy's rules."""


def persisted_rows(
    known: DataFrame, policy: Policy, other: Policy | None, separation: Separation = Separation.PATCHED
) -> DataFrame:
    """Return the decided rows, persisted. With another policy, persists ``known``, too.

    known: output of `known_partitions`, expensive: computing it reads the ensembles.
    """
    if other:
        known.persist()
    return apply_policy(policy, known, separation).persist()


def comparison_of(rows: DataFrame, known: DataFrame, other: Policy) -> PolicyComparison:
    """Compare the rows of the plan with the other policy's decisions.

    known: the `known_partitions` of the rows; scanned twice.
    """
    other_rows = apply_policy(other, known)
    tables = _by_table(rows, other_rows).persist()
    names = [name for name in tables.columns if name != "table"]
    (totals,) = tables.agg(
        F.count("*").alias("tables"), *(F.sum(name).alias(name) for name in names)
    ).collect()
    znodes = sum((F.col(name) for name in names if name.endswith("_znodes")), F.lit(0))
    listed = tables.orderBy(znodes.desc(), "table").limit(TABLES_LISTED).collect()
    comparison = PolicyComparison(
        other.digest,
        _difference(totals),
        [(row["table"], _difference(row)) for row in listed],
        totals["tables"] - len(listed),
        rule_uses(other_rows, other),
    )
    tables.unpersist()
    return comparison


def comparison_section(comparison: PolicyComparison) -> dict[str, Any]:
    """Return the summary's section about the other policy."""
    return {
        "policy_digest": comparison.policy_digest,
        **_section(comparison.all),
        "tables": [{"table": table, **_section(changes)} for table, changes in comparison.tables],
        "other_tables": comparison.other_tables,
        "rules": rules_listed(comparison.rules),
        "misfits": misfits_of(comparison.rules),
        "text": comparison_text(comparison),
    }


def comparison_text(comparison: PolicyComparison) -> list[str]:
    """Return lines for people: a table of differences, and rules without effect."""
    misfits = [f"the other policy does not fit the tables: {each}" for each in misfits_of(comparison.rules)]
    if not comparison.tables:
        return ["the other policy moves and reheats the same partitions", *misfits]
    rows: list[Sequence[str]] = [("table", "partitions to move", "parts", "znodes", "partitions to reheat")]
    rows += [_cells(*each) for each in (*comparison.tables, ("all tables", comparison.all))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Table names are left-aligned, figures right-aligned.
    form = "  ".join(["{:{}}", *["{:>{}}"] * (len(widths) - 1)])
    lines = [form.format(*chain(*zip(row, widths, strict=True))) for row in rows]
    if comparison.other_tables:
        lines.insert(-1, f"and {comparison.other_tables} more tables")
    return ["differences of the other policy, more (+) and less (-):", *lines, *misfits]


def _by_table(rows: DataFrame, other_rows: DataFrame) -> DataFrame:
    """Return one row for each differing table, with columns such as ``to_move_more_znodes``."""
    key = ("shard_path", "partition")
    others = other_rows.select(*key, F.col("action").alias("other_action"))
    action, other_action = F.col("action"), F.col("other_action")
    sums, differs = [], F.lit(False)
    for name, asked in _ACTIONS.items():
        conditions = (
            (action != asked) & (other_action == asked),
            (action == asked) & (other_action != asked),
        )
        for side, condition in zip(_SIDES, conditions, strict=True):
            differs |= condition
            sums.append(F.count_if(condition).alias(f"{name}_{side}_partitions"))
            sums += [
                F.sum(F.when(condition, F.col(amount)).otherwise(0)).alias(f"{name}_{side}_{amount}")
                for amount in _AMOUNTS
            ]
    both = rows.select(*key, "table", "action", *_AMOUNTS).join(others, list(key))
    return both.where(differs).groupBy("table").agg(*sums)


def _difference(row: Row) -> PolicyDifference:
    # Sums over zero tables are null.
    def totals(name: str, side: str) -> RowTotals:
        return RowTotals(*(row[f"{name}_{side}_{amount}"] or 0 for amount in RowTotals._fields))

    return PolicyDifference(
        *(ActionDifference(*(totals(name, side) for side in _SIDES)) for name in _ACTIONS)
    )


def _section(changes: PolicyDifference) -> dict[str, dict[str, dict[str, int]]]:
    return {
        name: {side: totals._asdict() for side, totals in change._asdict().items()}
        for name, change in changes._asdict().items()
    }


def _cells(table: str, changes: PolicyDifference) -> tuple[str, ...]:
    move, reheat = changes
    return (
        table,
        *(
            f"+{getattr(move.more, name)} -{getattr(move.less, name)}"
            for name in ("partitions", "parts", "znodes")
        ),
        f"+{reheat.more.partitions} -{reheat.less.partitions}",
    )
