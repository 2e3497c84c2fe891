# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Spark session of the job."""

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
    # A second attempt beside a slow one would be a further session, and read at a rate of its own.
    "spark.speculation": "false",
    # The lines of a plan come as results of some 12 MB. What is larger than this, by default 1 MB, the driver
    # fetches over the network from the store of its executor, also where that is its own process; one that is
    # lost on that way ends a job on one machine, where no task is tried again.
    "spark.task.maxDirectResultSize": "64m",
    # The rows are kept, and read several times: they too are to be in as few pieces as _PIECES says.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}
# A task that finds no memory ends its whole process, so that a cluster can start another one. On one machine
# that is the driver, and nobody is left to say what is wrong: there the task fails, and so the job.
_LOCAL_SETTINGS = {"spark.executor.killOnFatalError.depth": "0"}
# The web pages of Spark take it half a second to open, and are open to whoever reaches this host.
_WEB_UI = "spark.ui.enabled"
# Spark exchanges rows in so many pieces, and then gives as many of them to a task as make 64 MiB, but to each
# core about as much: tasks are few for few rows and many for many, whoever had registered at the start.
_INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_INITIAL_PARTITIONS_LOCAL = 64
# For a Spark that is told not to do that. Its default of 200 is meant for a cluster: on one machine most of
# the time would go into starting tasks.
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# A local cluster, which tests of Spark itself make, has executors and is none of these.
_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:\s*,\s*\d+)?\])?")


def make_session() -> SparkSession:
    """The session, with the settings of spark-submit; the caller stops it."""
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


def given_settings() -> dict[str, str]:
    """The settings of spark-submit, by name; starts the Java process of Spark, and no session."""
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def tasks_at_once(settings: Mapping[str, str]) -> int:
    """How many tasks run at once in the process of the driver, 0 where executors run them.

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
    """Stop Spark; this process has no more to ask of it, and makes no other session.

    `SparkSession.stop` does that too, and then waits for a thread that looks once a second whether to end.
    """
    context: Any = spark.sparkContext
    context._jsc.stop()


def is_on_one_machine(spark: SparkSession) -> bool:
    """Whether all tasks run in the process of the driver; it is known then how many run at once."""
    return tasks_at_once(dict(spark.sparkContext.getConf().getAll())) > 0
