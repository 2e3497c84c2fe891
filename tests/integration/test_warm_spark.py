# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs that share a Java have nothing else in common."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from support.servers import warm_spark

JOB = """
import sys
from pyspark import SparkContext
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
java = SparkContext._jvm.java.lang.ProcessHandle.current().pid()
context = spark.sparkContext
print(java, context.appName, context.master, spark.conf.get("spark.of.one", None), sys.argv[1:])
spark.stop()
sys.exit(7)
"""


ALONE = """
import sys
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
begun = time.monotonic()
time.sleep(1)
print(begun, time.monotonic())
spark.stop()
sys.exit(7)
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start a job as spark-submit does."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [str(warm_spark.program()), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(job: subprocess.Popen[str]) -> str:
    """Return what a job wrote that ended with 7."""
    output, errors = job.communicate()
    assert job.returncode == 7, errors
    return output


def test_jobs_have_their_own_settings_and_tell_how_they_ended(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    both = (
        ("--master", "local[1]", "--name", "first", "--conf=spark.of.one=a=b"),
        ("--master=local[2]", "--name=second"),
    )
    told = [ended(started(*options, str(job), "--name", "of the job")).split(maxsplit=1) for options in both]
    (first_java, first), (second_java, second) = told
    assert first_java == second_java
    assert first == "first local[1] a=b ['--name', 'of the job']\n"
    assert second == "second local[2] None ['--name', 'of the job']\n"


def test_a_job_waits_for_the_one_before(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(ALONE)
    jobs = [started("--master", "local[1]", str(job)) for _each in range(3)]
    times = sorted(tuple(map(float, ended(each).split())) for each in jobs)
    assert all(before[1] < after[0] for before, after in pairwise(times)), times
