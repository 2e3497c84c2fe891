# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What earlier runs have found, from the Parquet data set that each of them added its rows to."""

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
"""How many of the newest runs are looked at: each has a row for every partition that there was."""

_NEEDED = {"has_hot": "boolean", "action": "string", "znodes": "bigint"}
_RUN = re.compile(r"/as_of=([0-9]+)/[^/]*$", re.ASCII)


class EarlierRun(NamedTuple):
    """What there was at the moment of a run, in milliseconds since 1970."""

    as_of: int
    znodes_hot: int
    """Znodes of parts in hot."""
    znodes_cold_planned: int
    """Those of them that its plan moved to cold."""


def history_of(spark: SparkSession, parquet: str) -> list[EarlierRun]:
    """The newest RUNS_READ runs in the data set that `write_parquet` writes, the oldest of them first.

    Raises PartMoveError where there is none, or where it is of something else.
    """
    try:
        rows = _rows(spark, parquet)
        _check_columns(rows, parquet)
        znodes = F.sum(F.when(F.col("has_hot"), F.col("znodes")).otherwise(0))
        planned = F.sum(F.when(F.col("action") == MOVE, F.col("znodes")).otherwise(0))
        found = rows.groupBy("as_of").agg(znodes, planned).orderBy("as_of").collect()
    except (PySparkException, Py4JJavaError) as error:
        raise PartMoveError(
            f"{parquet}: rows of earlier runs cannot be read there. {message_of(error)}",
            remedy="Give the folder that earlier runs have added their rows to as Parquet",
        ) from error
    return [EarlierRun(*row) for row in found]


def _rows(spark: SparkSession, parquet: str) -> DataFrame:
    """The rows of the runs to look at, with ``as_of`` as a number."""
    folder = parquet.rstrip("/")
    # Whatever else is in the folder is no run.
    rows = spark.read.option("basePath", folder).parquet(f"{folder}/as_of=*")
    moments = {int(found[1]) for file in rows.inputFiles() if (found := _RUN.search(file))}
    oldest = min(sorted(moments)[-RUNS_READ:], default=0)
    return rows.withColumn("as_of", F.col("as_of").cast("bigint")).where(F.col("as_of") >= oldest)


def _check_columns(rows: DataFrame, parquet: str) -> None:
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema}
    for name, kind in _NEEDED.items():
        if kinds.get(name) != kind:
            raise PartMoveError(
                f"{parquet}: these are no rows of earlier runs, they have no column {name} of type {kind}",
                remedy="Give the folder that earlier runs have added their rows to as Parquet",
            )
