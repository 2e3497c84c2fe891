# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far a run is, for people: how much of it is done, how fast it goes, and how long the rest will take."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from os import O_APPEND, O_CREAT, O_WRONLY, fdopen, open as open_file
from typing import TextIO

from .._partmove.journal.events import Event
from .._partmove.journal.port import Journal
from .._partmove.tree.ports import Clock

_SECONDS_BETWEEN_LINES = 2.0
_STEPS = (Event.MOVED, Event.REHEATED, Event.COPIES_REMOVED, Event.TWIN_MOVED)
"""Journal events that mark a partition as finished. Deferred and unchanged partitions emit none."""


class ProgressFile:
    """Tells somebody who may be looking how far a run is, by lines that are appended to a file."""

    def __init__(self, path: str | None, clock: Clock, stack: ExitStack) -> None:
        """Nothing is told without a path; a file that is made here may be read by its owner alone."""
        self._clock = clock
        self._told = clock.now()
        self._turn = threading.Lock()
        self._file: TextIO | None = None
        if path is not None:
            descriptor = open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
            self._file = stack.enter_context(fdopen(descriptor, "a", encoding="utf-8"))

    @property
    def is_due(self) -> bool:
        """Whether the last line is old enough to have been read."""
        return self._file is not None and self._clock.now() - self._told >= _SECONDS_BETWEEN_LINES

    def announce(self, line: str) -> None:
        """Append the line."""
        with self._turn:
            if self._file is not None:
                self._told = self._clock.now()
                self._file.write(f"{line}\n")
                self._file.flush()


class Progress:
    """Adds up what is done, over all threads of a run.

    things: what there is to do, such as partitions. pieces: what these consist of, such as parts.
    """

    def __init__(self, file: ProgressFile, clock: Clock, things: str, pieces: str) -> None:
        self._file = file
        self._clock = clock
        self._things = things
        self._pieces = pieces
        self._began = clock.now()
        self._turn = threading.Lock()
        self._expected = 0
        self._done = 0
        self._pieces_done = 0

    def expect(self, things: int) -> None:
        """There are so many things more to do; without any nobody knows how many there are."""
        with self._turn:
            self._expected += things

    def add(self, things: int, pieces: int, more: str) -> None:
        """So many things are done, and ``more`` is to be told besides; a line is written if one is due."""
        with self._turn:
            self._done += things
            self._pieces_done += pieces
            if self._file.is_due:
                self.announce(f"{self._line()}; {more}")

    def announce(self, line: str) -> None:
        """Write a line in any case."""
        self._file.announce(line)

    def _line(self) -> str:
        """Such as ``250 of 1,000 partitions (25 %), 750 parts, 1,500 parts/s, 2 s left``."""
        seconds = max(self._clock.now() - self._began, 0.001)
        known = bool(self._expected)
        of = f" of {self._expected:,}" if known else ""
        share = f" ({self._done * 100 // self._expected} %)" if known else ""
        told = [f"{self._done:,}{of} {self._things}{share}"]
        if self._pieces_done:
            told += [f"{self._pieces_done:,} {self._pieces}"]
            told += [f"{self._pieces_done / seconds:,.0f} {self._pieces}/s"]
        else:
            told += [f"{self._done / seconds:,.1f} {self._things}/s"]
        if known and 0 < self._done < self._expected:
            told.append(f"{_duration(seconds * (self._expected - self._done) / self._done)} left")
        return ", ".join(told)


class ProgressJournal:
    """Implements Journal: hands on what a run does, and adds it to the progress."""

    def __init__(self, journal: Journal, progress: Progress, more: str) -> None:
        self._journal = journal
        self._progress = progress
        self._more = more
        self.partitions = 0
        """How many partitions were added."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Record the rows, and count those that say that something is done."""
        if event not in _STEPS:
            self._journal.record(event, rows)
            return
        done = [*rows]
        self._journal.record(event, done)
        parts = [each.get("parts", 0) for each in done]
        self.partitions += len(done)
        self._progress.add(len(done), sum(each for each in parts if isinstance(each, int)), self._more)


def _duration(seconds: float) -> str:
    """A time in its two largest units.

    >>> _duration(4.2), _duration(200), _duration(7300)
    ('4 s', '3 min 20 s', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
