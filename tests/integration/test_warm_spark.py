# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs that share a Java have nothing else in common."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_jobs_have_their_own_settings_and_tell_how_they_ended(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    told = []
    for options in (
        ("--master", "local[1]", "--name", "first", "--conf=spark.of.one=a=b"),
        ("--master=local[2]", "--name=second"),
    ):
        command = [str(warm_spark.program()), *options, str(job), "--name", "of the job"]
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 7, done.stderr
        told.append(done.stdout.split(maxsplit=1))
    (first_java, first), (second_java, second) = told
    assert first_java == second_java
    assert first == "first local[1] a=b ['--name', 'of the job']\n"
    assert second == "second local[2] None ['--name', 'of the job']\n"
