# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends what a test run has started of Spark when the run was killed.

Servers die with the thread that started them (support.servers.process). Spark starts its processes itself,
and some of them in sessions of their own, where no signal of the run reaches them. All inherit the
environment of the run, though. So a process outside of the run waits for its end, and looks for them by a
variable. This file is the program of that process as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

MARK = "PARTMOVE_TEST_RUN"
"""The variable of the environment that all processes of a run have, with a value of the run's own."""

# What a command of Spark has in it: its classes, its Python processes, or the program that the role starts.
_OF_SPARK = (b"org.apache.spark", b"pyspark", b"partition_classify")
# Workers of the run may need that long to find that it was killed, and start something until then.
_SECONDS = 120
_POLL_SECONDS = 1.0
_ENDED = b"ended"


class Reaper:
    """Waits beside a run that is this process."""

    def __init__(self) -> None:
        """Start it; what this process starts from now on belongs to the run."""
        run = uuid.uuid4().hex
        self._process = subprocess.Popen(
            [sys.executable, "-IS", __file__, run], stdin=subprocess.PIPE, start_new_session=True
        )
        os.environ[MARK] = run

    def dismiss(self) -> None:
        """Say that the run has ended well; what it has left running is left, so that it is noticed."""
        assert self._process.stdin is not None
        self._process.stdin.write(_ENDED)
        self._process.stdin.close()
        self._process.wait()


def _reap(run: str) -> None:
    mark = f"{MARK}={run}".encode()
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for folder in Path("/proc").glob("[0-9]*"):
            # It may have ended meanwhile, or be somebody else's.
            with suppress(OSError):
                marked = mark in (folder / "environ").read_bytes().split(b"\0")
                if marked and any(sign in (folder / "cmdline").read_bytes() for sign in _OF_SPARK):
                    os.kill(int(folder.name), signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    # The end of the input is the end of the run, whatever ended it.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != _ENDED:
        _reap(sys.argv[1])
