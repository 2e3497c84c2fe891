# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a journal answers: what was done to a partition, when, and by which run.

A journal is read line by line, so that it may be larger than memory. What is kept are the runs and the newest
of the events that were asked for.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from ..errors import FormatError
from .events import Event
from .lines import (
    JournalLine,
    read_lines,
)

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?)(?:Z|\+00:00)?)?",
    re.ASCII,
)

COMPLETED = "completed"
FAILED = "failed"
NOT_ENDED = "not_ended"


class HistoryQuery(NamedTuple):
    """Which events are asked for; None stands for any."""

    shard_path: str | None = None
    partition: str | None = None
    """Of the shard path; events that are about the whole shard path are about it, too."""
    run: str | None = None
    since: str | None = None
    """The beginning of a time as lines have it."""

    def is_met_by(self, line: JournalLine) -> bool:
        """Whether the line is one that is asked for."""
        if self.run not in (None, line.run) or (self.since is not None and line.time < self.since):
            return False
        if self.shard_path is None:
            return True
        path, partition = line.fields.get("shard_path"), line.fields.get("partition", self.partition)
        return path == self.shard_path and self.partition in (None, partition)


def parse_moment(text: str, setting: str) -> str:
    """The beginning of a time in UTC as lines have it; raises FormatError for other text.

    >>> parse_moment("2026-11-22", "since"), parse_moment("2026-11-22 06:45:00+00:00", "since")
    ('2026-11-22', '2026-11-22T06:45:00')
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise FormatError(
            f"{setting} is {text!r}, which is no time in UTC",
            remedy="Write it as 2026-11-22 or 2026-11-22T06:45:00Z",
        )
    return "T".join(filter(None, found.groups()))


class History:
    """Takes in the lines of a journal. ``most`` is how many events are kept, the newest of the file."""

    def __init__(self, wanted: HistoryQuery, most: int) -> None:
        self.incomplete: list[int] = []
        """Numbers of the lines that were cut off when a run was killed, or a disk was full."""
        self.found = 0
        """How many events were asked for."""
        self._wanted = wanted
        self._kept: deque[dict[str, Any]] = deque(maxlen=most)
        self._runs: dict[str, dict[str, Any]] = {}
        self._told: set[str] = set()
        """Ids of runs with an event that was asked for."""

    def read(self, lines: Iterable[bytes], where: str) -> None:
        """Take in the lines, but for empty ones, of a file that messages call ``where``.

        Raises FormatError for what is no journal.
        """
        for number, line in read_lines(lines, where):
            if line is None:
                self.incomplete.append(number)
            else:
                self._add(line)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that were kept, by time."""
        return sorted(self._kept, key=itemgetter("time"))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs of the events that were asked for, by the time of the first line that is there of each."""
        runs = [run for name, run in self._runs.items() if name in self._told]
        return sorted(runs, key=itemgetter("began", "run"))

    def _add(self, line: JournalLine) -> None:
        run = self._runs.setdefault(line.run, _new_run(line))
        if line.event is Event.STARTED:
            run["started"] = dict(line.fields)
        elif line.event is Event.ENDED:
            error, counts = line.fields["error"], line.fields["counts"]
            outcome = FAILED if error or counts.get("failed") else COMPLETED
            run.update(ended=line.time, outcome=outcome, error=error, counts=counts)
        if self._wanted.is_met_by(line):
            self._told.add(line.run)
            self.found += 1
            self._kept.append({"time": line.time, "run": line.run, "event": line.event.value, **line.fields})


def _new_run(line: JournalLine) -> dict[str, Any]:
    return {
        "run": line.run,
        "began": line.time,
        "ended": None,
        "outcome": NOT_ENDED,
        "error": "",
        "counts": {},
        "started": None,
    }
