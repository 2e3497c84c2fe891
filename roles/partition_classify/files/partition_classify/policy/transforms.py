# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory to plan rows, as functions from DataFrame to DataFrame.

A partition is one partition id of one shard path. All columns are column expressions and windows; no Python
code runs for a row. All times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window, functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql.types import BooleanType, IntegerType, LongType, MapType, StringType

from olap_partmove._partmove.formats.names import PATCH_PREFIX

from ..zookeeper_files.nodes import RECORD_BYTES
from .decisions import Separation, with_decisions
from .file import Policy, PolicySettings, duration_text

PARTITION = ("shard_path", "partition_id")
REPLICA = (*PARTITION, "replica")
PART = (*REPLICA, "part")

_BOTH = ("hot", "cold")

DEFAULTS = -1
"""Rule number of partitions without a matching rule."""

# Average length of the child names /columns and /checksums of a part, slash included.
_CHILD_NAME_BYTES = 9

# Names of shards in shard paths: 01, 01-02, shard3.
_SHARD = "/(?:shard[-_]?)?[0-9]+(?:[-_][0-9]+)*(?=/|$)"

# Types as objects, here and below: a type given as text makes Java load its SQL parser.
_SIGNAL_TYPES = {
    "sql_table": StringType(),
    "active_parts": LongType(),
    "rows": LongType(),
    "bytes_on_disk": LongType(),
    "reads": LongType(),
    "is_queued": BooleanType(),
    "is_mutated": BooleanType(),
    "asked": LongType(),
    "reads_within": MapType(LongType(), LongType()),
}
_UNIT_TEXTS = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000))


def plan_rows(inventory: DataFrame, policy: Policy, as_of: int, signal: DataFrame | None = None) -> DataFrame:
    """Return one row for each partition, with the columns of `with_decisions`.

    inventory: columns of PartGroup.
    as_of: the moment to decide for.
    signal: data of ClickHouse servers, columns of SIGNAL_SCHEMA; None without servers.
    """
    return apply_policy(policy, known_partitions(inventory, as_of, policy.read_windows, signal))


def known_partitions(
    inventory: DataFrame, as_of: int, windows: Collection[int], signal: DataFrame | None = None
) -> DataFrame:
    """Return one row for each partition, with all inputs of a policy.

    windows: lengths of the read-counting windows of the policies, in milliseconds.
    """
    summed = inventory.transform(parts).transform(replicas).transform(partitions)
    return (
        summed.transform(with_table)
        .transform(with_signal, signal, windows)
        .transform(with_rank)
        .transform(with_age, as_of)
    )


def apply_policy(policy: Policy, known: DataFrame, separation: Separation = Separation.PATCHED) -> DataFrame:
    """Return the decisions of the policy for partitions of `known_partitions`."""
    return known.transform(with_settings, policy).transform(with_reads).transform(with_decisions, separation)


def parts(inventory: DataFrame) -> DataFrame:
    """Return one row for each part of a replica, or for each sum of unnamed parts, with its data by ensemble.

    Unnamed parts need no comparison between hot and cold: their partition is not marked as cold, or is in one
    ensemble only. If the State became COLD while the replicas were read, rows read before remain separate.
    """
    ensembles = {each: F.col("ensemble") == each for each in _BOTH}
    amounts = {name: F.col(name) for name in ("parts", "bytes", "znodes")}
    amounts["snapshot_bytes"] = _snapshot_bytes()
    # One exchange by partition serves both following groupings. An exchange by shard path, as the window
    # needs, would give a very large table to a single task; exchanging the few partition rows again is cheap.
    return (
        inventory.repartition(*PARTITION)
        .groupBy(*PART, "is_marked_cold")
        .agg(
            *(F.max(F.when(each, F.col("mtime"))).alias(f"{name}_mtime") for name, each in ensembles.items()),
            *(
                F.sum(F.when(is_in, amount).otherwise(0)).alias(f"{each}_{name}")
                for name, amount in amounts.items()
                for each, is_in in ensembles.items()
            ),
        )
    )


