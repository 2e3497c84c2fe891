# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder on storage that a driver in a cluster shares with the host that waits for it.

The driver leaves the outcome there, and plan and report if there are any; the host takes them and removes the
folder. Any storage will do that Spark has a Hadoop file system for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from olap_partmove._partmove.errors import PlanError

from .report.files import REPORT_FILES

PLAN = "plan.jsonl"
_OUTCOME = "outcome.json"
_SUMMARY = "summary"
_ERROR = "error"


class HandOver:
    """The folder at a URL; every call raises PlanError when the storage cannot be used."""

    def __init__(self, url: str) -> None:
        self.url = url
        # Needs the JVM that spark-submit has started, but no session: a policy may have been refused before.
        SparkContext._ensure_initialized()
        self._jvm = cast("Any", SparkContext._jvm)
        with self._understood():
            spark = self._jvm.org.apache.spark
            settings = spark.deploy.SparkHadoopUtil.get().newConfiguration(spark.SparkConf())
            self._folder = self._path(url)
            self._storage = self._folder.getFileSystem(settings)

    def put_plan(self, plan: Path) -> None:
        """Leave the plan there."""
        with self._understood():
            self._storage.copyFromLocalFile(False, True, self._path(str(plan)), self._child(PLAN))

    def put_report(self, folder: Path) -> None:
        """Leave the files of a report there."""
        with self._understood():
            for name in REPORT_FILES:
                self._storage.copyFromLocalFile(
                    False, True, self._path(str(folder / name)), self._child(name)
                )

    def put_summary(self, summary: dict[str, Any]) -> None:
        """Leave the outcome of a job that has ended well; the last thing to be put."""
        self._put_outcome({_SUMMARY: summary})

    def put_error(self, sentence: str) -> None:
        """Leave the outcome of a job that was refused or failed."""
        self._put_outcome({_ERROR: sentence})

    def take_summary(self, folder: Path, told: str) -> dict[str, Any]:
        """The summary; raises PlanError with the sentence of the driver, or if it has left none.

        ``folder`` is a local one to work in, ``told`` what spark-submit said.
        """
        with self._understood():
            if not self._storage.exists(self._child(_OUTCOME)):
                raise PlanError(
                    f"The driver has left nothing in {self.url}"
                    + (f"; spark-submit said: {told}" if told else ""),
                    remedy="Read the log of the driver in the cluster",
                )
            self._take(_OUTCOME, folder / _OUTCOME)
        outcome: dict[str, Any] = json.loads((folder / _OUTCOME).read_bytes())
        if _ERROR in outcome:
            raise PlanError(outcome[_ERROR])
        summary: dict[str, Any] = outcome[_SUMMARY]
        return summary

    def take_plan(self, plan: Path) -> None:
        """Copy the plan to a local file."""
        with self._understood():
            self._take(PLAN, plan)

    def take_report(self, folder: Path) -> None:
        """Copy the files of a report to a local folder."""
        with self._understood():
            for name in REPORT_FILES:
                self._take(name, folder / name)

    def remove(self) -> None:
        """Remove the folder."""
        with self._understood():
            self._storage.delete(self._folder, True)

    def _put_outcome(self, outcome: dict[str, Any]) -> None:
        with self._understood():
            target = self._storage.create(self._child(_OUTCOME), True)
            target.write(json.dumps(outcome).encode())
            target.close()

    def _take(self, name: str, target: Path) -> None:
        # The raw local file system leaves no checksum file beside the copy.
        self._storage.copyToLocalFile(False, self._child(name), self._path(str(target)), True)

    def _child(self, name: str) -> Any:
        return self._path(f"{self.url}/{name}")

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise PlanError(
                f"{self.url}: the shared storage cannot be used: {error.java_exception}".splitlines()[0],
                remedy="Give a folder that the driver and the host of the play can both write to",
            ) from error
