# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the threads of a run on one processor, whichever is idle.

Threads of one Python compute in turn. Spread over processors, each turn wakes another one, which may cost
more than the turn itself. A processor may become busy with something that cannot go elsewhere; so every few
seconds the run goes to where the system puts a thread that wakes up.
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
_TOLD_OF_THIS_THREAD = Path("/proc/thread-self/stat")
_PROCESSOR = 36
"""Place of the processor among what proc(5) says that this file tells behind the name of the thread."""


@contextmanager
def on_one_processor(seconds: float = _SECONDS) -> Iterator[None]:
    """Keep all threads of this process together; choose their processor again every so many seconds.

    Does nothing where the system cannot do that, or where threads compute at the same time.
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
    """The processor that this thread runs on. Raises OSError where the system does not tell."""
    told = _TOLD_OF_THIS_THREAD.read_text(encoding="ascii", errors="replace")
    return int(told.rpartition(")")[2].split()[_PROCESSOR])


def _allowed() -> frozenset[int]:
    """The processors that there are to choose from; none where there is nothing to gain, or no way."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    try:
        processor_now()
        return frozenset(os.sched_getaffinity(0)) if has_lock else frozenset()
    except (OSError, AttributeError, LookupError, ValueError):
        # What only saves time is no reason to fail, on a system that tells it in another way either.
        return frozenset()


def _choose(allowed: Collection[int], seconds: float, ended: threading.Event) -> None:
    while not ended.wait(seconds):
        # To an idle processor, if there is one.
        _bind(0, allowed)
        time.sleep(_WAKING_SECONDS)
        _bind_all({processor_now()})


def _bind_all(processors: Collection[int]) -> None:
    """Those that begin later are where the one is that begins them."""
    for thread in _THREADS.iterdir():
        _bind(int(thread.name), processors)


def _bind(thread: int, processors: Collection[int]) -> None:
    # The thread may have ended, and somebody may have taken the processors from the process, which is then
    # where the system has put it.
    with suppress(OSError):
        os.sched_setaffinity(thread, processors)
