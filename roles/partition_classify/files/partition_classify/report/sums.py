# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds up plan rows to the figures of a report.

The driver receives a bounded number of rows: listed tables, one for each day, few for each gate, few merges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.gates.names import FORESEEN
from olap_partmove._partmove.gates.partition import PARTITION_GATES
from olap_partmove._partmove.plan.file import PlanHeader
from olap_partmove._partmove.text import format_time

from ..policy.decisions import BUSY, LEAVE, MOVE, REHEAT
from ..sources.ensemble_size import EnsembleSize
from .ages import ages_of, month_of, months_of, parts_of
from .durations import Volume, durations_of
from .figures import (
    Amount,
    EnsembleFigures,
    GatedPartition,
    GateFigures,
    HotFigures,
    OtherTables,
    ReportFigures,
    TableFigures,
)
from .forecast import forecast_of
from .merges import merges_of

TABLES_LISTED = 1000
MOST_TO_GAIN = 10
PARTITIONS_LISTED = 5
_KINDS = ("today", "moved", "gated", "one_part", "reheated", "busy", "left_alone", "cold")
_AMOUNTS = ("znodes", "bytes", "snapshot_bytes")
_LARGEST = "largest_"
_VOLUME = (
    "one_part_shard_paths",
    "one_part_partitions",
    "one_part_parts",
    "one_part_znodes",
    "largest_one_part_partitions",
    "largest_one_part_parts",
    "largest_one_part_znodes",
)
"""Columns of a `Volume`, in the order of its fields; the largest ones are of a single shard path."""
_GATES = {gate.name.value: gate for gate in PARTITION_GATES if gate.name in FORESEEN}


def figures_of(
    rows: DataFrame,
    header: PlanHeader,
    ensemble: EnsembleSize | None,
    found_by_runs: Mapping[int, int] | None = None,
) -> ReportFigures:
    """Return the figures of plan rows with the columns of `with_decisions`; scans the rows several times.

    header: header of the plan.
    ensemble: size of the whole hot ensemble, None if unknown.
    found_by_runs: znodes in hot found by runs, by their moment in milliseconds since 1970.
    """
    tables = _by_table(rows).persist()
    totals = tables.agg(
        F.count("*").alias("tables"),
        *(F.coalesce(_total(name), F.lit(0)).alias(name) for name in tables.columns if name != "table"),
    ).collect()[0]
    hot = _hot(totals)
    znodes = hot.today.znodes
    gained = F.col("moved_znodes") - F.col("reheated_znodes")
    listed = _listed(tables, F.col("today_znodes"), TABLES_LISTED, znodes)
    ages = ages_of(rows, header.as_of)
    months, earlier = months_of(ages)
    found_by_month = {month_of(moment): count for moment, count in sorted((found_by_runs or {}).items())}
    figures = ReportFigures(
        as_of=format_time(header.as_of),
        source=header.source,
        policy_digest=header.policy_digest,
        tables=totals["tables"],
        shard_paths=totals["shard_paths"],
        hot=hot,
        cold=_amount(totals, "cold"),
        ensemble=_ensemble(hot, ensemble),
        most_to_gain=tuple(_listed(tables.where(gained > 0), gained, MOST_TO_GAIN, znodes)),
        largest_tables=tuple(listed),
        other_tables=_others(totals, hot, listed),
        gates=_gates(rows),
        months=months,
        earlier=earlier,
        parts=parts_of(rows),
        merges=merges_of(rows),
        forecast=forecast_of(ages.znodes, ages.this_month, hot, found_by_month),
        durations=durations_of(Volume(*(totals[name] for name in _VOLUME))),
    )
    tables.unpersist()
    return figures


def _by_table(rows: DataFrame) -> DataFrame:
    """Return one row for each table: number and sums of partitions of each kind."""
    is_move, has_hot = F.col("action") == MOVE, F.col("has_hot")
    conditions: Mapping[str, Column] = {
        "today": has_hot,
        "moved": is_move,
        "gated": is_move & F.col("gate").isNotNull(),
        "one_part": is_move & (F.col("parts_per_replica") <= 1),
        "reheated": (F.col("action") == REHEAT) & ~has_hot,
        "busy": F.col("action") == BUSY,
        "left_alone": (F.col("action") == LEAVE) & has_hot,
        "cold": ~has_hot,
    }
    sums = [
        column
        for kind in _KINDS
        for column in (
            F.count_if(conditions[kind]).alias(f"{kind}_partitions"),
            *(
                F.sum(F.when(conditions[kind], F.col(name)).otherwise(0)).alias(f"{kind}_{name}")
                for name in _AMOUNTS
            ),
        )
    ]
    parts = F.sum(F.when(conditions["one_part"], F.col("parts")).otherwise(0)).alias("one_part_parts")
    # Grouping by shard path first: counting them needs no second pass over the partitions.
    by_path = rows.groupBy("table", "shard_path").agg(*sums, parts)
    names = [name for name in by_path.columns if name not in {"table", "shard_path"}]
    return by_path.groupBy("table").agg(
        F.count("*").alias("shard_paths"),
        F.count_if(F.col("one_part_partitions") > 0).alias("one_part_shard_paths"),
        *(F.sum(name).alias(name) for name in names),
        *(F.max(name.removeprefix(_LARGEST)).alias(name) for name in _VOLUME if name.startswith(_LARGEST)),
    )


