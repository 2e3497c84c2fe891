# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps, table and picture of a day, and what may fail in a step."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from staging.day.queries import Query
from staging.day.steps import Step, begin_step, read_steps
from staging.day.timeline import complaints, phases, table
from staging.day.timeline_plot import plot_timeline

STEPS = [Step("move", 100.0, 160.0), Step("a host is lost", 160.0, 225.0, fault=True)]
QUERIES = [
    Query(101.0, 5.0, "1", "hits", "r1", "insert"),
    Query(102.0, 7.0, "1", "hits", "r2", "select"),
    Query(161.0, 3000.0, "1", "hits", "r1", "insert", error="ConnectionRefusedError"),
]


def test_a_step_ends_when_the_next_one_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 3.0, 7.0, 9.0])
    monkeypatch.setattr(time, "time", lambda: next(times))
    begin_step(tmp_path, "one")
    begin_step(tmp_path, "two", fault=True)
    begin_step(tmp_path, "end")
    assert read_steps(tmp_path) == [Step("one", 1.0, 3.0), Step("two", 3.0, 7.0, fault=True)]


def test_the_table_has_a_row_for_each_step() -> None:
    rows = table(phases(STEPS, QUERIES)).splitlines()
    assert rows[2] == "| move | 0:00 | 1:00 | 1 | 5 | 5 | 1 | 7 | 7 | 0 | 0 |"
    assert rows[3] == "| a host is lost | 1:00 | 1:05 | 0 |  |  | 0 |  |  | 1 (fault) | 0 |"


def test_failures_count_outside_of_faults_and_wrong_answers_always() -> None:
    assert complaints(phases(STEPS, QUERIES)) == []
    failed = Query(103.0, 1.0, "1", "hits", "r1", "insert", error="no")
    wrong = Query(163.0, 1.0, "1", "hits", "r1", "select", wrong="twice: 3 (1)")
    found = complaints(phases(STEPS, [*QUERIES, failed, wrong]))
    assert [line.partition(":")[0] for line in found] == ["move", "a host is lost"]


def test_the_picture_is_xml_with_all_steps_and_inserts() -> None:
    picture = ET.fromstring(plot_timeline("A & B", STEPS, QUERIES))
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"A & B", "move", "a host is lost", "1 min", "10 s"} <= {*texts}
    dots = [each.get("d", "") for each in picture.iter("{http://www.w3.org/2000/svg}path")][-2:]
    assert [each.count("M") for each in dots] == [1, 1]


def test_dots_at_one_place_are_one() -> None:
    inserts = [Query(101.0, 5.0, "1", "hits", "r1", "insert")] * 1000
    assert len(plot_timeline("", STEPS, inserts)) < 5000
