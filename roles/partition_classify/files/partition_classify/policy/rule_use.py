# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each rule of a policy had to do with: a rule that decides nothing is most often misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set as AbstractSet
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F  # noqa: N812 - what everyone calls it

from .file import Policy, PolicySettings
from .strict_yaml import PolicyError
from .transforms import DEFAULTS


class RuleUse(NamedTuple):
    """How many partitions a rule decided, and which of its pins none of them has."""

    rule: str
    """Where it is in the policy: ``rules[0]``, or ``defaults``."""
    table: str | None
    """The pattern of its shard paths; None for the defaults."""
    partitions: int
    unused_pins: tuple[str, ...]
    reads_known: int | None = None
    """Of how many of these partitions it is known how often they were read; None where it does not matter."""


class _RuleCounts(NamedTuple):
    """What there is of partitions that a rule decided: how many, of how many reads are known, pinned ones."""

    partitions: int
    reads_known: int
    pins: AbstractSet[str]


_NO_PARTITIONS = _RuleCounts(0, 0, frozenset())


def rule_uses(rows: DataFrame, policy: Policy) -> list[RuleUse]:
    """One for each rule, in their order, then one for the defaults; rows are those of `plan_rows`."""
    return uses_of(rows.groupBy("rule").agg(*counts_of_rules(policy)).collect(), policy)


def counts_of_rules(policy: Policy) -> list[Column]:
    """What `uses_of` has to know of the rows of a rule."""
    pins = _pins(policy.defaults).union(*(_pins(each.settings) for each in policy.rules))
    pinned = F.collect_set(F.when(F.col("partition").isin(sorted(pins)), F.col("partition")))
    return [F.count("*"), F.count("reads_in_window"), pinned if pins else F.array()]


def uses_of(counted: Iterable[tuple[Any, ...]], policy: Policy) -> list[RuleUse]:
    """What `rule_uses` gives, of rule numbers followed by `counts_of_rules`; those of one rule add up."""
    found: dict[int, _RuleCounts] = {}
    for rule, partitions, reads, pinned in counted:
        before = found.get(rule, _NO_PARTITIONS)
        found[rule] = _RuleCounts(
            before.partitions + partitions, before.reads_known + reads, before.pins | set(pinned)
        )
    # Pins of the defaults are for whatever table has such a partition, so one use anywhere is enough.
    used_anywhere = {pin for each in found.values() for pin in each.pins}
    of_defaults = _pins(policy.defaults)
    uses = []
    for number, rule in enumerate(policy.rules):
        decided = found.get(number, _NO_PARTITIONS)
        unused = _pins(rule.settings) - of_defaults - decided.pins
        uses.append(_use(f"rules[{number}]", rule.table, rule.settings, decided, unused))
    decided = found.get(DEFAULTS, _NO_PARTITIONS)
    return [*uses, _use("defaults", None, policy.defaults, decided, of_defaults - used_anywhere)]


def misfits_of(uses: Sequence[RuleUse]) -> list[str]:
    """A sentence for each rule that decides nothing, or knows no reads, and for pins of no partition."""
    found = []
    for use in uses:
        where = use.rule if use.table is None else f"{use.rule}, {use.table},"
        if not use.partitions and use.table is not None:
            found.append(
                f"{where} decides nothing: no shard path with parts matches it that an earlier rule leaves"
            )
        elif use.unused_pins:
            found.append(f"{where} pins what no partition of its tables is: {', '.join(use.unused_pins)}")
        if use.partitions and use.reads_known == 0:
            found.append(
                f"{where} has max_reads, and of none of its partitions is known how often they were read"
            )
    return found


def refuse_misfits(found: Sequence[str]) -> None:
    """Raise PolicyError where there is any."""
    if found:
        raise PolicyError(
            f"The policy does not fit the tables: {'; '.join(found)}",
            remedy="Correct it, or run without --strict, in the role partition_classify_strict",
        )


def _use(
    rule: str, table: str | None, settings: PolicySettings, decided: _RuleCounts, unused: AbstractSet[str]
) -> RuleUse:
    is_limited = settings.max_reads is not None and not settings.never
    reads_known = decided.reads_known if is_limited else None
    return RuleUse(rule, table, decided.partitions, tuple(sorted(unused)), reads_known)


def _pins(settings: PolicySettings) -> set[str]:
    return {*settings.pin_hot, *settings.pin_cold}
