# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a process of a divided run sends to the main process: results, progress, and how its work ended."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Generic, NamedTuple, TypeVar, Union

from .._partmove.errors import PartMoveError
from .._partmove.tree.interruption import Interrupted
from .move_jobs import Done
from .move_tally import PartitionTally

_SECONDS_BETWEEN_UPDATES = 0.2

_Tally = TypeVar("_Tally", bound=PartitionTally[Any])


class Began(NamedTuple):
    """The process began to work on a shard path."""

    shard_path: str


class Line(NamedTuple):
    """A line for people about the begin or the end of a pause, in turn."""

    text: str


@dataclass
class Update(Generic[_Tally]):
    """What became known since the last update."""

    tally: _Tally
    finished: list[str] = field(default_factory=list)
    """Shard paths whose results are in the tally."""
    unreadable: tuple[str, str] = ("", "")
    """The first shard path whose partitions cannot be listed, and a sentence about it."""
    expected: int = 0
    units: int = 0
    subunits: int = 0
    more: str = ""
    """The last text about the progress."""


class Ended(NamedTuple):
    """The process has ended its work, and closed its sessions."""

    error: PartMoveError | None
    trace: str
    """The trace of an unexpected error."""


Message = Union[Began, Line, Update[_Tally], Ended]


class ProcessLink(Generic[_Tally]):
    """The end of a process of a divided run. Implements RunProgress.

    The work ends early once ``ending`` is set: by the main process, which closes ``control`` or dies, or by
    a signal to this process.
    """

    def __init__(self, results: Connection, control: Connection, new_tally: Callable[[], _Tally]) -> None:
        """Set up the link. ``results``: receives the messages. ``control``: has one message for the start."""
        self.ending = threading.Event()
        self._results = results
        self._control = control
        self._new_tally = new_tally
        self._signal = ""
        self._pending = Update(new_tally())
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._closed = threading.Event()

    def heed_signals(self) -> None:
        """Have signals end the work in place of interrupting it."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def run(self, work: Callable[[], None]) -> None:
        """Wait for the start, work, and report the end. Does nothing if the main process ends before."""
        try:
            self._control.recv()
        except (EOFError, OSError):
            return
        threads = [threading.Thread(target=each, daemon=True) for each in (self._follow, self._send_updates)]
        for thread in threads:
            thread.start()
        ended = self._result_of(work)
        self._closed.set()
        threads[1].join()
        self._send_update()
        self._send(ended)

    def begin(self, shard_path: str) -> None:
        """Report that the work on a shard path begins."""
        self._send(Began(shard_path))

    def take(self, done: Done[_Tally]) -> None:
        """Report the result of a shard path; raise the error that ended the work on it."""
        with self._lock:
            pending = self._pending
            pending.tally.merge(done.tally)
            pending.tally.expected += done.found
            pending.finished.append(done.shard_path)
            if done.unreadable and not pending.unreadable[1]:
                pending.unreadable = done.shard_path, done.unreadable
        if done.error is not None:
            raise done.error

    def expect(self, units: int) -> None:
        """Report more units to finish."""
        with self._lock:
            self._pending.expected += units

    def add(self, units: int, subunits: int, more: str) -> None:
        """Report finished units and subunits."""
        with self._lock:
            self._pending.units += units
            self._pending.subunits += subunits
            self._pending.more = more

    def announce(self, line: str) -> None:
        """Report the begin or the end of a pause."""
        self._send(Line(line))

    def _result_of(self, work: Callable[[], None]) -> Ended:
        try:
            work()
        except PartMoveError as error:
            return Ended(error, "")
        except Interrupted:
            pass
        except BaseException:  # noqa: BLE001 - the main process raises it
            return Ended(None, traceback.format_exc())
        if self._signal and self.ending.is_set():
            text = f"Process {os.getpid()} of the run was stopped by {self._signal}"
            return Ended(
                PartMoveError(text, remedy="All steps so far remain valid; run again to continue"), ""
            )
        return Ended(None, "")

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._signal = signal.Signals(number).name
        self.ending.set()

    def _follow(self) -> None:
        """End the work when the main process asks for it, or dies."""
        with suppress(EOFError, OSError):
            self._control.recv()
        self.ending.set()

    def _send_updates(self) -> None:
        while not self._closed.wait(_SECONDS_BETWEEN_UPDATES):
            self._send_update()

    def _send_update(self) -> None:
        with self._lock:
            update, self._pending = self._pending, Update(self._new_tally())
        if update.finished or update.expected or update.units or update.subunits:
            self._send(update)

    def _send(self, message: Message[_Tally]) -> None:
        try:
            with self._sending:
                self._results.send(message)
        except OSError:
            # The main process died.
            self.ending.set()
