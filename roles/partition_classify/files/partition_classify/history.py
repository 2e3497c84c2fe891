# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of earlier runs, from the Parquet data set of their rows."""

from __future__ import annotations

import re
from typing import NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.errors import PartMoveError

from .policy.decisions import MOVE
from .spark_errors import message_of

RUNS_READ = 100
"""Maximum number of runs to read, newest first: each has a row for every partition."""

_NEEDED = {"has_hot": "boolean", "action": "string", "znodes": "bigint"}
_RUN = re.compile(r"/as_of=([0-9]+)/[^/]*$", re.ASCII)


class EarlierRun(NamedTuple):
    """Counts of one run at moment ``as_of``, in milliseconds since 1970."""

    as_of: int
    znodes_hot: int
    """Part znodes in hot."""
    znodes_cold_planned: int
    """Subset of ``znodes_hot`` that the plan moved to cold."""


def history_of(spark: SparkSession, parquet: str) -> list[EarlierRun]:
    """Return the newest RUNS_READ runs in a data set of `write_parquet`, in ascending order of time.

    Raises PartMoveError if the data set is missing or has other contents.
    """
    try:
        rows = _rows(spark, parquet)
        _check_columns(rows, parquet)
        znodes = F.sum(F.when(F.col("has_hot"), F.col("znodes")).otherwise(0))
        planned = F.sum(F.when(F.col("action") == MOVE, F.col("znodes")).otherwise(0))
        sums = rows.groupBy("as_of").agg(znodes, planned).orderBy("as_of").collect()
    except (PySparkException, Py4JJavaError) as error:
        raise PartMoveError(
            f"{parquet}: rows of earlier runs cannot be read. {message_of(error)}",
            remedy="Give the Parquet folder of earlier runs",
        ) from error
    return [EarlierRun(*row) for row in sums]


def _rows(spark: SparkSession, parquet: str) -> DataFrame:
    """Return the rows of the newest runs, with ``as_of`` as a number."""
    folder = parquet.rstrip("/")
    # Other entries of the folder are not runs.
    rows = spark.read.option("basePath", folder).parquet(f"{folder}/as_of=*")
    moments = {int(match[1]) for file in rows.inputFiles() if (match := _RUN.search(file))}
    oldest = min(sorted(moments)[-RUNS_READ:], default=0)
    return rows.withColumn("as_of", F.col("as_of").cast("bigint")).where(F.col("as_of") >= oldest)


def _check_columns(rows: DataFrame, parquet: str) -> None:
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema}
    for name, kind in _NEEDED.items():
        if kinds.get(name) != kind:
            raise PartMoveError(
                f"{parquet}: not the rows of earlier runs: there is no column {name} of type {kind}",
                remedy="Give the Parquet folder of earlier runs",
            )
