# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From inventory to plan rows, as DataFrame to DataFrame functions.

A partition is one partition id of one shard path. All columns come from column expressions and windows:
nothing here runs Python for a row. Times are milliseconds since 1970 throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove.partmove.plan import COLD, HOT

from .policy import Policy, Settings, duration_text

PARTITION = ("shard_path", "partition_id")
PART = (*PARTITION, "replica", "part")

MOVE = "move"
REHEAT = "reheat"
STAY = "stay"

_UNIT_TEXTS = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000))


class Decision(NamedTuple):
    """What holds when a condition is the first one to be true."""

    condition: Column
    state: str
    reason: Column


def plan_rows(inventory: DataFrame, policy: Policy, as_of: int) -> DataFrame:
    """One row a partition: the columns of a plan row, and ``action``.

    ``inventory`` has the columns of InventoryRow; ``as_of`` is the moment to decide for. ``action`` is
    what the row asks for: `move`, `reheat` or `stay`.
    """
    return (
        inventory.transform(parts)
        .transform(partitions)
        .transform(with_settings, policy)
        .transform(with_rank)
        .transform(with_age, as_of)
        .transform(decided)
    )


def parts(inventory: DataFrame) -> DataFrame:
    """One row a part of a replica, with what each ensemble has of it; null where it has nothing."""
    in_hot = F.col("ensemble") == "hot"
    in_cold = F.col("ensemble") == "cold"
    # All that follows works inside of a shard path: brought together once here, its rows need no other
    # exchange, neither for the two groupings nor for the window.
    return (
        inventory.repartition("shard_path")
        .groupBy(*PART)
        .agg(
            F.bool_or(F.col("state") == COLD).alias("is_marked_cold"),
            F.max(F.when(in_hot, F.col("mtime"))).alias("hot_mtime"),
            F.max(F.when(in_hot, F.col("bytes"))).alias("hot_bytes"),
            F.max(F.when(in_hot, F.col("znodes"))).alias("hot_znodes"),
            F.max(F.when(in_cold, F.col("mtime"))).alias("cold_mtime"),
            F.max(F.when(in_cold, F.col("bytes"))).alias("cold_bytes"),
            F.max(F.when(in_cold, F.col("znodes"))).alias("cold_znodes"),
        )
    )


def partitions(parts: DataFrame) -> DataFrame:
    """One row a partition: whether its State is COLD, and what is registered of it over all replicas.

    The time and the counts are those of the hot ensemble; of a partition with no part there, those of
    the cold one.
    """
    in_hot = F.col("hot_mtime").isNotNull()
    in_cold = F.col("cold_mtime").isNotNull()
    has_hot = F.col("hot_parts") > 0
    totals = parts.groupBy(*PARTITION).agg(
        F.bool_or("is_marked_cold").alias("is_marked_cold"),
        F.count_if(in_hot).alias("hot_parts"),
        F.count_if(in_hot & ~in_cold).alias("parts_in_hot_only"),
        F.count_if(in_cold).alias("cold_parts"),
        F.max("hot_mtime").alias("hot_mtime"),
        F.max("cold_mtime").alias("cold_mtime"),
        *(F.sum(name).alias(name) for name in ("hot_bytes", "hot_znodes", "cold_bytes", "cold_znodes")),
    )
    return totals.select(
        *PARTITION,
        "is_marked_cold",
        has_hot.alias("has_hot"),
        "parts_in_hot_only",
        F.coalesce("hot_mtime", "cold_mtime").alias("last_modified"),
        F.when(has_hot, F.col("hot_parts")).when(~has_hot, F.col("cold_parts")).alias("parts"),
        F.coalesce("hot_znodes", "cold_znodes").alias("znodes"),
        F.coalesce("hot_bytes", "cold_bytes").alias("bytes"),
    )


def with_settings(partitions: DataFrame, policy: Policy) -> DataFrame:
    """Adds ``cold_after``, in words ``cold_after_text``, and ``keep_newest``, by the first rule to match."""
    settings = _settings(policy.defaults)
    if policy.rules:
        first, *others = policy.rules
        matching = F.when(F.col("shard_path").rlike(first.regex), _settings(first.settings))
        for rule in others:
            matching = matching.when(F.col("shard_path").rlike(rule.regex), _settings(rule.settings))
        settings = matching.otherwise(settings)
    return partitions.withColumn("settings", settings).select(*partitions.columns, "settings.*")


