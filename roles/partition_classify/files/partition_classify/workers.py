# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the Python processes that Spark starts have what they need. Without it they end without a word."""

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
# What `missing` does, for a Python that does not have this package on its path.
_LIST_MISSING = """
import sys
from importlib.util import find_spec
print(*[each for each in sys.argv[1:] if find_spec(each) is None])
"""


def check_python(names: Sequence[str] = packages.WORKER_PACKAGES) -> None:
    """Raise PartMoveError unless the Python that workers of this host have can be run and has the packages.

    Spark need not run: it is that of the environment, which spark-submit sets, or else this one. The host of
    the driver has to have it in a cluster too, as one Python is named for all.
    """
    python = os.environ.get("PYSPARK_PYTHON") or sys.executable
    if shutil.which(python) == sys.executable:
        # Who started this program has looked for the packages.
        return
    try:
        done = subprocess.run(
            [python, "-c", _LIST_MISSING, *names], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PartMoveError(
            f"{python}, the Python of the workers of Spark, cannot be run: {error}",
            remedy="Name one that is there on the driver and all executors, in the role as"
            " partition_classify_python",
        ) from error
    _refuse(python, done.stdout.split())


def check_executors(spark: SparkSession, names: Sequence[str] = packages.WORKER_PACKAGES) -> None:
    """Raise PartMoveError where an executor that is there by now has not all of the packages."""
    context = spark.sparkContext
    tasks = min(context.defaultParallelism, _MOST_TASKS)
    found = (
        context.parallelize(range(tasks), tasks).mapPartitions(partial(_missing_on_executor, names)).collect()
    )
    for python, lacks in sorted(found):
        _refuse(python, lacks)


def _missing_on_executor(names: Sequence[str], _numbers: Iterable[int]) -> Iterator[tuple[str, list[str]]]:
    """Runs on an executor: which Python that is, where, and which packages it does not have."""
    yield f"{sys.executable} on the executor {socket.gethostname()}", packages.missing_packages(names)


def _refuse(python: str, lacks: Sequence[str]) -> None:
    if lacks:
        raise packages.missing_packages_error(python, lacks)
