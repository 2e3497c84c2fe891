# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges required before partitions can go: gain, cost, and all statements as SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame, functions as F  # noqa: N812 - what everyone calls it

from ..policy.decisions import MOVE, ONE_PART
from .figures import MergeFigures, MergesFigures

MERGES_LISTED = 100

_HEAD = """\
-- Merges required before partitions can go to cold, in descending order of gain per written byte.
-- One statement a line. The playbook merge_parts runs them at the pace of the servers; delete the lines of
-- partitions that are not to be merged. Run a statement by hand only while the partition is hot: an OPTIMIZE
-- of a cold part removes its rows from the table. A table named …: no server was asked for its name.
"""


def merges_of(rows: DataFrame) -> MergesFigures:
    """Return the sums of all merges, and the first of them."""
    is_gated = (F.col("action") == MOVE) & (F.col("gate") == ONE_PART)
    is_merge = F.col("statement").isNotNull()
    size = F.col("bytes_on_disk")
    partitions, gained, written, unknown, waiting = (
        rows.where(is_gated)
        .agg(
            F.count_if(is_merge),
            F.coalesce(F.sum(F.when(is_merge, F.col("znodes"))), F.lit(0)),
            F.coalesce(F.sum(F.when(is_merge, size)), F.lit(0)),
            F.count_if(is_merge & size.isNull()),
            F.count_if(~is_merge),
        )
        .collect()[0]
    )
    first = tuple(_merges(_ranked(rows).limit(MERGES_LISTED).collect()))
    return MergesFigures(partitions, gained, written, unknown, waiting, first)


def all_merges(rows: DataFrame) -> Iterator[MergeFigures]:
    """Yield all merges in order; holds one Spark partition in memory."""
    return _merges(_ranked(rows).toLocalIterator())


def sql_lines(merges: Iterable[MergeFigures]) -> Iterator[str]:
    """Yield the lines of merges.sql: a statement, then its partition as JSON in a comment.

    >>> merge = MergeFigures("/ch/01/a", "2019", "OPTIMIZE TABLE a PARTITION ID '2019' FINAL", 4, 2, 9)
    >>> print(list(sql_lines([merge]))[-1], end="")
    OPTIMIZE TABLE a PARTITION ID '2019' FINAL; -- {"bytes_on_disk": 9, "partition": "2019", "parts": 2, \
"shard_path": "/ch/01/a", "znodes": 4}
    """
    yield _HEAD
    for merge in merges:
        about = {
            "shard_path": merge.shard_path,
            "partition": merge.partition,
            "znodes": merge.znodes,
            "parts": merge.parts,
            "bytes_on_disk": merge.bytes_on_disk,
        }
        # A line break in a table name would split the statement; ClickHouse reads escapes in back quotes.
        statement = merge.statement.replace("\n", "\\n").replace("\r", "\\r")
        yield f"{statement}; -- {json.dumps(about, ensure_ascii=False, sort_keys=True)}\n"


def _ranked(rows: DataFrame) -> DataFrame:
    """Sort by gained znodes per byte written; partitions of unknown size last, by znodes per part."""
    size, znodes = F.col("bytes_on_disk"), F.col("znodes")
    per_byte = znodes / F.when(size > 0, size)
    per_part = znodes / F.col("parts_per_replica")
    return (
        rows.where((F.col("action") == MOVE) & F.col("statement").isNotNull())
        .orderBy(per_byte.desc_nulls_last(), per_part.desc(), znodes.desc(), "shard_path", "partition")
        .select("shard_path", "partition", "statement", "znodes", "parts_per_replica", "bytes_on_disk")
    )


def _merges(rows: Iterable[tuple[str, str, str, int, int, int | None]]) -> Iterator[MergeFigures]:
    return (MergeFigures(*row) for row in rows)
