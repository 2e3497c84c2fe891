# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Log lines on stderr, and periodic progress of running Spark stages."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

_SECONDS = 10.0


def log_line(message: str) -> None:
    """Write one line for people."""
    sys.stderr.write(f"partition_classify: {message}\n")
    sys.stderr.flush()


def log_failure(message: str) -> None:
    """Write the sentence with the cause of failure; readers recognise it by its prefix."""
    sys.stderr.write(f"partition_classify failed: {message}\n")
    sys.stderr.flush()


class StageProgress:
    """Context manager: periodically logs the number of finished tasks of each running stage."""

    def __init__(self, spark: SparkSession, seconds: float = _SECONDS) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> StageProgress:
        """Start logging."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop logging."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                lines = stage_lines(self._tracker)
            except (Py4JError, OSError):  # Spark has ended; the job itself reports the error.
                return
            for line in lines:
                log_line(line)


def stage_lines(tracker: StatusTracker) -> list[str]:
    """Return a line for each running stage."""
    stages = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
    return [
        f"stage {info.stageId}: {info.numCompletedTasks} of {info.numTasks} tasks done"
        for info in stages
        if info
    ]
