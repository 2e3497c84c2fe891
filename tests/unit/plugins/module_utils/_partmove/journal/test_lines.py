# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines of a journal as text and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import (
    Event,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    JournalLine,
    encoded_lines,
    is_cut,
    parse_line,
    read_lines,
)

TIME, RUN = "2026-11-22T06:45:00.000Z", "0f8fad5bd9cb469fa16570867728950e"
ROW = {"shard_path": "/t/ü", "partition": "201912"}


def line_of(**changes: Any) -> bytes:
    head = {"version": 1, "time": TIME, "run": RUN, "event": "copies_removed"}
    return json.dumps({**head, **ROW, **changes}).encode()


def test_lines_are_read_as_they_were_written() -> None:
    rows = [ROW, {**ROW, "partition": "201911"}]
    lines = list(encoded_lines(TIME, RUN, Event.COPIES_REMOVED, rows))
    assert [json.loads(line) for line in lines] == [
        {"version": 1, "time": TIME, "run": RUN, "event": "copies_removed", **row} for row in rows
    ]
    assert all(line.endswith(b"}\n") for line in lines)
    assert [parse_line(line, "here") for line in lines] == [
        JournalLine(TIME, RUN, Event.COPIES_REMOVED, row) for row in rows
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[]", "here is no JSON object: it is a JSON value of another type"),
        (b"\xff", "here is no JSON object: 'utf-8' codec"),
        (line_of(version=2), "here: its version is 2, this collection reads version 1"),
        (line_of(version=True), "here: its version is True"),
        (line_of(version=None), "here: its version is None"),
        (line_of(event="vanished"), "here: there is no event 'vanished'"),
        (line_of(event=["moved"]), "here: there is no event"),
        (line_of(time=1), "here: time and run are no texts"),
        (line_of(run=None), "here: time and run are no texts"),
        (line_of(partition=1), "here: partition is 1"),
        (line_of(more=1), "here: more is not a known key"),
        (line_of(event="moved"), "here: parts is missing"),
    ],
)
def test_an_unknown_line_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parse_line(line, "here")
    assert refusal.value.message.startswith(problem)
    assert "unchanged journal file of this collection" in refusal.value.remedy


def test_an_unfinished_line_is_detected_wherever_it_ends() -> None:
    each = {"part": "20191201_0_0_0", "digest": "0" * 64, "replicas": ["r1"], "data": "AAAA"}
    row = {**ROW, "state": "COLD", "state_before": "HOT", "state_version": 0, "parts": [each, each]}
    (line,) = encoded_lines(TIME, RUN, Event.SWITCHING, [row])
    whole = line.rstrip(b"\n")
    for length in range(1, len(whole)):
        assert [found for _number, found in read_lines([whole[:length] + b"\n", line], "a journal")] == [
            None,
            parse_line(line, "here"),
        ]
    assert [is_cut(whole[:length]) for length in range(1, len(whole))] == [True] * (len(whole) - 1)
    assert not is_cut(whole)
    assert not is_cut(b"something else")
    assert not is_cut(whole[:-1] + b"]}")
    assert not is_cut(whole[:20] + b"\xff}")
