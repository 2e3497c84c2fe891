# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages for failed Spark jobs."""

from __future__ import annotations

import re
from typing import NamedTuple

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

# Last line of a worker's traceback for an error of this collection.
_COLLECTION_ERROR = re.compile(r"^(?:olap_partmove|partition_classify)\.[\w.]+: (.+)$", re.MULTILINE)
# Start of an error message; its consequences, such as "Job aborted", may precede it on the same line.
_NAME = re.compile(r"\b(?:\w+\.)*\w*(?:Error|Exception)\b")
# Java errors outside of a query are preceded by a colon.
_OTHER_ERROR = re.compile(r"^(?:: )?(\w[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)


class _KnownFailure(NamedTuple):
    """A common failure: pattern in Spark's output, description and remedy."""

    sign: re.Pattern[str]
    what: str
    remedy: str


_MEMORY = "Raise spark.driver.memory and spark.executor.memory (role: partition_classify_spark_conf)"
_KNOWN_FAILURES = (
    _KnownFailure(
        re.compile("No space left on device|Disk quota exceeded"),
        "A disk with Spark's temporary files is full",
        "Free space in spark.local.dir and TMPDIR of driver and executors, or configure larger folders",
    ),
    _KnownFailure(
        re.compile(
            "OutOfMemoryError|INVALID_(?:DRIVER|EXECUTOR)_MEMORY|OutOfMemory|GC overhead limit"
            # Exit codes of executors without memory: their own, and when killed by the cluster.
            r"|exit(?:ed with)?(?: a non-zero exit)? code:? (?:52|137)\b"
            r"|OOMKilled|exceeding (?:physical )?memory"
        ),
        "Spark has too little memory",
        _MEMORY,
    ),
    _KnownFailure(
        re.compile("JAVA_GATEWAY_EXITED"),
        "Java did not start for Spark; the cause is logged above",
        "Install a JRE 17; set JAVA_HOME to it unless it is the java in PATH",
    ),
    _KnownFailure(
        re.compile("No module named|PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION|ImportError"),
        "The Python of an executor lacks a package of the job, or cannot load it",
        "Install pyarrow, pandas, kazoo and PyYAML for the Python in partition_classify_python, on all"
        " executors",
    ),
    _KnownFailure(
        re.compile("PYTHON_VERSION_MISMATCH|Cannot run program"),
        "Driver and executors run different Pythons",
        "Set partition_classify_python to a Python that is the same on the driver and all executors",
    ),
    _KnownFailure(
        re.compile("Python worker exited unexpectedly|Python worker failed to connect back|Connection reset"),
        "A Python process of Spark was killed, or ended without a message",
        "See the log of the executors; if the kernel killed it for lack of memory, run fewer tasks at once",
    ),
    _KnownFailure(
        re.compile("SparkContext was shut down|stopped SparkContext"),
        "Spark ended during the job, for example because its Java process was killed",
        _MEMORY,
    ),
)


def message_of(error: PySparkException | Py4JError) -> str:
    """Return the message of a worker's own error; else of a known failure; else Spark's message."""
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
    return f"Spark could not finish the job: {reason} (see the log of Spark for the full message)"


def lost_java_message() -> str:
    """Return the message for a Java process of Spark that no longer answers."""
    return f"The Java process of Spark ended during the job, for example because it was killed. {_MEMORY}."


def _message_at(text: str, at: int) -> str:
    """Return the line at position ``at``, from the name of the error on; omits preceding text."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:].split("\n", 1)[0]
    names = [name.start() for name in _NAME.finditer(line) if name.start() <= at - begin]
    return line[names[-1] if names else 0 :].strip().rstrip(".")
