# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The merges that partitions need before they can go: what they gain and cost, and all of them as SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame, functions as F  # noqa: N812 - what everyone calls it

from ..policy.decisions import MOVE, ONE_PART
from .figures import MergeFigures, MergesFigures

MERGES_LISTED = 100

_HEAD = """\
-- The merges that partitions need before they can go to cold: first those that gain most for what they write.
-- One statement a line. The playbook merge_parts carries them out at the pace of the servers; delete the
-- lines of what is not to be merged. By hand only while the partition is hot: an OPTIMIZE of a cold part
-- takes its rows out of the table. Where a table is called …, no server was asked for its name.
"""


def merges_of(rows: DataFrame) -> MergesFigures:
    """What all merges add up to, and the first of them."""
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
    """All merges in their order, with those of one Spark partition in memory."""
    return _merges(_ranked(rows).toLocalIterator())


def sql_lines(merges: Iterable[MergeFigures]) -> Iterator[str]:
    """The file merges.sql, line by line: a statement, and behind it what it is about as JSON.

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
        # A line break in the name of a table would end the line; ClickHouse reads its escape in back quotes.
        statement = merge.statement.replace("\n", "\\n").replace("\r", "\\r")
        yield f"{statement}; -- {json.dumps(about, ensure_ascii=False, sort_keys=True)}\n"


def _ranked(rows: DataFrame) -> DataFrame:
    """By znodes gained for each byte that a replica writes; behind them, of unknown size, for each part."""
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
