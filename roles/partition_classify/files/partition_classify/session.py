# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark session of the job."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A speculative attempt would open an additional session and exceed the rate limit.
    "spark.speculation": "false",
    # Plan lines are results of about 12 MB. Larger results than this limit (default 1 MB) are fetched over
    # the network from the executor's store, even within one process; a lost fetch fails a local job, where
    # tasks are not retried.
    "spark.task.maxDirectResultSize": "64m",
    # Coalesce the partitions of persisted rows, too: they are read several times.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}
# By default, an out-of-memory error in a task ends the executor process, so that the cluster restarts it. On
# one machine this would end the driver without a message: there, only the task and then the job fail.
_LOCAL_SETTINGS = {"spark.executor.killOnFatalError.depth": "0"}
# Spark's web UI takes half a second to start, and is accessible to everybody who can reach this host.
_WEB_UI = "spark.ui.enabled"
# Number of shuffle partitions, which Spark then coalesces to about 64 MiB, and evenly over the cores: few
# tasks for few rows, many for many, regardless of the executors registered at the start.
_INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_INITIAL_PARTITIONS_LOCAL = 64
# Used when coalescing is switched off. The default of 200 suits a cluster: on one machine, most of the time
# would go into starting tasks.
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# Does not match local-cluster, a master for tests of Spark with separate executors.
_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:\s*,\s*\d+)?\])?")
# For few rows: to compile a query takes longer than to interpret it, and so does planning it anew after each
# of its stages. One partition needs no exchange.
_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    _SHUFFLE_PARTITIONS: "1",
}


def make_session() -> SparkSession:
    """Return the session, with the settings of spark-submit; the caller stops it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("partition_classify")
    given = given_settings()
    alone = {_WEB_UI: given.get(_WEB_UI, "false"), **_LOCAL_SETTINGS} if tasks_at_once(given) else {}
    for key, value in (_SETTINGS | alone).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    context = spark.sparkContext
    settings = context.getConf()
    if is_on_one_machine(spark) and not settings.contains(_SHUFFLE_PARTITIONS):
        spark.conf.set(_SHUFFLE_PARTITIONS, 2 * context.defaultParallelism)
        if not settings.contains(_INITIAL_PARTITIONS):
            spark.conf.set(_INITIAL_PARTITIONS, _INITIAL_PARTITIONS_LOCAL)
    return spark


def prepare_for_few_rows(spark: SparkSession) -> None:
    """Set the session to answer queries of few rows soon; settings of spark-submit stay."""
    given = given_settings()
    for name, value in _FEW_ROWS.items():
        if name not in given:
            spark.conf.set(name, value)


def given_settings() -> dict[str, str]:
    """Return the settings of spark-submit by name; starts Spark's Java process, but no session."""
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def tasks_at_once(settings: Mapping[str, str]) -> int:
    """Return the number of concurrent tasks in the driver process, 0 with executors.

    >>> masters = ("local", "local[3]", "local[2, 4]", "local-cluster[2,1,1024]", "spark://a:7077")
    >>> [tasks_at_once({"spark.master": each}) for each in masters]
    [1, 3, 2, 0, 0]
    """
    master = _LOCAL_MASTER.fullmatch(settings.get("spark.master", ""))
    if master is None:
        return 0
    cores = master[1] or "1"
    return (os.cpu_count() or 1) if cores == "*" else int(cores)


def stop_session(spark: SparkSession) -> None:
    """Stop Spark for the rest of this process.

    `SparkSession.stop` additionally waits for a thread that checks only once a second whether to end.
    """
    context: Any = spark.sparkContext
    context._jsc.stop()


def is_on_one_machine(spark: SparkSession) -> bool:
    """Return whether all tasks run in the driver process, so that their maximum number is known."""
    return tasks_at_once(dict(spark.sparkContext.getConf().getAll())) > 0