def replicas(parts: DataFrame) -> DataFrame:
    """Return one row for each replica of a partition, with its registered data by ensemble."""
    # 1 for a named part missing in cold.
    in_hot_only = F.col("hot_parts") - F.col("cold_parts")
    return parts.groupBy(*REPLICA).agg(
        F.bool_or("is_marked_cold").alias("is_marked_cold"),
        F.bool_or(F.col("is_marked_cold").isNull()).alias("is_unread"),
        F.sum(F.greatest(in_hot_only, F.lit(0))).alias("parts_in_hot_only"),
        F.max("hot_mtime").alias("hot_mtime"),
        F.max("cold_mtime").alias("cold_mtime"),
        *(F.sum(name).alias(name) for name in _amounts("parts", "znodes", "bytes", "snapshot_bytes")),
    )


def partitions(replicas: DataFrame) -> DataFrame:
    """Return one row for each partition: whether its State is COLD, and sums over all replicas.

    ``is_unread``: the State or a part is unreadable, so no other column is certain. Time and counts are from
    hot, or from cold for a partition without parts in hot.
    """
    counts = _amounts("parts", "znodes", "bytes", "snapshot_bytes")
    totals = replicas.groupBy(*PARTITION).agg(
        F.bool_or("is_marked_cold").alias("is_marked_cold"),
        F.bool_or("is_unread").alias("is_unread"),
        F.sum("parts_in_hot_only").alias("parts_in_hot_only"),
        *(F.max(name).alias(name) for name in ("hot_mtime", "cold_mtime")),
        *(F.sum(name).alias(name) for name in counts),
        *(F.count_if(F.col(f"{each}_parts") > 0).alias(f"{each}_replicas") for each in _BOTH),
        *(F.max(f"{each}_parts").alias(f"{each}_parts_per_replica") for each in _BOTH),
    )
    has_hot = F.col("hot_parts") > 0

    def counted(name: str) -> Column:
        return F.when(has_hot, F.col(f"hot_{name}")).otherwise(F.col(f"cold_{name}")).alias(name)

    return totals.select(
        *PARTITION,
        "is_marked_cold",
        "is_unread",
        has_hot.alias("has_hot"),
        "parts_in_hot_only",
        counted("mtime").alias("last_modified"),
        *(
            counted(name)
            for name in ("replicas", "parts", "parts_per_replica", "znodes", "bytes", "snapshot_bytes")
        ),
    )


def with_table(partitions: DataFrame) -> DataFrame:
    """Add ``table``: the shard path with ``*`` for apparent shard names, equal for all shards."""
    return partitions.withColumn("table", F.regexp_replace("shard_path", _SHARD, "/*"))


def with_signal(partitions: DataFrame, signal: DataFrame | None, windows: Collection[int] = ()) -> DataFrame:
    """Add the servers' data of each partition; null for unknown values, and without servers.

    ``asked``: number of replicas that reported the partition. ``reads_within``: number of reads by window;
    null if a replica does not know.
    """
    if signal is None:
        return partitions.select(
            "*", *(F.lit(None).cast(kind).alias(name) for name, kind in _SIGNAL_TYPES.items())
        )
    is_mutated = F.max("mutation") > F.min("data_version")
    signs = signal.groupBy(*PARTITION).agg(
        *(F.max(name).alias(name) for name in ("sql_table", "active_parts", "rows", "bytes_on_disk")),
        # The query log has no entry for unread partitions.
        F.when(F.bool_and("has_log"), F.coalesce(F.sum("reads"), F.lit(0))).alias("reads"),
        (F.max("is_queued") > 0).alias("is_queued"),
        is_mutated.alias("is_mutated"),
        # A server with two names is queried twice, but is one replica.
        F.count_distinct(F.when(F.col("active_parts").isNotNull(), F.col("replica"))).alias("asked"),
        _reads_by_window(windows).cast(_SIGNAL_TYPES["reads_within"]).alias("reads_within"),
    )
    return partitions.join(signs, list(PARTITION), "left")


