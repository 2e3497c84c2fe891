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
from partition_classify.session import make_session
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
        "has this Python": spark.sparkContext.pythonExec == sys.executable,
    })
    spark.stop()
    for name in given:
        system.clearProperty(name)
print(json.dumps(found))
"""
SHUFFLE = "spark.sql.shuffle.partitions"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What sessions on one machine, there with a setting, and in a cluster have of settings."""
    # It has no worker: a session needs none to have settings.
    with standalone_master(tmp_path_factory.mktemp("cluster")) as master:
        given = {
            "one machine": {"spark.master": "local[3]"},
            "one machine, told otherwise": {"spark.master": "local[3]", SHUFFLE: "17"},
            "cluster": {"spark.master": master},
        }
        environment = os.environ | {
            "SPARK_SUBMIT_OPTS": f"{SMALL_SPARK} -Dspark.ui.enabled=false",
            "PYTHONPATH": str(build_package.HERE),
        }
        environment.pop("PYSPARK_PYTHON", None)
        command = [sys.executable, "-c", PROGRAM, json.dumps(list(given.values()))]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(zip(given, json.loads(run.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize(
    ("where", "shuffle", "pieces"),
    [("one machine", "6", "64"), ("one machine, told otherwise", "17", None)],
)
def test_one_machine_has_few_shuffle_partitions_unless_told_otherwise(
    sessions: dict[str, dict[str, Any]], where: str, shuffle: str, pieces: str | None
) -> None:
    assert (sessions[where]["shuffle"], sessions[where]["pieces"]) == (shuffle, pieces)


def test_one_machine_outlives_a_task_that_finds_no_memory(sessions: dict[str, dict[str, Any]]) -> None:
    assert sessions["one machine"]["fatal"] == "0"


def test_cluster_keeps_the_shuffle_partitions_of_spark(sessions: dict[str, dict[str, Any]]) -> None:
    assert sessions["cluster"] == {
        "name": "partition_classify",
        "speculation": "false",
        "shuffle": "200",
        "pieces": None,
        "fatal": None,
        "has this Python": True,
    }
