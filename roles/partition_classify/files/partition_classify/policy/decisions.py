# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy itself: which state each partition should have, why, and what stands in the way.

It is a table of conditions, of which the first to be true decides. The columns that they look at come
from transforms.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.gates.names import GateName


class Separation(StrEnum):
    """By which way the plan is to be carried out: it decides what stands in the way."""

    PATCHED = "patched"
    """The registration of parts goes to the cold ensemble, where two parts of a partition must not meet."""
    TWIN = "twin"
    """The partition goes to the cold twin of its table, with any number of parts."""


# What columns have of the domain's words is their text.
COLD, HOT = State.COLD.value, State.HOT.value
QUEUE_CLEAR = GateName.QUEUE_CLEAR.value
ONE_PART = GateName.ONE_PART.value
MUTATIONS_APPLIED = GateName.MUTATIONS_APPLIED.value

MOVE = "move"
REHEAT = "reheat"
STAY = "stay"
BUSY = "busy"
"""The partition would be cold, but stays hot because its servers still have to write to it."""
LEAVE = "leave"
UNREAD = "unread"
"""Nothing is decided of the partition, or of what is at and below the path, as it may not be read."""


class Decision(NamedTuple):
    """What holds when a condition is the first one to be true.

    ``state`` is None where the partition is left alone; ``gate`` is what keeps a partition hot that the
    policy would have cold.
    """

    condition: Column
    state: str | None
    reason: Column
    gate: str | None = None


def with_decisions(partitions: DataFrame, separation: Separation = Separation.PATCHED) -> DataFrame:
    """The columns that plan and analysis have.

    ``action`` is what the row asks for: ``move``, ``reheat``, ``stay``; ``busy`` for a partition that would
    be cold but stays hot because of what its servers do; ``leave`` for one of a table that the policy leaves
    alone, which has no state; ``unread`` for one of which something may not be read, which has none either.
    ``gate`` is the gate that was seen to be closed, and ``statement`` the SQL that
    opens it. ``rule`` is the number of the rule that decided, from 0, and -1 for the defaults.
    """
    decisions = _decisions()
    return (
        partitions.withColumn(
            "state", _first_match((each.condition, F.lit(each.state)) for each in decisions)
        )
        .withColumn("reason", _first_match((each.condition, each.reason) for each in decisions))
        .withColumn("busy_gate", _first_match((each.condition, F.lit(each.gate)) for each in decisions))
        .withColumn("action", _action())
        .withColumn("gate", _gate(separation))
        .select(
            "shard_path",
            "table",
            F.col("partition_id").alias("partition"),
            "state",
            "action",
            "reason",
            "gate",
            _statement().alias("statement"),
            "rule",
            "last_modified",
            "has_hot",
            "replicas",
            "parts",
            "parts_per_replica",
            "znodes",
            "bytes",
            "snapshot_bytes",
            "sql_table",
            "active_parts",
            "rows",
            "bytes_on_disk",
            "reads",
            "reads_in_window",
        )
    )


def _decisions() -> list[Decision]:
    """All decisions, in the order in which they are looked at; together they cover every partition."""
    only_in_cold = ~F.col("has_hot")
    is_marked_cold = F.col("is_marked_cold")
    is_pinned_cold = F.col("is_pinned_cold")
    return [
        Decision(F.col("never"), None, F.lit("the policy leaves its table alone")),
        Decision(F.col("is_unread"), None, F.lit("something of it may not be read")),
        Decision(
            F.col("is_patch"),
            HOT,
            F.lit(
                "patches of a lightweight update, which never move: a merge of their partition applies them"
            ),
        ),
        Decision(
            only_in_cold & ~is_marked_cold,
            COLD,
            F.lit("registered in the cold ensemble only, but its State is not COLD: see part_audit_info"),
        ),
        Decision(F.col("is_pinned_hot"), HOT, F.lit("pinned hot")),
        Decision(only_in_cold, COLD, F.lit("cold already")),
        Decision(
            is_marked_cold & (F.col("parts_in_hot_only") > 0),
            HOT,
            F.format_string(
                "its State is COLD, but parts of it are in hot only: %d", F.col("parts_in_hot_only")
            ),
        ),
        *_cold_unless_busy(is_pinned_cold, F.lit("pinned cold")),
        *_by_age(),
    ]


