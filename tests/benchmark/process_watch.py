# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory, the disk and the time of processors that the processes of Spark take while a job runs."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_SECONDS = 0.5
_KINDS = {
    "org.apache.spark.deploy.SparkSubmit": "driver, Java",
    "CoarseGrainedExecutorBackend": "executor, Java",
    "pyspark.daemon": "task, Python",
    "divided_scan": "range, Python",
    "made_up_job.py": "driver, Python",
    "classify.py": "driver, Python",
}
"""What is in the command line of a process → what it is; the first that fits."""


class ProcessWatch:
    """While it is entered, looks at all processes below a process, and at a folder."""

    def __init__(self, pid: int, folder: Path) -> None:
        """Remember what to look at."""
        self._pid = pid
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="process watch", daemon=True)
        self.peak_mb: dict[str, float] = defaultdict(float)
        """Kind of process → the most memory (RSS) that one of them had, in MiB."""
        self.together_mb = 0.0
        """The most memory (RSS) that all of them had at the same time, in MiB; shared pages count several
        times."""
        self.disk_mb = 0.0
        """The most that the files in the folder had, in MiB."""
        self._ticks: dict[tuple[str, str], int] = {}

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """Kind of process → the time of processors that all of them took, but for their last half second."""
        found: dict[str, float] = defaultdict(float)
        for (kind, _process), ticks in self._ticks.items():
            found[kind] += ticks / os.sysconf("SC_CLK_TCK")
        return dict(found)

    def __enter__(self) -> Self:
        """Start looking."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_SECONDS):
            together = 0.0
            for pid in _below(self._pid):
                with suppress(FileNotFoundError, ProcessLookupError):
                    together += self._look(Path("/proc", str(pid)))
            self.together_mb = max(self.together_mb, together)
            self.disk_mb = max(self.disk_mb, _size(self._folder) / (1 << 20))

    def _look(self, process: Path) -> float:
        """Note what a process takes; return the memory of a known one, in MiB."""
        command = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        kind = next((kind for mark, kind in _KINDS.items() if mark in command), None)
        lines = process.joinpath("status").read_text().splitlines()
        peaks = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")]
        if kind is None:
            return 0.0
        self.peak_mb[kind] = max(self.peak_mb[kind], *peaks, 0.0)
        # Numbers are given again: the 22nd field is when it was started.
        fields = process.joinpath("stat").read_text().rpartition(")")[2].split()
        self._ticks[kind, f"{process.name} {fields[19]}"] = int(fields[11]) + int(fields[12])
        return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _below(pid: int) -> Iterator[int]:
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(stat.parent.name))
    waiting = list(children[pid])
    while waiting:
        found = waiting.pop()
        yield found
        waiting += children[found]


def _size(folder: Path) -> int:
    size = 0
    # Unlike rglob it goes on where a folder is removed meanwhile.
    for place, _folders, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).stat().st_blocks * 512
    return size
