# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Error messages of the job."""

from __future__ import annotations

import re

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from partition_classify.spark_errors import lost_java_message, message_of

FAILED = "Spark could not finish the job"
SEE = "(see the log of Spark for the full message)"
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
            "[PATH_NOT_FOUND] Path does not exist\nmore",
            f"{FAILED}: [PATH_NOT_FOUND] Path does not exist {SEE}",
        ),
    ],
)
def test_failure_is_one_sentence(text: str, sentence: str) -> None:
    assert message_of(PySparkException(text)) == sentence


NO_MODULE = "ModuleNotFoundError: No module named 'kazoo'"
NO_ROOM = "java.io.IOException: No space left on device"
NO_HEAP = "java.lang.OutOfMemoryError: Java heap space"
# What Spark raises where the plan is handed over, and where an executor is lost.
ABORTED = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 4 times: "
WAITED = ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat Foo\nCaused by: "
LOST = "ExecutorLostFailure (executor 4 exited caused by one of the running tasks) Reason: "
SHUT_DOWN = "org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down"
CRASHED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
NO_PYTHON = 'java.io.IOException: Cannot run program "/opt/python": error=2'


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (f"Traceback:\n{NO_MODULE}\n\tat Foo", f"or cannot load it: {NO_MODULE}. ", "on all executors."),
        (
            f"org.apache.spark.SparkException: Job aborted\n\tat Foo\nCaused by: {NO_ROOM}\n\tat Foo",
            f"A disk with Spark's temporary files is full: {NO_ROOM}. ",
            "or configure larger folders.",
        ),
        (NO_HEAP, f"Spark has too little memory: {NO_HEAP}. ", "partition_classify_spark_conf)."),
        (
            f"{WAITED}{ABORTED}Lost task 0.0 in stage 1.0 (TID 0) (h executor driver): {NO_HEAP}\n\tat Foo",
            f"Spark has too little memory: {NO_HEAP}. ",
            "partition_classify_spark_conf).",
        ),
        (
            f"{ABORTED}{LOST}Command exited with code 52\nDriver stacktrace:",
            f"Spark has too little memory: {ABORTED}{LOST}Command exited with code 52. ",
            "partition_classify_spark_conf).",
        ),
        (
            f"{ABORTED}{LOST}Container from a bad node. Exit status: 137. The executor was OOMKilled.",
            "Spark has too little memory: ",
            "partition_classify_spark_conf).",
        ),
        (f"{WAITED}{SHUT_DOWN}\n\tat Foo", f"Java process was killed: {SHUT_DOWN}. ", "_spark_conf)."),
        ("[JAVA_GATEWAY_EXITED] Java", "Java did not start for Spark; the cause is logged above: ", "PATH."),
        (f"{CRASHED}.", f"without a message: {CRASHED}. ", "run fewer tasks at once."),
        (NO_PYTHON, f"different Pythons: {NO_PYTHON}. ", "the same on the driver and all executors."),
    ],
)
def test_known_failure_has_a_remedy(text: str, what: str, remedy: str) -> None:
    sentence = message_of(PySparkException(text))
    assert what in sentence
    assert sentence.endswith(remedy)
    assert "\n" not in sentence


def test_java_that_does_not_answer_is_reported() -> None:
    assert message_of(Py4JNetworkError("Answer from Java side is empty")) == lost_java_message()
    assert lost_java_message().startswith("The Java process of Spark ended during the job")


def test_failure_of_sql_is_one_sentence(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as error:
        spark.sql("SELECT 1 FROM nowhere").collect()
    assert re.fullmatch(r"Spark could not finish the job: [^\n]*nowhere[^\n]*", message_of(error.value))
