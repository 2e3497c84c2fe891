# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which rows a table must have, may have and must not have.

The file rows.jsonl is written ahead: one line before an insert is sent, one line with its outcome. A row
whose insert failed may be there or not, but never twice.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from .config import Config, read_dropped

_SHOWN = 5


@dataclass
class Rows:
    """The rows of one table on one shard."""

    partitions: dict[int, str] = field(default_factory=dict)
    """Partition ID of every row that was ever sent, by its id."""
    newest: dict[str, date] = field(default_factory=dict)
    """By partition, the day of its newest row."""
    confirmed: dict[int, float] = field(default_factory=dict)
    """When each insert was confirmed."""
    due: dict[str, set[int]] = field(default_factory=dict)
    """By replica, the rows that it must have: inserted through it, or seen in one of its answers."""


@dataclass(frozen=True)
class Question:
    """What was known when a query began."""

    shard: str
    table: str
    replica: str
    must: frozenset[int]
    gone: frozenset[str]


class Model:
    """The rows of all tables. Threads share it."""

    def __init__(self, folder: Path, config: Config) -> None:
        """Read what an earlier process has written, if anything."""
        self._folder, self._config = folder, config
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Rows] = {}
        self._file = folder / "rows.jsonl"
        for line in self._file.read_text().splitlines() if self._file.exists() else ():
            self._apply(json.loads(line))

    def rows(self, shard: str, table: str) -> Rows:
        """Return the rows of a table on a shard."""
        return self._rows.setdefault((shard, table), Rows())

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        return [table.name for table in self._config.tables]

    def shards(self) -> list[str]:
        """Return the shards that have rows."""
        return sorted({shard for shard, _table in self._rows})

    def send(self, shard: str, table: str, days: Sequence[date]) -> list[tuple[date, int]]:
        """Give each row an id, and write them down before they are sent."""
        with self._lock:
            first = max(self.rows(shard, table).partitions, default=0) + 1
            rows = [(day, first + place) for place, day in enumerate(days)]
            self._write({"shard": shard, "table": table, "sent": first, "days": [f"{day}" for day in days]})
        return rows

    def confirm(self, shard: str, table: str, replica: str, rows: Sequence[tuple[date, int]]) -> None:
        """Write down that an insert through this replica was confirmed."""
        first = rows[0][1]
        with self._lock:
            line = {"shard": shard, "table": table, "replica": replica, "at": time.time()}
            self._write({**line, "confirmed": first, "count": len(rows)})

    def ask(self, shard: str, table: str, replica: str, *, in_use_since: float) -> Question:
        """Return what an answer must have, for a query that begins now."""
        now = time.time()
        with self._lock:
            rows = self.rows(shard, table)
            must = set(rows.due.get(replica, ()))
            if in_use_since < now - self._config.lag:
                must |= {number for number, at in rows.confirmed.items() if at < now - self._config.lag}
        return Question(shard, table, replica, frozenset(must), self.dropped("gone", shard, table))

    def check(self, question: Question, answer: Sequence[int]) -> str:
        """Return what is wrong with an answer that has just come, or an empty text."""
        maybe = self.dropped("dropping", question.shard, question.table)
        with self._lock:
            rows = self.rows(question.shard, question.table)
            wrong = differences(rows, question.must, answer, maybe, question.gone)
            if not wrong:
                rows.due.setdefault(question.replica, set()).update(answer)
        return wrong

    def dropped(self, state: str, shard: str, table: str) -> frozenset[str]:
        """Return the partitions that are dropping or gone."""
        return frozenset(
            partition
            for each in read_dropped(self._folder / state)
            if (each.shard, each.table) == (shard, table)
            for partition in each.partitions
        )

    def _write(self, line: dict[str, Any]) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._apply(line)

    def _apply(self, line: dict[str, Any]) -> None:
        for table in self._config.fed_by(line["table"]):
            rows = self.rows(line["shard"], table.name)
            if "sent" in line:
                for number, day in enumerate(map(date.fromisoformat, line["days"]), line["sent"]):
                    partition = rows.partitions[number] = table.partition_of(day, number)
                    rows.newest[partition] = max(day, rows.newest.get(partition, day))
            else:
                numbers = range(line["confirmed"], line["confirmed"] + line["count"])
                rows.confirmed.update(dict.fromkeys(numbers, line["at"]))
                rows.due.setdefault(line["replica"], set()).update(numbers)


def differences(
    rows: Rows,
    must: Collection[int],
    answer: Sequence[int],
    maybe: Collection[str] = (),
    gone: Collection[str] = (),
) -> str:
    """Return what is wrong with an answer, or an empty text.

    must: the rows that it has to have, but those of partitions that are being dropped.
    maybe: partitions that are being dropped, or are gone. gone: partitions of which no row may be left.
    """
    found = set(answer)
    where = rows.partitions
    wrong = {
        "twice": _twice(answer) if len(found) < len(answer) else [],
        "never sent": found - where.keys(),
        "missing": {number for number in must if number not in found and where[number] not in maybe},
        "dropped, and still there": {number for number in found if where.get(number) in gone},
    }
    return "; ".join(f"{what}: {_some(numbers)}" for what, numbers in wrong.items() if numbers)


def _twice(answer: Iterable[int]) -> list[int]:
    seen: set[int] = set()
    return [number for number in answer if number in seen or seen.add(number)]  # type: ignore[func-returns-value]


def _some(numbers: Collection[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:_SHOWN]))
    return f"{shown}{', …' if len(numbers) > _SHOWN else ''} ({len(numbers)})"
