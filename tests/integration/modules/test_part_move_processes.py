# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run with several processes answers as a run with one, and ends as one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, answer_of, start_module
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.replicated import wait_for

(FIRST,) = days(1)


def build(pair: Pair, names: str) -> list[Table]:
    return [build_table(pair.hot, f"{pair.base}/{name}") for name in names]


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in text.split()]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("check", [True, False])
def test_the_result_is_that_of_one_process(pair: Pair, check: bool) -> None:
    answers = []
    for processes, names in (("1", "abcdef"), ("3", "ghijkl")):
        items = [item for each in build(pair, names) for item in partitions_of(each, FIRST)]
        answer = pair.call(
            "part_move", check=check, partitions=items, processes=processes, max_listed=4, **ASSUMED
        )
        answer["totals"].pop("seconds")
        answer.pop("invocation", None)
        text = repr(answer)
        for number, name in enumerate(names):
            text = text.replace(f"{pair.base}/{name}", f"path {number}")
        answers.append(text)
    assert answers[0] == answers[1]
    assert "'moved': 6" in answers[0]


class HeldRun:
    """Moves six tables with two processes; a lock of another run holds up the last two, one of each."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.tables = build(pair, "abcdef")
        self.locks = [self.lock_path(each) for each in self.tables[-2:]]
        for each in self.locks:
            pair.hot.create(each, b"another run", ephemeral=True, makepath=True)
        self.items = [item for each in self.tables for item in partitions_of(each, FIRST)]

    def lock_path(self, table: Table) -> str:
        return f"{self.pair.options['coordination_root']}/locks/{table.path.replace('/', '%2F')}"

    @contextmanager
    def begun(self) -> Iterator[subprocess.Popen[str]]:
        args: dict[str, Any] = {
            **self.pair.options,
            **ASSUMED,
            "partitions": self.items,
            "processes": "2",
            "lock_wait": "10m",
        }
        process = start_module(Call("part_move", args))
        try:
            wait_for(lambda: all(each.state(FIRST) == b"COLD" for each in self.tables[:-2]))
            yield process
        finally:
            process.kill()
            process.communicate()

    def free(self) -> None:
        for each in self.locks:
            self.pair.hot.delete(each)

    def again(self) -> dict[str, Any]:
        self.free()
        return self.pair.call("part_move", partitions=self.items, processes="2", **ASSUMED)


@pytest.fixture
def held(pair: Pair) -> HeldRun:
    return HeldRun(pair)


def test_a_signal_ends_all_processes(held: HeldRun) -> None:
    with held.begun() as process:
        children = children_of(process.pid)
        assert len(children) == 2
        process.send_signal(signal.SIGTERM)
        answer = answer_of(process)
    assert answer["failed"]
    assert answer["msg"].startswith("The run was stopped by SIGTERM.")
    assert answer["counts"]["moved"] == 4
    assert all(map(is_gone, children))
    assert held.again()["counts"]["moved"] == 2


def test_a_killed_process_ends_the_run_and_another_run_goes_on(held: HeldRun) -> None:
    with held.begun() as process:
        killed, other = children_of(process.pid)
        os.kill(killed, signal.SIGKILL)
        answer = answer_of(process)
    assert answer["failed"]
    assert answer["msg"].startswith(f"Process {killed} of the run was ended by SIGKILL, while it worked on /")
    assert is_gone(other)
    assert held.again()["counts"]["moved"] == 2


def test_processes_end_with_their_main_process(held: HeldRun) -> None:
    with held.begun() as process:
        children = children_of(process.pid)
        process.kill()
        wait_for(lambda: all(map(is_gone, children)))
    assert held.again()["counts"]["moved"] == 2


def test_a_limit_that_cannot_be_divided_is_refused(pair: Pair) -> None:
    items = [item for each in build(pair, "ab") for item in partitions_of(each, FIRST)]
    answer = pair.call("part_move", partitions=items, processes="2", workers=1, **ASSUMED)
    assert answer["failed"]
    assert answer["msg"].startswith("processes is 2 and workers is 1, which is divided among them.")
