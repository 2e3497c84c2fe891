# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Effect of each policy rule: a rule that decides nothing is usually misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set as AbstractSet
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F  # noqa: N812 - what everyone calls it

from .file import Policy, PolicySettings
from .strict_yaml import PolicyError
from .transforms import DEFAULTS


class RuleUse(NamedTuple):
    """Number of partitions decided by a rule, and its pins that match no partition."""

    rule: str
    """Position in the policy: ``rules[0]``, or ``defaults``."""
    table: str | None
    """Pattern of shard paths; None for the defaults."""
    partitions: int
    unused_pins: tuple[str, ...]
    reads_known: int | None = None
    """Number of these partitions with known reads; None if the rule does not limit reads."""


class _RuleCounts(NamedTuple):
    """Counts of the partitions decided by a rule: all, with known reads; and the pinned partitions."""

    partitions: int
    reads_known: int
    pins: AbstractSet[str]


_NO_PARTITIONS = _RuleCounts(0, 0, frozenset())


def rule_uses(rows: DataFrame, policy: Policy) -> list[RuleUse]:
    """Return the use of each rule, in order, then of the defaults. ``rows``: see `plan_rows`."""
    return uses_of(rows.groupBy("rule").agg(*counts_of_rules(policy)).collect(), policy)


def counts_of_rules(policy: Policy) -> list[Column]:
    """Return the aggregate columns that `uses_of` needs for each rule."""
    pins = _pins(policy.defaults).union(*(_pins(each.settings) for each in policy.rules))
    pinned = F.collect_set(F.when(F.col("partition").isin(sorted(pins)), F.col("partition")))
    return [F.count("*"), F.count("reads_in_window"), pinned if pins else F.array()]


def uses_of(counted: Iterable[tuple[Any, ...]], policy: Policy) -> list[RuleUse]:
    """Return the same as `rule_uses` from tuples of rule number and `counts_of_rules`.

    Tuples of one rule are added up.
    """
    counts: dict[int, _RuleCounts] = {}
    for rule, partitions, reads, pinned in counted:
        before = counts.get(rule, _NO_PARTITIONS)
        counts[rule] = _RuleCounts(
            before.partitions + partitions, before.reads_known + reads, before.pins | set(pinned)
        )
    # Pins of the defaults apply to all tables: one matching partition is enough.
    used_anywhere = {pin for each in counts.values() for pin in each.pins}
    of_defaults = _pins(policy.defaults)
    uses = []
    for number, rule in enumerate(policy.rules):
        decided = counts.get(number, _NO_PARTITIONS)
        unused = _pins(rule.settings) - of_defaults - decided.pins
        uses.append(_use(f"rules[{number}]", rule.table, rule.settings, decided, unused))
    decided = counts.get(DEFAULTS, _NO_PARTITIONS)
    return [*uses, _use("defaults", None, policy.defaults, decided, of_defaults - used_anywhere)]


def misfits_of(uses: Sequence[RuleUse]) -> list[str]:
    """Return a sentence for each rule without effect, with unknown reads only, or with unused pins."""
    misfits = []
    for use in uses:
        where = use.rule if use.table is None else f"{use.rule}, {use.table},"
        if not use.partitions and use.table is not None:
            misfits.append(f"{where} decides nothing: no shard path with parts matches this rule first")
        elif use.unused_pins:
            misfits.append(f"{where} pins unknown partitions of its tables: {', '.join(use.unused_pins)}")
        if use.partitions and use.reads_known == 0:
            misfits.append(f"{where} has max_reads, but the reads of all its partitions are unknown")
    return misfits


def refuse_misfits(misfits: Sequence[str]) -> None:
    """Raise PolicyError if there are any misfits."""
    if misfits:
        raise PolicyError(
            f"The policy does not fit the tables: {'; '.join(misfits)}",
            remedy="Correct the policy, or run without --strict (role: partition_classify_strict)",
        )


def _use(
    rule: str, table: str | None, settings: PolicySettings, decided: _RuleCounts, unused: AbstractSet[str]
) -> RuleUse:
    is_limited = settings.max_reads is not None and not settings.never
    reads_known = decided.reads_known if is_limited else None
    return RuleUse(rule, table, decided.partitions, tuple(sorted(unused)), reads_known)


def _pins(settings: PolicySettings) -> set[str]:
    return {*settings.pin_hot, *settings.pin_cold}
