# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Progress of a module for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import NullJournal
from ansible_collections.olap.partmove.plugins.module_utils._tasks.progress import (
    Progress,
    ProgressFile,
    ProgressJournal,
)
from support.memory.memory import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def progress(clock: ManualClock, tmp_path: Path) -> Iterator[Progress]:
    with ExitStack() as stack:
        file = ProgressFile(str(tmp_path / "progress"), clock, stack)
        yield Progress(file, clock, "partitions", "parts")


def read_lines(folder: Path) -> list[str]:
    return (folder / "progress").read_text().splitlines()


def test_lines_say_how_much_how_fast_and_how_long(
    progress: Progress, clock: ManualClock, tmp_path: Path
) -> None:
    progress.expect(1_000)
    clock.sleep(2.0)
    progress.add(250, 750, "at /a")
    progress.expect(1_000)
    clock.sleep(150.0)
    progress.add(150, 0, "at /b")
    clock.sleep(10_000.0)
    progress.add(1_600, 1_280, "done")
    assert read_lines(tmp_path) == [
        "250 of 1,000 partitions (25 %), 750 parts, 375 parts/s, 6 s left; at /a",
        "400 of 2,000 partitions (20 %), 750 parts, 5 parts/s, 10 min 8 s left; at /b",
        "2,000 of 2,000 partitions (100 %), 2,030 parts, 0 parts/s; done",
    ]


def test_unknown_totals_are_left_out(progress: Progress, clock: ManualClock, tmp_path: Path) -> None:
    clock.sleep(4.0)
    progress.add(2, 0, "at /a")
    assert read_lines(tmp_path) == ["2 partitions, 0.5 partitions/s; at /a"]


def test_lines_keep_a_minimum_interval(progress: Progress, clock: ManualClock, tmp_path: Path) -> None:
    for number in range(5):
        progress.add(1, 1, f"after {number} s")
        clock.sleep(1.0)
    assert [line.partition("; ")[2] for line in read_lines(tmp_path)] == ["after 2 s", "after 4 s"]
    progress.announce("paused")
    assert read_lines(tmp_path)[-1] == "paused"


def test_only_the_owner_may_read_the_file(progress: Progress, tmp_path: Path) -> None:
    assert (tmp_path / "progress").stat().st_mode & 0o777 == 0o600


def test_without_a_file_nothing_is_written(clock: ManualClock) -> None:
    with ExitStack() as stack:
        file = ProgressFile(None, clock, stack)
        clock.sleep(10.0)
        assert not file.is_due
        Progress(file, clock, "partitions", "parts").announce("paused")


def test_a_journal_adds_finished_partitions_and_passes_all_events_on(
    progress: Progress, clock: ManualClock, tmp_path: Path
) -> None:
    handed_on = []

    class Kept(NullJournal):
        def record(self, event: Event, rows: object) -> None:
            assert isinstance(rows, (list, tuple))
            handed_on.append((event, len(rows)))

    journal = ProgressJournal(Kept(), progress, "at /a")
    clock.sleep(2.0)
    journal.record(Event.MOVED, [{"parts": 3}, {"parts": 2}])
    journal.record(Event.DEFERRED, [{"partition": "a"}])
    journal.record(Event.COPIES_REMOVED, [{"partition": "a"}])
    assert handed_on == [(Event.MOVED, 2), (Event.DEFERRED, 1), (Event.COPIES_REMOVED, 1)]
    assert journal.partitions == 3
    assert read_lines(tmp_path) == ["2 partitions, 5 parts, 2 parts/s; at /a"]