def _total(name: str) -> Column:
    """Return the figure of all tables from that of each."""
    return F.max(name) if name.startswith(_LARGEST) else F.sum(name)


def _amount(row: Row, kind: str) -> Amount:
    return Amount(*(row[f"{kind}_{name}"] for name in ("partitions", *_AMOUNTS)))


def _hot(row: Row) -> HotFigures:
    amounts = {kind: _amount(row, kind) for kind in _KINDS if kind != "cold"}
    return HotFigures(**amounts, now=amounts["moved"] - amounts["gated"], after=_after(row))


def _after(row: Row) -> Amount:
    return _amount(row, "today") - _amount(row, "moved") + _amount(row, "reheated")


def _listed(tables: DataFrame, order: Column, most: int, all_znodes: int) -> list[TableFigures]:
    """Return the figures of the ``most`` tables with the greatest values of ``order``."""
    return [_table(row, all_znodes) for row in tables.orderBy(order.desc(), "table").limit(most).collect()]


def _table(row: Row, all_znodes: int) -> TableFigures:
    today, after = _amount(row, "today"), _after(row)
    return TableFigures(
        table=row["table"],
        shard_paths=row["shard_paths"],
        today=today,
        after=after,
        gained_znodes=today.znodes - after.znodes,
        now_znodes=row["moved_znodes"] - row["gated_znodes"],
        gated_znodes=row["gated_znodes"],
        share=_share(today.znodes, all_znodes),
    )


def _others(totals: Row, hot: HotFigures, listed: Sequence[TableFigures]) -> OtherTables:
    return OtherTables(
        tables=totals["tables"] - len(listed),
        today=hot.today - sum((each.today for each in listed), Amount()),
        after=hot.after - sum((each.after for each in listed), Amount()),
        now_znodes=hot.now.znodes - sum(each.now_znodes for each in listed),
        gated_znodes=hot.gated.znodes - sum(each.gated_znodes for each in listed),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _ensemble(hot: HotFigures, ensemble: EnsembleSize | None) -> EnsembleFigures | None:
    # A running ensemble may have changed since the parts were read.
    if ensemble is None or ensemble.znodes < hot.today.znodes:
        return None
    less = hot.today - hot.after
    size = ensemble.snapshot_bytes
    return EnsembleFigures(
        znodes=ensemble.znodes,
        znodes_after=ensemble.znodes - less.znodes,
        share=_share(hot.today.znodes, ensemble.znodes),
        snapshot_bytes=size,
        snapshot_bytes_after=None if size is None else max(size - less.snapshot_bytes, 0),
    )


def _gates(rows: DataFrame) -> tuple[GateFigures, ...]:
    """Return the partitions stopped by each gate, in the order in which a move checks the gates."""
    # The gate of a partition to reheat is a reason and stops nothing.
    stopped = rows.where(F.col("gate").isNotNull() & (F.col("action") != REHEAT))
    sums = (F.sum(name) for name in _AMOUNTS)
    amounts = {
        gate: Amount(*amount) for gate, *amount in stopped.groupBy("gate").agg(F.count("*"), *sums).collect()
    }
    return tuple(
        GateFigures(
            gate=name,
            protects=gate.protects,
            remedy=gate.remedy,
            stopped=amounts[name],
            largest=_largest(stopped.where(F.col("gate") == name)),
        )
        for name, gate in _GATES.items()
        if name in amounts
    )


def _largest(stopped: DataFrame) -> tuple[GatedPartition, ...]:
    first = stopped.orderBy(F.col("znodes").desc(), "shard_path", "partition").limit(PARTITIONS_LISTED)
    return tuple(
        GatedPartition(*row)
        for row in first.select("shard_path", "partition", "znodes", "statement").collect()
    )
