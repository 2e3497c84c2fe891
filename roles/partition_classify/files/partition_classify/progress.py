# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Says on stderr how far the job is."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from typing import Self

_SECONDS = 10.0


def log_line(message: str) -> None:
    """One line for people."""
    sys.stderr.write(f"partition_classify: {message}\n")
    sys.stderr.flush()


def log_failure(message: str) -> None:
    """The sentence that says why the job ends; no other line is taken for it."""
    sys.stderr.write(f"partition_classify failed: {message}\n")
    sys.stderr.flush()


class StageProgress:
    """While it is entered, tells every few seconds how many tasks of the running stages are done."""

    def __init__(self, spark: SparkSession, seconds: float = _SECONDS) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Start telling."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop telling."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                lines = stage_lines(self._tracker)
            except (Py4JError, OSError):  # Spark has ended, and the job finds out by itself.
                return
            for line in lines:
                log_line(line)


def stage_lines(tracker: StatusTracker) -> list[str]:
    """A line for each stage that runs now."""
    found = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
    return [
        f"stage {info.stageId}: {info.numCompletedTasks} of {info.numTasks} tasks done"
        for info in found
        if info
    ]
