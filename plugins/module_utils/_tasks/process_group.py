# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The processes of a divided run, as its main process sees them.

The processes are forked before the main process has other threads or sessions, and wait for its checks. The
main process then takes their results. A process that fails or dies ends the work of all.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, TypeVar

from .._partmove.errors import PartMoveError
from .._partmove.text import first_few
from .move_tally import PartitionTally
from .process_link import Began, Line, Message, ProcessLink, Update

_Tally = TypeVar("_Tally", bound=PartitionTally[Any])

_MOST_NAMED = 20
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


@dataclass
class _Process:
    pid: int
    results: Connection
    control: Connection
    begun: set[str] = field(default_factory=set)
    """Shard paths in progress, as far as reported."""
    has_ended: bool = False
    """Whether its last message was received."""


class ProcessGroup(Generic[_Tally]):
    """Processes that wait for their start."""

    def __init__(
        self,
        processes: int,
        new_tally: Callable[[], _Tally],
        work: Callable[[int, ProcessLink[_Tally]], None],
    ) -> None:
        """Fork the processes. ``work`` receives the number of the process, counted from 0."""
        self._processes: list[_Process] = []
        self._paused: set[int] = set()
        self._error: BaseException | None = None
        self._stopping = threading.Lock()
        self._all_ended = threading.Event()
        # A signal between the fork and the handlers of the child would run the cleanup of this process twice.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            for number in range(processes):
                self._fork(number, new_tally, work, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _fork(
        self,
        number: int,
        new_tally: Callable[[], _Tally],
        work: Callable[[int, ProcessLink[_Tally]], None],
        mask: set[Any],
    ) -> None:
        results, child_results = Pipe(duplex=False)
        child_control, control = Pipe(duplex=False)
        pid = os.fork()
        if pid:
            child_results.close()
            child_control.close()
            self._processes.append(_Process(pid, results, control))
            return
        status = 1
        try:
            # With these ends open here, other processes would not notice the end of the main process.
            for connection in (results, control, *(each.control for each in self._processes)):
                connection.close()
            link = ProcessLink(child_results, child_control, new_tally)
            link.heed_signals()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            link.run(lambda: work(number, link))
            status = 0
        except BaseException:  # noqa: BLE001 - nothing of the main process may run in this one
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def carry_out(self, take: Callable[[Update[_Tally]], None], announce: Callable[[str], None]) -> None:
        """Start the processes, and take their updates until all of them have ended.

        announce: receives a line when the first process begins a pause, and when the last one ends it.
        Raises the first error of a process, and errors of ``take`` and of signals; all processes have ended
        before.
        """
        for each in self._processes:
            try:
                each.control.send(None)
            except OSError:
                # The process died; the collector reports it.
                continue
        # An exception of a signal interrupts this thread only, and never the reading of a message.
        collector = threading.Thread(target=self._collect, args=(take, announce), name="collector")
        collector.start()
        try:
            self._all_ended.wait()
        except BaseException:
            self.stop()
            raise
        finally:
            collector.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Have the processes end their work early, as a signal ends a run of one process."""
        with self._stopping:
            for each in self._processes:
                each.control.close()

    def close(self) -> None:
        """Stop the processes, and wait for those that were never started."""
        self.stop()
        if not self._all_ended.is_set():
            for each in self._processes:
                os.waitpid(each.pid, 0)
                each.results.close()

    def _collect(self, take: Callable[[Update[_Tally]], None], announce: Callable[[str], None]) -> None:
        running = {each.results: each for each in self._processes}
        while running:
            for connection in wait([*running]):
                process = running[connection]  # type: ignore[index]
                try:
                    message: Message[_Tally] = process.results.recv()
                except (EOFError, OSError):
                    del running[process.results]
                    self._reap(process)
                    continue
                try:
                    self._receive(process, message, take, announce)
                except BaseException as error:  # noqa: BLE001 - `carry_out` raises it
                    self._fail(error)
        self._all_ended.set()

    def _receive(
        self,
        process: _Process,
        message: Message[_Tally],
        take: Callable[[Update[_Tally]], None],
        announce: Callable[[str], None],
    ) -> None:
        if isinstance(message, Began):
            process.begun.add(message.shard_path)
        elif isinstance(message, Line):
            was_paused = bool(self._paused)
            # The lines of a process are about the begin and the end of its pauses, in turn.
            self._paused ^= {process.pid}
            if was_paused != bool(self._paused):
                announce(message.text)
        elif isinstance(message, Update):
            process.begun.difference_update(message.finished)
            take(message)
        else:
            process.has_ended = True
            self._paused.discard(process.pid)
            if message.error is not None:
                raise message.error
            if message.trace:
                raise RuntimeError(f"Process {process.pid} of the run failed:\n{message.trace}")

    def _reap(self, process: _Process) -> None:
        process.results.close()
        _pid, status = os.waitpid(process.pid, 0)
        if not process.has_ended:
            self._fail(_died(process.pid, os.waitstatus_to_exitcode(status), sorted(process.begun)))

    def _fail(self, error: BaseException) -> None:
        """End the work of all processes. The first error counts: later ones may be consequences."""
        self._error = self._error or error
        self.stop()


def _died(pid: int, code: int, begun: Sequence[str]) -> PartMoveError:
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit status {code}"
    where = f", while it worked on {first_few(begun, _MOST_NAMED)}" if begun else ""
    return PartMoveError(
        f"Process {pid} of the run was ended {how}{where}. Its last results are in the journal only",
        remedy="Find out whether the memory ran out, or give fewer processes. Run again to continue:"
        " nothing is half done",
    )
