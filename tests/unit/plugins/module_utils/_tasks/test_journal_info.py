# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""journal_info on a journal of runs in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import (
    default_path,
    journalled_run,
    open_journal,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_info import JournalInfo
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.resources import MemoryResources

DEFAULTS: dict[str, Any] = {
    "path": None,
    "shard_path": None,
    "partition": None,
    "run": None,
    "since": None,
    "max_listed": 1000,
}


def info(**options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = JournalInfo(params)
    task.run(MemoryResources(Bench(), params))
    return task.result()


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the default journal: a run with two moved partitions, and a run killed before its first move."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bench = Bench()
    stores = (bench.hot_store, bench.cold_store)
    bench.context = bench.context._replace(journal=open_journal(None, bench.clock))
    with journalled_run(
        bench.context.journal, "part_move", stores, {"work": "x"}, lambda: {"moved": 2, "failed": 0}
    ):
        bench.move(DAY, OTHER)
    bench.context = bench.context._replace(journal=open_journal(None, bench.clock))
    bench.clock.sleep(1000)
    bench.switched_to = b"HOT"

    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    bench.before_switch(kill)
    with pytest.raises(Killed):
        bench.reheat(DAY)
    return default_path()


def test_history_of_a_partition(journal: Path) -> None:
    result = info(shard_path=PATH, partition=DAY)

    assert result["path"] == str(journal)
    assert [event["event"] for event in result["events"]] == ["switching", "moved", "switching"]
    assert {event["partition"] for event in result["events"]} == {DAY}
    assert (result["count"], result["msg"], result["changed"]) == (3, "3 events of 2 runs", False)
    moved, killed = result["runs"]
    assert (moved["outcome"], moved["counts"]) == ("completed", {"moved": 2, "failed": 0})
    assert (moved["started"]["module"], moved["started"]["work"]) == ("part_move", "x")
    assert (killed["outcome"], killed["ended"]) == ("not_ended", None)
    assert result["incomplete"] == []


def test_events_of_a_run(journal: Path) -> None:
    run = info(path=str(journal))["runs"][0]["run"]
    result = info(run=run, max_listed=2)
    assert (len(result["events"]), result["count"]) == (2, 6)
    assert [each["run"] for each in result["runs"]] == [run]


def test_no_event_since_a_time(journal: Path) -> None:
    assert journal.exists()
    assert info(since="9999-01-01")["msg"] == "0 events of 0 runs"


def test_an_unreadable_journal_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match=f"^The journal {tmp_path}/none cannot be read: No such file"):
        info(path=f"{tmp_path}/none")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shard_path": "t"}, "^The shard path 't'"),
        ({"shard_path": PATH, "partition": "a/b"}, "partition"),
        ({"since": "yesterday"}, "^since is 'yesterday'"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        info(**options)


def test_fewer_events_than_none_are_refused() -> None:
    with pytest.raises(PartMoveError, match="^max_listed is -1"):
        info(max_listed=-1)
