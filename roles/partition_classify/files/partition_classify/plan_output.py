# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan rows on disk: the plan file that the move takes, and the same rows as Parquet for analysis."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.errors import PartMoveError
from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.gates.names import GateName
from olap_partmove._partmove.plan.file import PlanHeader, PlanRow, staged_plan
from olap_partmove._partmove.plan.origin import OriginOf
from olap_partmove._partmove.plan.staging import check_writable

from .policy.decisions import LEAVE
from .spark_errors import sentence_of


def staged_plan_file(
    rows: DataFrame, path: Path, *, policy_digest: str, source: str, origin: OriginOf, as_of: int
) -> AbstractContextManager[PlanHeader]:
    """Write the plan file, with the rows of one Spark partition in memory at a time; see `staged_plan`.

    Tables that the policy leaves alone have no row in it.
    """
    return staged_plan(
        path, _sorted(rows), policy_digest=policy_digest, source=source, origin=origin, as_of=as_of
    )


def write_parquet(rows: DataFrame, folder: str, as_of: int) -> None:
    """Add the rows to a Parquet data set with the partition column ``as_of``, in milliseconds since 1970.

    The columns are those of `decided`, ``last_modified`` as a timestamp. Only rows of the same moment are
    replaced. Raises PartMoveError where the folder cannot be written to.
    """
    with_times = rows.withColumn("last_modified", F.timestamp_millis("last_modified"))
    ordered = with_times.orderBy("shard_path", "partition")
    try:
        ordered.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/as_of={as_of}")
    except (PySparkException, Py4JJavaError) as error:
        raise _no_parquet(folder, sentence_of(error)) from error


def check_local_parquet(folder: str) -> None:
    """Raise PartMoveError where the folder is one of this host for sure, and cannot be written to.

    Spark need not run for that.
    """
    url = urlsplit(folder)
    is_elsewhere = "HADOOP_CONF_DIR" in os.environ or "YARN_CONF_DIR" in os.environ
    if url.scheme == "file" or (not url.scheme and not is_elsewhere):
        try:
            check_writable(Path(url.path if url.scheme else folder))
        except OSError as error:
            raise _no_parquet(folder, error.strerror or str(error)) from error


def check_parquet(spark: SparkSession, folder: str) -> None:
    """Raise PartMoveError where the driver cannot write to the folder, wherever that is; it is made."""
    context = cast("Any", spark.sparkContext)
    try:
        probe = context._jvm.org.apache.hadoop.fs.Path(f"{folder.rstrip('/')}/.probe-{uuid.uuid4().hex}")
        storage = probe.getFileSystem(context._jsc.hadoopConfiguration())
        storage.create(probe, False).close()
        storage.delete(probe, False)
    except Py4JJavaError as error:
        raise _no_parquet(folder, sentence_of(error)) from error


def _no_parquet(folder: str, reason: str) -> PartMoveError:
    return PartMoveError(
        f"{folder}: the rows cannot be written there as Parquet. {reason}",
        remedy="Give a folder that driver and executors can write to; the old plan is still in its place",
    )


def _sorted(rows: DataFrame) -> Iterator[PlanRow]:
    # Spark sorts text by its UTF-8 bytes, which is the order that plan files are in.
    planned = rows.where(F.col("action") != LEAVE).select(*PlanRow._fields)
    ordered = planned.orderBy("shard_path", "partition")
    return (_plan_row(row) for row in ordered.toLocalIterator())


def _plan_row(row: Row) -> PlanRow:
    found = PlanRow(*row)
    gate = None if found.gate is None else GateName(found.gate)
    return found._replace(state=State(found.state), gate=gate)
