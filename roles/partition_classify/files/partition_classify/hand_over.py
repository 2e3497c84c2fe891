# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shared storage folder for the hand-over from a driver in a cluster to the waiting host.

The driver writes the outcome, and plan and report if any; the host fetches them and removes the folder. Works
with any Hadoop file system of Spark.
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
    """The folder at a URL. Every method raises PlanError when the storage is unusable."""

    def __init__(self, url: str) -> None:
        self.url = url
        # Needs the JVM of spark-submit, but no session: policy errors occur before a session exists.
        SparkContext._ensure_initialized()
        self._jvm = cast("Any", SparkContext._jvm)
        with self._storage_errors():
            spark = self._jvm.org.apache.spark
            settings = spark.deploy.SparkHadoopUtil.get().newConfiguration(spark.SparkConf())
            self._folder = self._path(url)
            self._storage = self._folder.getFileSystem(settings)

    def put_plan(self, plan: Path) -> None:
        """Upload the plan."""
        with self._storage_errors():
            self._storage.copyFromLocalFile(False, True, self._path(str(plan)), self._child(PLAN))

    def put_report(self, folder: Path) -> None:
        """Upload the files of a report."""
        with self._storage_errors():
            for name in REPORT_FILES:
                self._storage.copyFromLocalFile(
                    False, True, self._path(str(folder / name)), self._child(name)
                )

    def put_summary(self, summary: dict[str, Any]) -> None:
        """Upload the outcome of a successful job; the last upload."""
        self._put_outcome({_SUMMARY: summary})

    def put_error(self, sentence: str) -> None:
        """Upload the outcome of a failed job."""
        self._put_outcome({_ERROR: sentence})

    def take_summary(self, folder: Path, submit_message: str) -> dict[str, Any]:
        """Download the summary. Raises PlanError with the driver's error, or if there is no outcome.

        folder: local working folder. submit_message: last message of spark-submit.
        """
        with self._storage_errors():
            if not self._storage.exists(self._child(_OUTCOME)):
                raise PlanError(
                    f"The driver has written no outcome to {self.url}"
                    + (f"; last message of spark-submit: {submit_message}" if submit_message else ""),
                    remedy="Read the log of the driver in the cluster",
                )
            self._take(_OUTCOME, folder / _OUTCOME)
        outcome: dict[str, Any] = json.loads((folder / _OUTCOME).read_bytes())
        if _ERROR in outcome:
            raise PlanError(outcome[_ERROR])
        summary: dict[str, Any] = outcome[_SUMMARY]
        return summary

    def take_plan(self, plan: Path) -> None:
        """Download the plan to a local file."""
        with self._storage_errors():
            self._take(PLAN, plan)

    def take_report(self, folder: Path) -> None:
        """Download the files of a report to a local folder."""
        with self._storage_errors():
            for name in REPORT_FILES:
                self._take(name, folder / name)

    def remove(self) -> None:
        """Remove the folder."""
        with self._storage_errors():
            self._storage.delete(self._folder, True)

    def _put_outcome(self, outcome: dict[str, Any]) -> None:
        with self._storage_errors():
            target = self._storage.create(self._child(_OUTCOME), True)
            target.write(json.dumps(outcome).encode())
            target.close()

    def _take(self, name: str, target: Path) -> None:
        # The raw local file system writes no checksum file beside the copy.
        self._storage.copyToLocalFile(False, self._child(name), self._path(str(target)), True)

    def _child(self, name: str) -> Any:
        return self._path(f"{self.url}/{name}")

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise PlanError(
                f"{self.url}: the shared storage cannot be used: {error.java_exception}".splitlines()[0],
                remedy="Give a folder writable for both the driver and the host of the play",
            ) from error
