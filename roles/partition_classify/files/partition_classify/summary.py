# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Summary of a plan, for people and for Ansible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.plan.file import PlanHeader

from .policy.decisions import BUSY, COLD, HOT, LEAVE, MOVE, ONE_PART, REHEAT, UNREAD
from .policy.file import Policy
from .policy.rule_use import RuleUse, counts_of_rules, uses_of

_MERGES_LISTED = 20
_UNREAD_LISTED = 20


class RowTotals(NamedTuple):
    """Sums over a group of plan rows."""

    partitions: int = 0
    parts: int = 0
    znodes: int = 0
    bytes: int = 0

    def __add__(self, other: tuple[Any, ...]) -> RowTotals:
        return RowTotals(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


RowGroup: TypeAlias = "tuple[str | None, str, str | None]"
"""State, action and gate of plan rows."""


class PlanFindings(NamedTuple):
    """Sums and samples of the rows, for the summary."""

    totals: Mapping[RowGroup, RowTotals]
    merges: Sequence[Mapping[str, str]]
    """Shard path, partition and statement of the partitions to merge with the most znodes."""
    rules: Sequence[RuleUse]
    unread: Sequence[Mapping[str, str]] = ()
    """Shard path and partition of the first unreadable items, sorted.

    If everything at and below a path is unreadable: the path as shard path, and an empty partition."""

    @property
    def planned(self) -> int:
        """Number of partitions with a row in the plan."""
        unplanned = (LEAVE, UNREAD)
        return sum(each.partitions for group, each in self.totals.items() if group[1] not in unplanned)

    def unread_section(self) -> dict[str, Any]:
        """Return the summary's section about unreadable items: their number, and the first."""
        count = sum(each.partitions for group, each in self.totals.items() if group[1] == UNREAD)
        return {"count": count, "first": list(self.unread)}


def findings_of(rows: DataFrame, policy: Policy) -> PlanFindings:
    """Return the sums of each group, the largest merges, and the use of the rules."""
    # One query for all counts: preparing a small query takes longer than running it.
    counts = [*counts_of_rules(policy), F.count("*"), *(F.sum(name) for name in RowTotals._fields[1:])]
    counted = rows.groupBy("state", "action", "gate", "rule").agg(*counts).collect()
    totals: dict[RowGroup, RowTotals] = {}
    for row in counted:
        group, numbers = row[:3], row[-len(RowTotals._fields) :]
        totals[group] = totals.get(group, RowTotals()) + numbers
    needs_merge = any(gate == ONE_PART for _state, _action, gate in totals)
    merges = (
        rows.where(F.col("statement").isNotNull())
        .orderBy(F.col("znodes").desc(), "shard_path", "partition")
        .select("shard_path", "partition", "statement")
        .limit(_MERGES_LISTED)
    )
    is_whole = all(action != UNREAD for _state, action, _gate in totals)
    unread = rows.where(F.col("action") == UNREAD).select("shard_path", "partition")
    return PlanFindings(
        totals,
        [row.asDict() for row in merges.collect()] if needs_merge else [],
        uses_of((row[3 : -len(RowTotals._fields)] for row in counted), policy),
        [] if is_whole else _first(unread, _UNREAD_LISTED),
    )


def _first(places: DataFrame, most: int) -> list[dict[str, str]]:
    """Return the first ``most`` rows in plan order."""
    return [row.asDict() for row in places.orderBy("shard_path", "partition").limit(most).collect()]


def summary_of(
    plan: Path,
    header: PlanHeader,
    before: PlanHeader | None,
    findings: PlanFindings,
    report: str | None = None,
) -> dict[str, Any]:
    """Return the summary for stdout; ``before`` is the header of the plan to compare with."""

    def total(holds: Callable[[RowGroup], bool]) -> RowTotals:
        return sum((each for group, each in findings.totals.items() if holds(group)), RowTotals())

    def total_of(action: str) -> dict[str, int]:
        return total(lambda group: group[1] == action)._asdict()

    needs_merge = total(lambda group: group[1:] == (MOVE, ONE_PART))
    unread = findings.unread_section()
    return {
        "plan": str(plan),
        "report": report,
        "changed": is_change(before, header),
        "rows": header.rows,
        "cold": total(lambda group: group[0] == COLD).partitions,
        "hot": total(lambda group: group[0] == HOT).partitions,
        "to_move": total_of(MOVE),
        "to_merge": needs_merge._asdict() | {"statements": findings.merges},
        "to_reheat": total_of(REHEAT),
        "busy": total_of(BUSY),
        "left_alone": total_of(LEAVE),
        "complete": not unread["count"],
        "unread": unread,
        "rules": rules_listed(findings.rules),
    }


def rules_listed(rules: Sequence[RuleUse]) -> list[dict[str, Any]]:
    """Return the use of the policy's rules, for the summary."""
    return [each._asdict() | {"unused_pins": list(each.unused_pins)} for each in rules]


def is_change(before: PlanHeader | None, after: PlanHeader | None) -> bool:
    """Return whether the plan differs from the one before."""
    return _fingerprint(before) != _fingerprint(after)


def _fingerprint(header: PlanHeader | None) -> tuple[object, ...] | None:
    """Return the identity of a plan: policy, cluster and rows, regardless of its moment."""
    return (header.policy_digest, header.origin, header.rows_digest) if header else None
