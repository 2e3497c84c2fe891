# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a failed Spark job says to a person."""

from __future__ import annotations

import re
from typing import NamedTuple

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

# How Python ends the traceback of an error of this collection that was raised on a worker.
_COLLECTION_ERROR = re.compile(r"^(?:olap_partmove|partition_classify)\.[\w.]+: (.+)$", re.MULTILINE)
# What begins the words of an error; on its line may be what came of it before, "Job aborted" and the like.
_NAME = re.compile(r"\b(?:\w+\.)*\w*(?:Error|Exception)\b")
# A colon comes before what Java raised without a query around it.
_OTHER_ERROR = re.compile(r"^(?:: )?(\w[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)


class _KnownFailure(NamedTuple):
    """A failure that people meet: how Spark tells of it, what it is, and the way out."""

    sign: re.Pattern[str]
    what: str
    remedy: str


_MEMORY = (
    "Give it more memory, in the role with spark.driver.memory and spark.executor.memory of"
    " partition_classify_spark_conf"
)
_KNOWN_FAILURES = (
    _KnownFailure(
        re.compile("No space left on device|Disk quota exceeded"),
        "A disk that Spark keeps temporary files on is full",
        "Make room in spark.local.dir and TMPDIR of the driver and the executors, or name larger folders",
    ),
    _KnownFailure(
        re.compile(
            "OutOfMemoryError|INVALID_(?:DRIVER|EXECUTOR)_MEMORY|OutOfMemory|GC overhead limit"
            # So end an executor that found no memory, and one that its cluster ends for what it takes.
            r"|exit(?:ed with)?(?: a non-zero exit)? code:? (?:52|137)\b"
            r"|OOMKilled|exceeding (?:physical )?memory"
        ),
        "Spark has too little memory",
        _MEMORY,
    ),
    _KnownFailure(
        re.compile("JAVA_GATEWAY_EXITED"),
        "Java did not start for Spark, which said why above",
        "Install a JRE 17, and let JAVA_HOME name it if it is not the one in PATH",
    ),
    _KnownFailure(
        re.compile("No module named|PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION|ImportError"),
        "The Python of an executor lacks a package that the job needs, or has one that cannot be loaded",
        "Install pyarrow, pandas, kazoo and PyYAML for the Python that is named as partition_classify_python,"
        " on all executors",
    ),
    _KnownFailure(
        re.compile("PYTHON_VERSION_MISMATCH|Cannot run program"),
        "The executors do not run the Python that the driver runs",
        "Name one as partition_classify_python that is the same on the driver and all executors",
    ),
    _KnownFailure(
        re.compile("Python worker exited unexpectedly|Python worker failed to connect back|Connection reset"),
        "A Python process of Spark has ended, killed or without a word",
        "See the log of the executors; if the kernel killed it for its memory, let fewer tasks run at once",
    ),
    _KnownFailure(
        re.compile("SparkContext was shut down|stopped SparkContext"),
        "Spark was ended while the job ran, as it is when its Java process is killed",
        _MEMORY,
    ),
)


def message_of(error: PySparkException | Py4JError) -> str:
    """The sentence of the error that a worker met; else what is known of it; else what Spark says."""
    text = str(error)
    ours = _COLLECTION_ERROR.findall(text)
    if ours:
        return str(ours[-1])
    if not isinstance(error, (PySparkException, Py4JJavaError)):
        return lost_java_message()
    python = _OTHER_ERROR.findall(text)
    reason = (python[-1] if python else text.strip().splitlines()[0]).rstrip(".")
    for each in _KNOWN_FAILURES:
        for words in (reason, text):
            if sign := each.sign.search(words):
                return f"{each.what}: {_message_at(words, sign.start())}. {each.remedy}."
    return f"Spark could not finish the job: {reason} (see the log of Spark for all of it)"


def lost_java_message() -> str:
    """What is said where the Java process of Spark does not answer any more."""
    return f"The Java process of Spark has ended while the job ran, as it does when it is killed. {_MEMORY}."


def _message_at(text: str, at: int) -> str:
    """The line of the text that is there, without what it says before the error that is meant."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:].split("\n", 1)[0]
    names = [name.start() for name in _NAME.finditer(line) if name.start() <= at - begin]
    return line[names[-1] if names else 0 :].strip().rstrip(".")
