# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Spark session of the job, in a Python of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import build_package
from support.servers.jvm import SMALL_SPARK
from support.servers.spark_cluster import standalone_master

PROGRAM = """
import json, sys
from pyspark import SparkContext
from partition_classify.session import make_session, prepare_for_few_rows, stop_session
found = []
for given in json.loads(sys.argv[1]):
    SparkContext._ensure_initialized()
    # This is what spark-submit does with its options before it runs a program.
    system = SparkContext._jvm.java.lang.System
    for name, value in given.items():
        system.setProperty(name, value)
    spark = make_session()
    found.append({
        "name": spark.sparkContext.appName,
        "speculation": spark.conf.get("spark.speculation"),
        "shuffle": spark.conf.get("spark.sql.shuffle.partitions"),
        "pieces": spark.conf.get("spark.sql.adaptive.coalescePartitions.initialPartitionNum", None),
        "fatal": spark.conf.get("spark.executor.killOnFatalError.depth", None),
        "pages": spark.conf.get("spark.ui.enabled", None),
        "has this Python": spark.sparkContext.pythonExec == sys.executable,
    })
    prepare_for_few_rows(spark)
    found[-1]["few rows"] = [
        spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.sql.codegen.wholeStage"),
    ]
    spark.stop()
    for name in given:
        system.clearProperty(name)
system.setProperty("spark.master", "local[1]")
spark = make_session()
stop_session(spark)
print(json.dumps([*found, spark.sparkContext._jsc.sc().isStopped()]))
"""
SHUFFLE = "spark.sql.shuffle.partitions"
PAGES = "spark.ui.enabled"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What sessions on one machine, there with a setting, and in a cluster have of settings."""
    # It has no worker: a session needs none to have settings.
    with standalone_master(tmp_path_factory.mktemp("cluster")) as master:
        given = {
            "one machine": {"spark.master": "local[3]"},
            "one machine, told otherwise": {"spark.master": "local[3]", SHUFFLE: "17", PAGES: "true"},
            "cluster": {"spark.master": master},
        }
        pages = "-Dspark.ui.port=0 -Dspark.driver.bindAddress=127.0.0.1"
        environment = os.environ | {
            "SPARK_SUBMIT_OPTS": f"{SMALL_SPARK} {pages}",
            "PYTHONPATH": str(build_package.HERE),
        }
        environment.pop("PYSPARK_PYTHON", None)
        command = [sys.executable, "-c", PROGRAM, json.dumps(list(given.values()))]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *found, is_stopped = json.loads(run.stdout.splitlines()[-1])
    assert is_stopped
    return dict(zip(given, found, strict=True))


@pytest.mark.parametrize(
    ("where", "shuffle", "pieces", "pages"),
    [("one machine", "6", "64", "false"), ("one machine, told otherwise", "17", None, "true")],
)
def test_one_machine_has_few_shuffle_partitions_and_no_web_pages_unless_told_otherwise(
    sessions: dict[str, dict[str, Any]], where: str, shuffle: str, pieces: str | None, pages: str
) -> None:
    found = sessions[where]
    assert (found["shuffle"], found["pieces"], found["pages"]) == (shuffle, pieces, pages)


def test_one_machine_outlives_a_task_that_finds_no_memory(sessions: dict[str, dict[str, Any]]) -> None:
    assert sessions["one machine"]["fatal"] == "0"


def test_cluster_keeps_the_shuffle_partitions_of_spark(sessions: dict[str, dict[str, Any]]) -> None:
    assert sessions["cluster"] == {
        "name": "partition_classify",
        "speculation": "false",
        "shuffle": "200",
        "pieces": None,
        "fatal": None,
        "pages": None,
        "has this Python": True,
        "few rows": ["1", "false"],
    }


def test_few_rows_have_one_partition_unless_told_otherwise(sessions: dict[str, dict[str, Any]]) -> None:
    assert sessions["one machine"]["few rows"] == ["1", "false"]
    assert sessions["one machine, told otherwise"]["few rows"] == ["17", "false"]
