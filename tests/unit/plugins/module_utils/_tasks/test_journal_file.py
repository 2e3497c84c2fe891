# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with journals: location, content, and incomplete lines."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.history import (
    History,
    HistoryQuery,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks import journal_file
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import (
    COLLECTION_VERSION,
    FileJournal,
    NullJournal,
    default_path,
    journalled_run,
    open_journal,
)
from support.memory.bench import Bench
from support.memory.memory import ManualClock

ROOT = Path(__file__).parents[5]
RUN = "0" * 32
REMOVED = Event.COPIES_REMOVED


def rows(*partitions: str) -> Iterator[dict[str, object]]:
    return ({"shard_path": "/t", "partition": each} for each in partitions)


def read(path: Path) -> History:
    history = History(HistoryQuery(), 1000)
    with path.open("rb") as lines:
        history.read(lines, str(path))
    return history


def partitions_in(path: Path) -> list[str]:
    return [event["partition"] for event in read(path).events]


def test_a_journal_has_a_line_for_each_row(tmp_path: Path) -> None:
    path, clock = tmp_path / "journal", ManualClock()
    path.write_text("earlier\n")
    journal = FileJournal(path, clock, RUN)
    journal.record(REMOVED, rows("ü", "b"))
    journal.record(REMOVED, [])
    journal.close()
    earlier, *lines = path.read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert earlier == "earlier"
    assert "ü" in lines[0]
    assert all(entry.pop("time").endswith("Z") for entry in entries)
    common = {"version": 1, "run": RUN, "event": "copies_removed", "shard_path": "/t"}
    assert entries == [{**common, "partition": "ü"}, {**common, "partition": "b"}]


def test_lines_are_on_disk_once_for_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many lines are written in chunks, so that memory use has a bound."""
    path = tmp_path / "journal"
    synced: list[int] = []
    written: list[int] = []
    journal = FileJournal(path, ManualClock(), RUN)
    fsync, write = os.fsync, os.write

    def noting_fsync(number: int) -> None:
        synced.append(path.stat().st_size)
        fsync(number)

    def noting_write(number: int, data: bytes) -> int:
        written.append(len(data))
        return write(number, data)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "write", noting_write)
    monkeypatch.setattr(journal_file, "_CHUNK_BYTES", 1000)

    journal.record(REMOVED, rows(*map(str, range(100))))

    assert synced == [path.stat().st_size]
    assert max(written) < 1200
    assert partitions_in(path) == [str(each) for each in range(100)]


def test_an_incomplete_line_of_a_killed_run_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = FileJournal(path, ManualClock(), RUN)
    journal.record(REMOVED, rows("a", "b"))
    path.write_bytes(path.read_bytes()[:-5])

    FileJournal(path, ManualClock(), RUN).record(REMOVED, rows("c", "d"))

    history = read(path)
    assert history.incomplete == [2]
    assert partitions_in(path) == ["a", "c", "d"]


def test_a_line_cut_off_by_a_full_disk_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "journal", os.write
    journal = FileJournal(path, ManualClock(), RUN)
    left = [20, 0]

    def filling(number: int, data: bytes) -> int:
        size = left.pop(0)
        if not size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(number, data[:size])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", filling)
        with pytest.raises(PartMoveError, match="No space left on device"):
            journal.record(REMOVED, rows("a"))
    journal.record(REMOVED, rows("b"))

    assert read(path).incomplete == [1]
    assert partitions_in(path) == ["b"]


def test_runs_at_the_same_time_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    program = (
        "import sys; from pathlib import Path\n"
        "from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import FileJournal\n"
        "from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event\n"
        "from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock\n"
        "journal = FileJournal(Path(sys.argv[1]), SystemClock(), sys.argv[2] * 32)\n"
        "rows = [{'shard_path': '/t', 'partition': 'x' * 3000}] * 20\n"
        "for _ in range(10): journal.record(Event.COPIES_REMOVED, rows)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(path), name], env=environment)
        for name in ("a", "b")
    ]
    assert [each.wait() for each in runs] == [0, 0]
    history = read(path)
    assert (history.matched, history.incomplete, len(history.runs)) == (400, [], 2)


def test_the_default_is_in_the_folder_for_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_path() == tmp_path / ".local/state/olap.partmove/journal.jsonl"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_path() == tmp_path / ".local/state/olap.partmove/journal.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    journal = open_journal(None, ManualClock())

    path = tmp_path / "state" / "olap.partmove" / "journal.jsonl"
    assert default_path() == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert isinstance(journal, FileJournal)
    journal.close()
    again = open_journal(None, ManualClock())
    assert isinstance(again, FileJournal)
    again.close()


def test_a_user_without_a_home_folder_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_path: Path) -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "expanduser", unknown)
    with pytest.raises(PartMoveError, match="has no home folder"):
        default_path()


def test_a_disabled_journal_writes_nothing() -> None:
    journal = open_journal("", ManualClock())
    assert isinstance(journal, NullJournal)

    unasked = rows("a")
    journal.record(REMOVED, unasked)
    assert len(list(unasked)) == 1


def test_an_unwritable_journal_is_reported_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PartMoveError, match=f"^The journal {tmp_path} cannot be written: Is a directory"):
        open_journal(str(tmp_path), ManualClock())
    file = tmp_path / "file"
    file.touch()
    message = f"The journal {file}/state/olap.partmove/journal.jsonl cannot be written: Not a directory."
    monkeypatch.setenv("XDG_STATE_HOME", str(file / "state"))
    with pytest.raises(PartMoveError) as refusal:
        open_journal(None, ManualClock())
    assert str(refusal.value) == (
        f"{message} Give as journal a path in a folder that exists and that this user may write to, or an"
        " empty text for no journal."
    )


@pytest.mark.parametrize("error", ["", "Something went wrong."])
def test_a_run_begins_and_ends(error: str) -> None:
    bench = Bench()

    def work() -> None:
        with journalled_run(
            bench.journal, "part_move", (bench.hot_store, bench.cold_store), {"work": "x"}, lambda: {"a": 1}
        ):
            if error:
                raise PartMoveError(error)

    if error:
        with pytest.raises(PartMoveError):
            work()
    else:
        work()

    (first, started), (last, ended) = bench.journal.events
    assert (first, last) == (Event.STARTED, Event.ENDED)
    assert ended == {"counts": {"a": 1}, "error": error}
    assert (started["module"], started["work"], started["process"]) == ("part_move", "x", os.getpid())
    assert (started["hot"], started["cold"]) == tuple(
        f"{','.join(store.addresses)}{store.chroot}" for store in (bench.hot_store, bench.cold_store)
    )


def test_the_version_is_that_of_the_collection() -> None:
    galaxy: dict[str, Any] = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    assert galaxy["version"] == COLLECTION_VERSION
