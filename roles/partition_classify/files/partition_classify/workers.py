# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the Python of Spark's workers. Without its packages, workers end without a message."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pyspark.sql import SparkSession

from olap_partmove._partmove.errors import PartMoveError

from . import packages

_MOST_TASKS = 64
# Does the same as `missing_packages`, for a Python without this package on its path.
_LIST_MISSING = """
import sys
from importlib.util import find_spec
print(*[each for each in sys.argv[1:] if find_spec(each) is None])
"""


def check_python(names: Sequence[str] = packages.WORKER_PACKAGES) -> None:
    """Raise PartMoveError unless the workers' Python on this host runs and has the packages.

    Works without Spark: the Python is set in the environment by spark-submit, else it is this one. In a
    cluster, the driver's host needs it, too: one Python is configured for all hosts.
    """
    python = os.environ.get("PYSPARK_PYTHON") or sys.executable
    if shutil.which(python) == sys.executable:
        # The start script has already checked the packages of this Python.
        return
    try:
        done = subprocess.run(
            [python, "-c", _LIST_MISSING, *names], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PartMoveError(
            f"{python}, the Python of Spark's workers, cannot be run: {error}",
            remedy="Configure a Python present on the driver and all executors (role:"
            " partition_classify_python)",
        ) from error
    _refuse(python, done.stdout.split())


def check_executors(spark: SparkSession, names: Sequence[str] = packages.WORKER_PACKAGES) -> None:
    """Raise PartMoveError if a registered executor lacks one of the packages."""
    context = spark.sparkContext
    tasks = min(context.defaultParallelism, _MOST_TASKS)
    results = (
        context.parallelize(range(tasks), tasks).mapPartitions(partial(_missing_on_executor, names)).collect()
    )
    for python, lacks in sorted(results):
        _refuse(python, lacks)


def _missing_on_executor(names: Sequence[str], _numbers: Iterable[int]) -> Iterator[tuple[str, list[str]]]:
    """Run on an executor: yield the name of its Python and host, with the missing packages."""
    yield f"{sys.executable} on the executor {socket.gethostname()}", packages.missing_packages(names)


def _refuse(python: str, lacks: Sequence[str]) -> None:
    if lacks:
        raise packages.missing_packages_error(python, lacks)
