# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the job tells people when it fails."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from partition_classify.spark_errors import sentence_of

FAILED = "Spark could not finish the job"
MORE_MEMORY = "Give it more with spark.driver.memory, and on a cluster with spark.executor.memory."
SEE = "(see the log of Spark for all of it)"
OURS = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "live.py", line 110, in read
ValueError: first
During handling of the above exception, another exception occurred:
olap_partmove._partmove.errors.FormatError: /ch/parts/x: no part. Look at it.
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (OURS, "/ch/parts/x: no part. Look at it."),
        ("olap_partmove._partmove.shard.reader.NoSuchTable: Gone. Look.\n SQLSTATE: 38000", "Gone. Look."),
        (
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'kazoo'\n\tat Foo",
            f"{FAILED}: ModuleNotFoundError: No module named 'kazoo' {SEE}",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist\nmore",
            f"{FAILED}: [PATH_NOT_FOUND] Path does not exist {SEE}",
        ),
        (
            "Job aborted\njava.lang.OutOfMemoryError: Java heap space\n\tat Foo",
            f"Spark ran out of memory. {MORE_MEMORY}",
        ),
        (
            "Job aborted\njava.io.IOException: No space left on device\n\tat Foo",
            "The disk is full that Spark puts rows on. Give it a larger one with spark.local.dir.",
        ),
    ],
)
def test_failure_is_one_sentence(text: str, sentence: str) -> None:
    assert sentence_of(PySparkException(text)) == sentence


def test_failure_of_sql_is_one_sentence(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as error:
        spark.sql("SELECT 1 FROM nowhere").collect()
    assert re.fullmatch(r"Spark could not finish the job: [^\n]*nowhere[^\n]*", sentence_of(error.value))
