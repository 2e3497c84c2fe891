# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decision table of the policy: the desired state of each partition, the reason, and closed gates.

The first true condition decides. Columns of the conditions come from `transforms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.gates.names import GateName


class Separation(Enum):
    """The way to carry out the plan, on which the gates depend."""

    PATCHED = "patched"
    """Part znodes go to the cold ensemble, where a partition must not have two parts."""
    TWIN = "twin"
    """Partitions go to the cold twin of their table, with any number of parts."""


# Columns contain the text values of the domain's enums.
COLD, HOT = State.COLD.value, State.HOT.value
QUEUE_CLEAR = GateName.QUEUE_CLEAR.value
ONE_PART = GateName.ONE_PART.value
MUTATIONS_APPLIED = GateName.MUTATIONS_APPLIED.value

MOVE = "move"
REHEAT = "reheat"
STAY = "stay"
BUSY = "busy"
"""The partition would be cold, but stays hot: its servers have pending writes to it."""
LEAVE = "leave"
UNREAD = "unread"
"""No decision: the partition, or everything at and below the path, is unreadable."""


class Decision(NamedTuple):
    """Result for partitions whose first true condition is ``condition``.

    state: desired state; None for no decision.
    gate: the gate that keeps the partition hot although the policy asks for cold.
    """

    condition: Column
    state: str | None
    reason: Column
    gate: str | None = None


def with_decisions(partitions: DataFrame, separation: Separation = Separation.PATCHED) -> DataFrame:
    """Select the columns of plan and analysis.

    - ``action``: ``move``, ``reheat`` or ``stay``; ``busy`` for a partition that would be cold, but has
      pending writes; ``leave`` for a table the policy leaves alone, without a state; ``unread`` for an
      unreadable partition, without a state.
    - ``gate``: the gate found closed; ``statement``: the SQL that opens it.
    - ``rule``: number of the deciding rule, from 0; -1 for the defaults.
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
    """Return all decisions in order of evaluation; every partition matches a condition."""
    only_in_cold = ~F.col("has_hot")
    is_marked_cold = F.col("is_marked_cold")
    is_pinned_cold = F.col("is_pinned_cold")
    return [
        Decision(F.col("never"), None, F.lit("the policy leaves its table alone")),
        Decision(F.col("is_unread"), None, F.lit("not all of its znodes may be read")),
        Decision(
            F.col("is_patch"),
            HOT,
            F.lit("patches of a lightweight update never move: a merge of their partition applies them"),
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
    """Return the decisions for partitions old enough to be cold, ``reason`` being their age.

    An unknown number of reads counts as too many.
    """
    is_limited = F.col("max_reads").isNotNull()
    reads = F.col("reads_in_window")
    known = F.format_string(
        "read %d times within %s, max_reads is %d", reads, F.col("window_text"), F.col("max_reads")
    )
    unknown = F.format_string(
        "number of reads within %s unknown: %s", F.col("window_text"), _why_reads_are_unknown()
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
        F.when(asked == 0, "no server has reported it")
        .when(
            asked < F.col("replicas"),
            F.format_string("%d of its %d replicas have reported it", asked, F.col("replicas")),
        )
        .otherwise("a server has no query log that covers that time")
    )


def _cold_unless_busy(condition: Column, reason: Column) -> list[Decision]:
    """Return the decisions for partitions that are cold unless servers have pending writes.

    Partitions without server data count as cold: the gates of the move check the servers again.
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
    """Return the SQL that merges a partition; null if no merge is needed.

    No merge is needed, either, when the servers have merged the partition but not yet removed the old parts.
    """
    needs_merge = (F.col("gate") == ONE_PART) & (F.coalesce("active_parts", F.lit(2)) > 1)
    table = F.coalesce("sql_table", F.lit("…"))
    return F.when(
        needs_merge, F.format_string("OPTIMIZE TABLE %s PARTITION ID '%s' FINAL", table, "partition_id")
    )


def _first_match(cases: Iterable[tuple[Column, Column]]) -> Column:
    """Return the value of the first true case, even if null."""
    (condition, value), *others = cases
    chain = F.when(condition, value)
    for condition, value in others:
        chain = chain.when(condition, value)
    return chain
