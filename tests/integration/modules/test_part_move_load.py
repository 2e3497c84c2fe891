# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run leaves an ensemble alone that became slow, says so, and goes on or ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, answer_of, start_module
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

(FIRST,) = days(1)
SLOW = 1.5
"""Seconds that each answer takes when the ensemble is slow."""


class SlowRun:
    """Moves a partition of each of three tables, one after the other; hot becomes slow after the first.

    Until then the second one is locked. It takes so many slow requests that the run notices before the third.
    """

    def __init__(self, pair: Pair, proxy: ZooKeeperProxy, folder: Path) -> None:
        self.pair = pair
        self.proxy = proxy
        self.tables = [build_table(pair.hot, f"{pair.base}/{name}") for name in ("a", "b", "c")]
        self.progress = folder / "progress"
        self.progress.touch()
        self.lock = self.lock_path(self.tables[1])
        pair.hot.create(self.lock, b"another run", ephemeral=True, makepath=True)

    def lock_path(self, table: Table) -> str:
        return f"{self.pair.options['coordination_root']}/locks/{table.path.replace('/', '%2F')}"

    @contextmanager
    def begun(self, **options: Any) -> Iterator[subprocess.Popen[str]]:
        """A run that works on the second table, and finds hot slow."""
        wanted = [item for each in self.tables for item in partitions_of(each, FIRST)]
        args = {
            **self.pair.options,
            **ASSUMED,
            "hot": {"hosts": [self.proxy.address]},
            "partitions": wanted,
            "workers": 1,
            "lock_wait": "10m",
            "max_latency": SLOW / 3,
            "progress_file": str(self.progress),
            **options,
        }
        process = start_module(Call("part_move", args))
        try:
            wait_for(lambda: self.tables[0].state(FIRST) == b"COLD")
            wait_for(lambda: self.pair.hot.exists(self.lock_path(self.tables[0])) is None)
            self.proxy.slow(SLOW)
            self.pair.hot.delete(self.lock)
            yield process
        finally:
            process.kill()
            process.communicate()

    def told(self) -> list[str]:
        """The lines of progress that are about pauses."""
        return [line for line in self.progress.read_text().splitlines() if " partitions" not in line]

    def states(self) -> list[bytes | None]:
        return [each.state(FIRST) for each in self.tables]


@pytest.fixture
def slow_run(pair: Pair, hot: Ensemble, tmp_path: Path) -> Iterator[SlowRun]:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        yield SlowRun(pair, proxy, tmp_path)


def test_a_run_pauses_while_an_ensemble_is_slow(slow_run: SlowRun) -> None:
    with slow_run.begun() as process:
        wait_for(lambda: bool(slow_run.told()))
        slow_run.proxy.slow(0.0)
        result = answer_of(process)
    assert result["msg"] == "3 moved, 0 deferred, 0 failed, 0 unchanged"
    paused, going_on = slow_run.told()[:2]
    assert paused.startswith("paused: ensemble hot takes ")
    assert going_on.startswith("going on after ")


def test_a_run_that_paused_for_long_enough_ends_and_another_goes_on(slow_run: SlowRun) -> None:
    with slow_run.begun(give_up_after="2s") as process:
        result = answer_of(process)
    slow_run.proxy.slow(0.0)
    assert result["failed"]
    assert result["msg"].startswith("The run paused for 2 s and ended, as ensemble hot takes ")
    assert "run again to continue" in result["msg"]
    states = slow_run.states()
    assert states[0] == b"COLD"
    assert states[2] is None
    assert result["counts"]["moved"] == states.count(b"COLD")
    assert result["counts"]["not_reached"] == 3 - states.count(b"COLD")
    assert slow_run.pair.hot.get_children(f"{slow_run.pair.options['coordination_root']}/locks") == []

    wanted = [item for each in slow_run.tables for item in partitions_of(each, FIRST)]
    again = slow_run.pair.call("part_move", partitions=wanted, **ASSUMED)
    assert again["counts"]["moved"] == 3 - states.count(b"COLD")
    assert slow_run.states() == [b"COLD"] * 3


def test_a_limit_of_parts_is_kept_to_and_nothing_else_changes(pair: Pair, table: Table) -> None:
    """Partitions of two parts, so each is a portion of its own."""
    move = {"partitions": partitions_of(table), **ASSUMED, "max_parts_per_second": 2}
    moved = pair.call("part_move", **move)
    assert moved["msg"] == "3 moved, 0 deferred, 0 failed, 0 unchanged"
    back = pair.call("part_move", state="hot", **move)
    assert back["msg"] == "3 moved, 0 deferred, 0 failed, 0 unchanged"