def with_rank(partitions: DataFrame) -> DataFrame:
    """Adds ``rank``: 1 for the newest partition of its shard path, by last change and then by partition id.

    Partitions without a part in hot come last: what cold knows is when they were moved.
    """
    newest_first = Window.partitionBy("shard_path").orderBy(
        F.col("has_hot").desc(), F.col("last_modified").desc(), F.col("partition_id").desc()
    )
    return partitions.withColumn("rank", F.row_number().over(newest_first))


def with_age(partitions: DataFrame, as_of: int) -> DataFrame:
    """Adds ``age``: for how long the partition has not changed, and its words ``age_text``."""
    age = F.lit(as_of).cast("bigint") - F.col("last_modified")
    seconds = F.concat(F.floor(age / 1000).cast("string"), F.lit(" seconds"))
    texts = [
        F.when(age >= 2 * unit, F.concat(F.floor(age / unit).cast("string"), F.lit(f" {name}")))
        for name, unit in _UNIT_TEXTS
    ]
    return partitions.withColumn("age", age).withColumn("age_text", F.coalesce(*texts, seconds))


def decided(partitions: DataFrame) -> DataFrame:
    """The columns of a plan row, and ``action``."""
    decisions = _decisions()
    state = _first((each.condition, F.lit(each.state)) for each in decisions)
    return partitions.withColumn("state", state).select(
        "shard_path",
        F.col("partition_id").alias("partition"),
        "state",
        _first((each.condition, each.reason) for each in decisions).alias("reason"),
        "last_modified",
        "parts",
        "znodes",
        "bytes",
        _action().alias("action"),
    )


def _action() -> Column:
    is_moved = (F.col("state") == COLD) & F.col("has_hot")
    is_reheated = (F.col("state") == HOT) & F.col("is_marked_cold")
    stays = ~is_moved & ~is_reheated
    return F.when(is_moved, MOVE).when(is_reheated, REHEAT).when(stays, STAY)


def _decisions() -> list[Decision]:
    """In the order in which they are looked at; together they cover every partition."""
    only_in_cold = ~F.col("has_hot")
    is_marked_cold = F.col("is_marked_cold")
    has_new_parts = F.col("parts_in_hot_only") > 0
    is_young = F.col("age") < F.col("cold_after")
    is_among_newest = F.col("rank") <= F.col("keep_newest")
    is_old = F.col("age") >= F.col("cold_after")
    text = F.col("cold_after_text")
    return [
        Decision(only_in_cold & is_marked_cold, COLD, F.lit("cold already")),
        Decision(
            only_in_cold,
            COLD,
            F.lit("registered in the cold ensemble only, but its State is not COLD: audit it"),
        ),
        Decision(
            is_marked_cold & has_new_parts,
            HOT,
            F.format_string(
                "its State is COLD, but parts of it are in hot only: %d", F.col("parts_in_hot_only")
            ),
        ),
        Decision(is_young, HOT, F.concat(F.lit("changed less than "), text, F.lit(" ago"))),
        Decision(is_among_newest & (F.col("keep_newest") == 1), HOT, F.lit("the newest partition")),
        Decision(
            is_among_newest,
            HOT,
            F.format_string("among the %d newest partitions", F.col("keep_newest")),
        ),
        Decision(
            is_old,
            COLD,
            F.concat(F.lit("unchanged for "), F.col("age_text"), F.lit(", cold_after is "), text),
        ),
    ]


def _settings(settings: Settings) -> Column:
    return F.struct(
        F.lit(settings.cold_after_ms).cast("bigint").alias("cold_after"),
        F.lit(duration_text(settings.cold_after_ms)).alias("cold_after_text"),
        F.lit(settings.keep_newest).alias("keep_newest"),
    )


def _first(cases: Iterable[tuple[Column, Column]]) -> Column:
    return F.coalesce(*(F.when(condition, value) for condition, value in cases))
