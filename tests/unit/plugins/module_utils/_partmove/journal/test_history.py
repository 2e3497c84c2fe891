# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries of a journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.history import (
    History,
    HistoryQuery,
    parse_moment,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    encoded_lines,
)

A, B, C = ("a" * 32, "b" * 32, "c" * 32)
PATH = "/clickhouse/tables/01/hits"
STARTED = {
    "module": "part_move",
    "collection": "0.1.0",
    "user": "root",
    "host": "h",
    "process": 1,
    "hot": "hot:2181",
    "cold": "cold:2181",
    "work": "a list of partitions",
}


def at(minute: int) -> str:
    return f"2026-11-22T06:{minute:02d}:00.000Z"


def line(minute: int, run: str, event: Event, fields: Mapping[str, Any]) -> bytes:
    return b"".join(encoded_lines(at(minute), run, event, [fields]))


def removed(minute: int, run: str, partition: str, path: str = PATH) -> bytes:
    return line(minute, run, Event.COPIES_REMOVED, {"shard_path": path, "partition": partition})


def started(minute: int, run: str) -> bytes:
    return line(minute, run, Event.STARTED, STARTED)


def ended(minute: int, run: str, error: str = "", **counts: int) -> bytes:
    return line(minute, run, Event.ENDED, {"counts": counts, "error": error})


RESTORED = line(5, B, Event.RESTORED, {"shard_path": PATH, "created": 1, "set_back": 0, "unchanged": 0})
LINES = [
    started(0, A),
    removed(1, A, "1"),
    started(2, B),
    removed(4, B, "1"),
    b"\n",
    removed(3, A, "2"),
    RESTORED,
    removed(6, A, "1", "/other"),
    ended(7, A, moved=1, failed=0),
    started(8, C),
]


def history(query: HistoryQuery, most: int = 100) -> History:
    found = History(query, most)
    found.read(LINES, "journal")
    return found


@pytest.mark.parametrize(
    ("query", "minutes"),
    [
        (HistoryQuery(), list(range(9))),
        (HistoryQuery(shard_path=PATH), [1, 3, 4, 5]),
        (HistoryQuery(shard_path=PATH, partition="1"), [1, 4, 5]),
        (HistoryQuery(run=A), [0, 1, 3, 6, 7]),
        (HistoryQuery(since="2026-11-22T06:06"), [6, 7, 8]),
        (HistoryQuery(since="2026-11-23"), []),
        (HistoryQuery(shard_path=PATH, run=B, since=at(5)[:-1]), [5]),
    ],
)
def test_requested_events_are_sorted_by_time(query: HistoryQuery, minutes: list[int]) -> None:
    found = history(query)
    assert [event["time"] for event in found.events] == [at(minute) for minute in minutes]
    assert found.matched == len(minutes)
    assert found.incomplete == []


def test_an_event_has_its_fields() -> None:
    assert history(HistoryQuery(PATH, "2")).events[0] == {
        "time": at(3),
        "run": A,
        "event": "copies_removed",
        "shard_path": PATH,
        "partition": "2",
    }


def test_only_the_newest_events_are_kept_and_all_are_counted() -> None:
    found = history(HistoryQuery(shard_path=PATH), most=2)
    assert [event["time"] for event in found.events] == [at(3), at(5)]
    assert (found.matched, len(found.runs)) == (4, 2)


def test_runs_have_a_begin_and_an_end() -> None:
    first, second, third = history(HistoryQuery()).runs
    assert first == {
        "run": A,
        "began": at(0),
        "ended": at(7),
        "outcome": "completed",
        "error": "",
        "counts": {"moved": 1, "failed": 0},
        "started": STARTED,
    }
    assert (second["outcome"], second["ended"]) == ("not_ended", None)
    assert (third["run"], third["outcome"]) == (C, "not_ended")


@pytest.mark.parametrize("end", [ended(1, A, "The run was stopped by SIGTERM."), ended(1, A, failed=1)])
def test_a_run_that_failed(end: bytes) -> None:
    found = History(HistoryQuery(), 9)
    found.read([started(0, A), end], "journal")
    assert [run["outcome"] for run in found.runs] == ["failed"]


def test_a_run_whose_begin_was_rotated_away() -> None:
    found = History(HistoryQuery(), 9)
    found.read([removed(3, A, "1")], "journal")
    assert [(run["began"], run["started"]) for run in found.runs] == [(at(3), None)]


def test_only_runs_with_a_requested_event_are_returned() -> None:
    assert [run["run"] for run in history(HistoryQuery("/other")).runs] == [A]


def test_unfinished_lines_are_reported() -> None:
    """A killed run left an unfinished line in the middle; the last line is unfinished, too."""
    cut, whole = removed(1, A, "1")[:-9], removed(1, A, "2")
    found = History(HistoryQuery(), 9)
    found.read([started(0, A), cut + b"\n", whole, whole.rstrip(b"\n")], "journal")
    assert found.incomplete == [2, 4]
    assert [event["event"] for event in found.events] == ["started", "copies_removed"]


def test_an_unknown_line_is_refused_with_its_number() -> None:
    with pytest.raises(FormatError, match="^journal, line 2 is no JSON object"):
        History(HistoryQuery(), 9).read([started(0, A), b"no journal\n"], "journal")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-22", "2026-11-22"),
        ("2026-11-22T06:45Z", "2026-11-22T06:45"),
        ("2026-11-22 06:45:00", "2026-11-22T06:45:00"),
        ("2026-11-22T06:45:00.123Z", "2026-11-22T06:45:00.123"),
    ],
)
def test_a_moment_is_the_beginning_of_a_time(text: str, moment: str) -> None:
    assert parse_moment(text, "since") == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1d", "2026-11", "2026-11-22T06:45:00+01:00", "٢٠٢٦-11-22"]
)
def test_other_text_than_a_moment_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="which is no time in UTC"):
        parse_moment(text, "since")
