# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Age and part counts of the partitions in hot: by month of the last change, by parts per replica."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F  # noqa: N812 - what everyone calls it

from ..policy.decisions import LEAVE, MOVE
from .figures import MonthFigures, PartsFigures
from .forecast import MonthZnodes, month_text

MONTHS_LISTED = 120
"""Older months are added up."""
PARTS = (1, 2, 3, 6, 11, 51, 101)
"""Lower bounds of the classes of partitions by number of parts."""

_DAY = 86_400_000
_EPOCH = date(1970, 1, 1)


class Ages(NamedTuple):
    """Sums of plan rows by month. A month is a number: 12 * year + month, counted from 0."""

    this_month: int
    hot: Mapping[int, MonthFigures]
    znodes: Mapping[int, MonthZnodes]


def ages_of(rows: DataFrame, as_of: int) -> Ages:
    """Add up rows by month, in UTC. Changes after ``as_of`` (clock skew) count in its month.

    The driver receives one row for each day: Spark knows months of its session time zone only.
    """
    moment = F.least(F.greatest(F.col("last_modified"), F.lit(0)), F.lit(as_of))
    has_hot, is_move, is_gated = F.col("has_hot"), F.col("action") == MOVE, F.col("gate").isNotNull()
    conditions = (
        has_hot & ~is_move,
        is_move & is_gated,
        is_move & ~is_gated,
        has_hot & (F.col("action") == LEAVE),
        ~has_hot,
    )
    by_day = rows.groupBy(F.floor(moment / _DAY).alias("day")).agg(
        F.count_if(has_hot), *(_znodes_where(each) for each in conditions)
    )
    months: dict[int, list[int]] = {}
    for day, *numbers in by_day.collect():
        sums = months.setdefault(_month(day), [0] * len(numbers))
        months[_month(day)] = [one + other for one, other in zip(sums, numbers, strict=True)]
    hot, znodes = {}, {}
    for month, (partitions, stay, merge, now, left_alone, cold) in months.items():
        hot[month] = MonthFigures(month_text(month), partitions, stay, merge, now)
        znodes[month] = MonthZnodes(stay + merge + now, left_alone, cold)
    return Ages(month_of(as_of), hot, znodes)


def months_of(ages: Ages) -> tuple[tuple[MonthFigures, ...], MonthFigures | None]:
    """Return each month since the first change, at most MONTHS_LISTED, and the sum of older months."""
    with_something = [month for month, figures in ages.hot.items() if figures.partitions]
    if not with_something:
        return (), None
    first = max(min(with_something), ages.this_month - MONTHS_LISTED + 1)
    listed = tuple(
        ages.hot.get(month) or MonthFigures(month_text(month), 0, 0, 0, 0)
        for month in range(first, ages.this_month + 1)
    )
    older = [figures for month, figures in ages.hot.items() if month < first and figures.partitions]
    if not older:
        return listed, None
    sums = [sum(numbers) for numbers in zip(*map(_numbers, older), strict=True)]
    return listed, MonthFigures(month_text(first - 1), *sums)


def parts_of(rows: DataFrame) -> tuple[PartsFigures, ...]:
    """Return the partitions in hot, classified by the highest number of parts on a replica."""
    part_class = F.lit(0)
    for number, fewest in enumerate(PARTS[1:], start=1):
        part_class = F.when(F.col("parts_per_replica") >= fewest, number).otherwise(part_class)
    # Later conditions wrap, and so precede, earlier ones.
    counted = (
        rows.where("has_hot")
        .groupBy(part_class.alias("number"))
        .agg(F.count("*"), F.sum("znodes"), F.count_if(F.col("action") == MOVE))
    )
    by_class = {number: numbers for number, *numbers in counted.collect()}
    ends = [fewest - 1 for fewest in PARTS[1:]]
    return tuple(
        PartsFigures(fewest, most, *by_class.get(number, (0, 0, 0)))
        for number, (fewest, most) in enumerate(zip(PARTS, [*ends, None], strict=True))
    )


def month_of(moment: int) -> int:
    """Return the month number of a moment in milliseconds since 1970."""
    return _month(moment // _DAY)


def _month(day: int) -> int:
    when = _EPOCH + timedelta(days=day)
    return when.year * 12 + when.month - 1


def _numbers(figures: MonthFigures) -> tuple[int, int, int, int]:
    return figures.partitions, figures.stay, figures.merge, figures.now


def _znodes_where(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("znodes"))), F.lit(0))
