# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Progress of a run for people: how much is done, at which rate, and how long the rest will take."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from os import O_APPEND, O_CREAT, O_WRONLY, fdopen, open as open_file
from typing import Protocol, TextIO

from .._partmove.journal.events import Event
from .._partmove.journal.port import Journal
from .._partmove.tree.ports import Clock

_SECONDS_BETWEEN_LINES = 2.0
_FINISHED = (Event.MOVED, Event.REHEATED, Event.COPIES_REMOVED, Event.TWIN_MOVED)
"""Journal events that mark a partition as finished. Deferred and unchanged partitions emit none."""


class ProgressFile:
    """Appends lines about the progress of a run to a file that the action plugin reads."""

    def __init__(self, path: str | None, clock: Clock, stack: ExitStack) -> None:
        """Open the file; only the owner may read a new file. Without a path nothing is written."""
        self._clock = clock
        self._last_line_at = clock.now()
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        if path is not None:
            descriptor = open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
            self._file = stack.enter_context(fdopen(descriptor, "a", encoding="utf-8"))

    @property
    def is_due(self) -> bool:
        """Whether the last line is old enough to write the next one."""
        return self._file is not None and self._clock.now() - self._last_line_at >= _SECONDS_BETWEEN_LINES

    def announce(self, line: str) -> None:
        """Append the line."""
        with self._lock:
            if self._file is not None:
                self._last_line_at = self._clock.now()
                self._file.write(f"{line}\n")
                self._file.flush()


class RunProgress(Protocol):
    """Receives the progress of a run."""

    def expect(self, units: int) -> None:
        """Add to the number of units to finish."""

    def add(self, units: int, subunits: int, more: str) -> None:
        """Add finished units and subunits. ``more``: where the run is."""


class Progress:
    """Implements RunProgress: adds up finished work over all threads of a run.

    units: name of the things to finish, such as partitions. subunits: name of their contents, such as parts.
    """

    def __init__(self, file: ProgressFile, clock: Clock, units: str, subunits: str) -> None:
        self._file = file
        self._clock = clock
        self._units = units
        self._subunits = subunits
        self._began = clock.now()
        self._lock = threading.Lock()
        self._expected = 0
        self._done = 0
        self._subunits_done = 0

    def expect(self, units: int) -> None:
        """Add to the number of units to finish. Until the first call the total is unknown."""
        with self._lock:
            self._expected += units

    def add(self, units: int, subunits: int, more: str) -> None:
        """Add finished units and subunits. If a line is due, write the totals and ``more``."""
        with self._lock:
            self._done += units
            self._subunits_done += subunits
            if self._file.is_due:
                self.announce(f"{self._line()}; {more}")

    def announce(self, line: str) -> None:
        """Write a line now, even if none is due."""
        self._file.announce(line)

    def _line(self) -> str:
        """Return a line such as ``250 of 1,000 partitions (25 %), 750 parts, 1,500 parts/s, 2 s left``."""
        seconds = max(self._clock.now() - self._began, 0.001)
        known = bool(self._expected)
        of = f" of {self._expected:,}" if known else ""
        percent = f" ({self._done * 100 // self._expected} %)" if known else ""
        texts = [f"{self._done:,}{of} {self._units}{percent}"]
        if self._subunits_done:
            texts += [f"{self._subunits_done:,} {self._subunits}"]
            texts += [f"{self._subunits_done / seconds:,.0f} {self._subunits}/s"]
        else:
            texts += [f"{self._done / seconds:,.1f} {self._units}/s"]
        if known and 0 < self._done < self._expected:
            texts.append(f"{shown_duration(seconds * (self._expected - self._done) / self._done)} left")
        return ", ".join(texts)


class ProgressJournal:
    """Implements Journal: passes events on to a journal, and adds finished partitions to the progress."""

    def __init__(self, journal: Journal, progress: RunProgress, more: str) -> None:
        self._journal = journal
        self._progress = progress
        self._more = more
        self.partitions = 0
        """Number of finished partitions recorded so far."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Record the rows, and count the partitions that they mark as finished."""
        if event not in _FINISHED:
            self._journal.record(event, rows)
            return
        done = [*rows]
        self._journal.record(event, done)
        parts = [each.get("parts", 0) for each in done]
        self.partitions += len(done)
        self._progress.add(len(done), sum(each for each in parts if isinstance(each, int)), self._more)


def shown_duration(seconds: float) -> str:
    """Return the duration in its two largest units, for people.

    >>> shown_duration(4.2), shown_duration(200), shown_duration(7300)
    ('4 s', '3 min 20 s', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