def with_settings(partitions: DataFrame, policy: Policy) -> DataFrame:
    """Add the settings of the first matching rule.

    Columns: ``rule`` (from 0, or DEFAULTS), ``cold_after`` and its words ``cold_after_text``,
    ``keep_newest``, ``is_pinned_hot``, ``is_pinned_cold``, ``never``, ``max_reads`` (null for no limit),
    ``window`` and its words ``window_text``.
    """
    settings = _settings(policy.defaults, DEFAULTS)
    for number, rule in reversed(list(enumerate(policy.rules))):
        matches = F.col("shard_path").rlike(rule.regex)
        settings = F.when(matches, _settings(rule.settings, number)).otherwise(settings)
    return partitions.withColumn("settings", settings).select(*partitions.columns, "settings.*")


def with_reads(partitions: DataFrame) -> DataFrame:
    """Add ``reads_in_window``: number of reads in the window of the rule.

    Null if a replica with a part of the partition was not queried or does not know, and without a limit.
    """
    is_limited = F.col("max_reads").isNotNull()
    is_known = F.col("asked") >= F.col("replicas")
    reads = F.col("reads_within")[F.col("window")]
    return partitions.withColumn("reads_in_window", F.when(is_limited & is_known, reads))


def with_rank(partitions: DataFrame) -> DataFrame:
    """Add ``rank``: 1 for the newest partition of its shard path, by last change, then partition id.

    Partitions without a part in hot rank last: their time in cold is the time of the move. Patches of other
    partitions, marked by the added column ``is_patch``, rank after all others.
    """
    newest_first = Window.partitionBy("shard_path").orderBy(
        "is_patch", F.col("has_hot").desc(), F.col("last_modified").desc(), F.col("partition_id").desc()
    )
    marked = partitions.withColumn("is_patch", F.col("partition_id").startswith(PATCH_PREFIX))
    return marked.withColumn("rank", F.row_number().over(newest_first))


def with_age(partitions: DataFrame, as_of: int) -> DataFrame:
    """Add ``age``: time since the last change, and its words ``age_text``."""
    age = F.lit(as_of).cast(LongType()) - F.col("last_modified")
    seconds = F.concat(F.floor(age / 1000).cast(StringType()), F.lit(" seconds"))
    texts = [
        F.when(age >= 2 * unit, F.concat(F.floor(age / unit).cast(StringType()), F.lit(f" {name}")))
        for name, unit in _UNIT_TEXTS
    ]
    return partitions.withColumn("age", age).withColumn("age_text", F.coalesce(*texts, seconds))


def _amounts(*names: str) -> list[str]:
    """Return the column names of these amounts for each ensemble, such as ``hot_znodes``."""
    return [f"{ensemble}_{name}" for name in names for ensemble in _BOTH]


def _snapshot_bytes() -> Column:
    """Return the bytes of the part znodes in a snapshot, without a chroot."""
    names = F.octet_length("shard_path") + F.octet_length("replica")
    path = names + len("/replicas/") + len("/parts/")
    znodes = F.col("znodes")
    children = (znodes - F.col("parts")) * _CHILD_NAME_BYTES
    return znodes * (path + RECORD_BYTES) + F.col("name_bytes") + children + F.col("bytes")


def _reads_by_window(windows: Collection[int]) -> Column:
    has_parts = F.col("active_parts").isNotNull()
    columns = []
    for window in sorted(windows):
        key = F.lit(window).cast(LongType())
        reads = F.col("reads_within")[key]
        is_known = F.bool_and(F.when(has_parts, reads.isNotNull()))
        columns += [key, F.when(is_known, F.sum(reads))]
    return F.create_map(*columns)


def _settings(settings: PolicySettings, rule: int) -> Column:
    return F.struct(
        F.lit(rule).alias("rule"),
        F.lit(settings.cold_after_ms).cast(LongType()).alias("cold_after"),
        F.lit(duration_text(settings.cold_after_ms)).alias("cold_after_text"),
        F.lit(settings.keep_newest).alias("keep_newest"),
        F.col("partition_id").isin(list(settings.pin_hot)).alias("is_pinned_hot"),
        F.col("partition_id").isin(list(settings.pin_cold)).alias("is_pinned_cold"),
        F.lit(settings.never).alias("never"),
        F.lit(settings.max_reads).cast(IntegerType()).alias("max_reads"),
        F.lit(settings.reads_within_ms).cast(LongType()).alias("window"),
        F.lit(duration_text(settings.reads_within_ms)).alias("window_text"),
    )
