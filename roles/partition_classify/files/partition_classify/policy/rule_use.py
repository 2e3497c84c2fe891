# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each rule of a policy had to do with: a rule that decides nothing is most often misspelt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, functions as F  # noqa: N812 - what everyone calls it

from .file import Policy, Settings
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


def rule_uses(rows: DataFrame, policy: Policy) -> list[RuleUse]:
    """One for each rule, in their order, then one for the defaults; rows are those of `plan_rows`."""
    pins = _pins(policy.defaults).union(*(_pins(each.settings) for each in policy.rules))
    pinned = F.collect_set(F.when(F.col("partition").isin(sorted(pins)), F.col("partition")))
    counted = rows.groupBy("rule").agg(F.count("*").alias("partitions"), pinned.alias("pins")).collect()
    found = {row["rule"]: (int(row["partitions"]), set(row["pins"])) for row in counted}
    # Pins of the defaults are for whatever table has such a partition, so one use anywhere is enough.
    used_anywhere = {pin for _count, used in found.values() for pin in used}
    of_defaults = _pins(policy.defaults)
    uses = []
    for number, rule in enumerate(policy.rules):
        partitions, used = found.get(number, (0, set()))
        unused = _pins(rule.settings) - of_defaults - used
        uses.append(RuleUse(f"rules[{number}]", rule.table, partitions, tuple(sorted(unused))))
    partitions, _used = found.get(DEFAULTS, (0, set()))
    return [*uses, RuleUse("defaults", None, partitions, tuple(sorted(of_defaults - used_anywhere)))]


def complaints(uses: Sequence[RuleUse]) -> list[str]:
    """A sentence for each rule that decides nothing, and for pins that no partition has."""
    found = []
    for use in uses:
        where = use.rule if use.table is None else f"{use.rule}, {use.table},"
        if not use.partitions and use.table is not None:
            found.append(
                f"{where} decides nothing: no shard path with parts matches it that an earlier rule leaves"
            )
        elif use.unused_pins:
            found.append(f"{where} pins what no partition of its tables is: {', '.join(use.unused_pins)}")
    return found


def refuse_complaints(found: Sequence[str]) -> None:
    """Raise PolicyError where there is any."""
    if found:
        raise PolicyError(
            f"The policy does not fit the tables: {'; '.join(found)}",
            remedy="Correct it, or run without --strict, in the role partition_classify_strict",
        )


def _pins(settings: Settings) -> set[str]:
    return {*settings.pin_hot, *settings.pin_cold}
