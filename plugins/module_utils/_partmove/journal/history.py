# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries a journal: the history of a partition, a shard path or a run.

A journal may be larger than memory. So it is read line by line, and only the runs and the newest matching
events are kept.
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
    """The requested events. None accepts every value."""

    shard_path: str | None = None
    partition: str | None = None
    """A partition of the shard path; events about the whole shard path match, too."""
    run: str | None = None
    since: str | None = None
    """A prefix of the time of a line, as `parse_moment` returns."""

    def matches(self, line: JournalLine) -> bool:
        """Whether the line is a requested event."""
        if self.run not in (None, line.run) or (self.since is not None and line.time < self.since):
            return False
        if self.shard_path is None:
            return True
        path, partition = line.fields.get("shard_path"), line.fields.get("partition", self.partition)
        return path == self.shard_path and self.partition in (None, partition)


def parse_moment(text: str, setting: str) -> str:
    """Convert a date or time in UTC to a prefix of the time of lines. Raises FormatError for other text.

    setting: the name of the option, for the message.

    >>> parse_moment("2026-11-22", "since"), parse_moment("2026-11-22 06:45:00+00:00", "since")
    ('2026-11-22', '2026-11-22T06:45:00')
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise FormatError(
            f"{setting} is {text!r}, which is no time in UTC",
            remedy="Write the time as 2026-11-22 or 2026-11-22T06:45:00Z",
        )
    return "T".join(filter(None, match.groups()))


class History:
    """Collects the requested events and their runs. ``most``: only so many of the last events are kept."""

    def __init__(self, query: HistoryQuery, most: int) -> None:
        self.incomplete: list[int] = []
        """Numbers of unfinished lines, written by killed runs or to full disks."""
        self.matched = 0
        """Number of requested events, also of those not kept."""
        self._query = query
        self._newest: deque[dict[str, Any]] = deque(maxlen=most)
        self._runs: dict[str, dict[str, Any]] = {}
        self._matched_runs: set[str] = set()
        """Ids of the runs with a requested event."""

    def read(self, lines: Iterable[bytes], where: str) -> None:
        """Read the lines of a file; empty lines are skipped. ``where``: the file, for messages.

        Raises FormatError for lines of another format.
        """
        for number, line in read_lines(lines, where):
            if line is None:
                self.incomplete.append(number)
            else:
                self._add(line)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The kept events, sorted by time."""
        return sorted(self._newest, key=itemgetter("time"))

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The runs of the requested events, sorted by the time of each run's first line in the file."""
        runs = [run for name, run in self._runs.items() if name in self._matched_runs]
        return sorted(runs, key=itemgetter("began", "run"))

    def _add(self, line: JournalLine) -> None:
        run = self._runs.setdefault(line.run, _new_run(line))
        if line.event is Event.STARTED:
            run["started"] = dict(line.fields)
        elif line.event is Event.ENDED:
            error, counts = line.fields["error"], line.fields["counts"]
            outcome = FAILED if error or counts.get("failed") else COMPLETED
            run.update(ended=line.time, outcome=outcome, error=error, counts=counts)
        if self._query.matches(line):
            self._matched_runs.add(line.run)
            self.matched += 1
            self._newest.append(
                {"time": line.time, "run": line.run, "event": line.event.value, **line.fields}
            )


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