def _by_age() -> list[Decision]:
    is_young = F.col("age") < F.col("cold_after")
    is_among_newest = F.col("rank") <= F.col("keep_newest")
    text = F.col("cold_after_text")
    return [
        Decision(is_young, HOT, F.concat(F.lit("changed less than "), text, F.lit(" ago"))),
        Decision(is_among_newest & (F.col("keep_newest") == 1), HOT, F.lit("the newest partition")),
        Decision(
            is_among_newest,
            HOT,
            F.format_string("among the %d newest partitions", F.col("keep_newest")),
        ),
        *_by_reads(F.concat(F.lit("unchanged for "), F.col("age_text"), F.lit(", cold_after is "), text)),
    ]


def _by_reads(reason: Column) -> list[Decision]:
    """The decisions for what is old enough to be cold, for that reason.

    Where it is not known how often it was read, it counts as read too often.
    """
    is_limited = F.col("max_reads").isNotNull()
    reads = F.col("reads_in_window")
    known = F.format_string(
        "read %d times within %s, max_reads is %d", reads, F.col("window_text"), F.col("max_reads")
    )
    unknown = F.format_string(
        "how often it was read within %s is not known: %s", F.col("window_text"), _why_reads_are_unknown()
    )
    return [
        Decision(is_limited & reads.isNull(), HOT, unknown),
        Decision(is_limited & (reads > F.col("max_reads")), HOT, known),
        *_cold_unless_busy(
            F.lit(True), F.when(is_limited, F.concat(reason, F.lit("; "), known)).otherwise(reason)
        ),
    ]


def _why_reads_are_unknown() -> Column:
    asked = F.coalesce("asked", F.lit(0))
    return (
        F.when(asked == 0, "no server has said anything of it")
        .when(
            asked < F.col("replicas"),
            F.format_string("%d of its %d replicas have said anything of it", asked, F.col("replicas")),
        )
        .otherwise("a server has no query log that covers that time")
    )


def _cold_unless_busy(condition: Column, reason: Column) -> list[Decision]:
    """The decisions for what is cold unless the servers still have to write to it.

    Where the servers said nothing of it, it counts as cold: the gates of the move look at them again.
    """
    is_queued = F.coalesce("is_queued", F.lit(False))
    is_mutated = F.coalesce("is_mutated", F.lit(False))
    return [
        Decision(
            condition & is_queued, HOT, F.lit("a merge or a mutation of its parts is queued"), QUEUE_CLEAR
        ),
        Decision(
            condition & is_mutated,
            HOT,
            F.lit("a mutation has not reached all of its parts"),
            MUTATIONS_APPLIED,
        ),
        Decision(condition, COLD, reason),
    ]


def _action() -> Column:
    is_cold = F.col("state") == COLD
    return (
        F.when(F.col("never"), LEAVE)
        .when(F.col("is_unread"), UNREAD)
        .when(is_cold & F.col("has_hot"), MOVE)
        .when(~is_cold & F.col("is_marked_cold"), REHEAT)
        .when(F.col("busy_gate").isNotNull(), BUSY)
        .otherwise(STAY)
    )


def _gate(separation: Separation) -> Column:
    gate = F.when(F.col("busy_gate").isNotNull(), F.col("busy_gate"))
    if separation is Separation.TWIN:
        return gate
    needs_merge = (F.col("action") == MOVE) & (F.col("parts_per_replica") > 1)
    return F.when(needs_merge, ONE_PART).otherwise(gate)


def _statement() -> Column:
    """The SQL that merges a partition, null where it needs none.

    It needs none either where the servers have merged it and only have to clean up.
    """
    needs_merge = (F.col("gate") == ONE_PART) & (F.coalesce("active_parts", F.lit(2)) > 1)
    table = F.coalesce("sql_table", F.lit("…"))
    return F.when(
        needs_merge, F.format_string("OPTIMIZE TABLE %s PARTITION ID '%s' FINAL", table, "partition_id")
    )


def _first_match(cases: Iterable[tuple[Column, Column]]) -> Column:
    """The value of the first case that holds, also where that is null."""
    (condition, value), *others = cases
    chain = F.when(condition, value)
    for condition, value in others:
        chain = chain.when(condition, value)
    return chain
