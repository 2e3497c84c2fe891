# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the threads of a run together on one idle processor.

Only one thread of a Python process computes at a time. With threads on several processors, each switch wakes
another processor, which may cost more than the computation. A process that cannot move may start to use the
chosen processor. Therefore every few seconds the run moves to the processor on which the system places a
thread that wakes up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS = 5.0
_WAKING_SECONDS = 0.001
_THREADS = Path("/proc/self/task")
_THIS_THREAD = Path("/proc/thread-self/stat")
_PROCESSOR = 36
"""Index of the processor among the fields that follow the name of the thread, see proc(5)."""


@contextmanager
def on_one_processor(seconds: float = _SECONDS) -> Iterator[None]:
    """Keep all threads of this process on one processor, and choose this processor anew every ``seconds``.

    Does nothing without support by the system, and if this Python computes in several threads at a time.
    """
    allowed = _allowed()
    if len(allowed) < 2:
        yield
        return
    ended = threading.Event()
    chooser = threading.Thread(
        target=_choose, args=(allowed, seconds, ended), name="one-processor", daemon=True
    )
    _bind_all({processor_now()})
    chooser.start()
    try:
        yield
    finally:
        ended.set()
        chooser.join()
        _bind_all(allowed)


def processor_now() -> int:
    """Return the processor that runs this thread. Raises OSError if the system does not report it."""
    stat_line = _THIS_THREAD.read_text(encoding="ascii", errors="replace")
    return int(stat_line.rpartition(")")[2].split()[_PROCESSOR])


def _allowed() -> frozenset[int]:
    """Return the processors to choose from; none without benefit or without support."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    try:
        processor_now()
        return frozenset(os.sched_getaffinity(0)) if has_lock else frozenset()
    except (OSError, AttributeError, LookupError, ValueError):
        # An optimisation must not fail, also on a system with another format of the file.
        return frozenset()


def _choose(allowed: Collection[int], seconds: float, ended: threading.Event) -> None:
    while not ended.wait(seconds):
        # Without a restriction the system wakes this thread on an idle processor, if there is one.
        _bind(0, allowed)
        time.sleep(_WAKING_SECONDS)
        _bind_all({processor_now()})


def _bind_all(processors: Collection[int]) -> None:
    """Bind all threads. A new thread inherits the processor of its creator."""
    for thread in _THREADS.iterdir():
        _bind(int(thread.name), processors)


def _bind(thread: int, processors: Collection[int]) -> None:
    # The thread may have ended, or the process may have lost these processors: then the system places the
    # thread.
    with suppress(OSError):
        os.sched_setaffinity(thread, processors)
