# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Spark session of the job, each in a Python of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import build_package
from support.servers.jvm import SMALL_SPARK
from support.servers.spark_cluster import standalone_cluster

PROGRAM = """
import json, sys
from partition_classify.session import make_session
spark = make_session()
found = {
    "name": spark.sparkContext.appName,
    "speculation": spark.conf.get("spark.speculation"),
    "shuffle": spark.conf.get("spark.sql.shuffle.partitions"),
    "has this Python": spark.sparkContext.pythonExec == sys.executable,
}
spark.stop()
print(json.dumps(found))
"""


def session(master: str, *given: str) -> dict[str, Any]:
    """What a session has of settings, with these options of spark-submit."""
    options = ["--master", master, "--conf", "spark.ui.enabled=false", *given, "pyspark-shell"]
    environment = os.environ | {
        "PYSPARK_SUBMIT_ARGS": " ".join(options),
        "SPARK_SUBMIT_OPTS": SMALL_SPARK,
        "PYTHONPATH": str(build_package.HERE),
    }
    environment.pop("PYSPARK_PYTHON", None)
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("given", "shuffle"), [([], "6"), (["--conf", "spark.sql.shuffle.partitions=17"], "17")]
)
def test_one_machine_has_few_shuffle_partitions_unless_told_otherwise(given: list[str], shuffle: str) -> None:
    assert session("local[3]", *given)["shuffle"] == shuffle


def test_cluster_keeps_the_shuffle_partitions_of_spark(tmp_path: Path) -> None:
    with standalone_cluster(tmp_path) as master:
        assert session(master) == {
            "name": "partition_classify",
            "speculation": "false",
            "shuffle": "200",
            "has this Python": True,
        }
