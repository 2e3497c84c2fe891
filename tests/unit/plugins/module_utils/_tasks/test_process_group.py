# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The processes of a divided run: their results, and how the run ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._tasks.move_jobs import Done
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move_result import PatchedTally
from ansible_collections.olap.partmove.plugins.module_utils._tasks.process_group import ProcessGroup
from ansible_collections.olap.partmove.plugins.module_utils._tasks.process_link import ProcessLink, Update

SECONDS = 60
"""After which a process ends that nobody ends, with an error."""

Link = ProcessLink[PatchedTally]


def new_tally() -> PatchedTally:
    return PatchedTally(10)


def done(shard_path: str, error: BaseException | None = None) -> Done[PatchedTally]:
    tally, report = new_tally(), PatchedReport(shard_path)
    report.unchanged.add("20260101")
    tally.add(report)
    return Done(shard_path, tally, found=1, error=error)


def wait_for_the_end(link: Link) -> None:
    if not link.ending.wait(SECONDS):
        raise RuntimeError("nobody ended this process")


class Run:
    """A run of two processes, and what it was told."""

    def __init__(self, work: Callable[[int, Link], None]) -> None:
        self.tally = new_tally()
        self.lines: list[str] = []
        self.group = ProcessGroup(2, new_tally, work)
        self.pids = [each.pid for each in self.group._processes]

    def take(self, update: Update[PatchedTally]) -> None:
        self.tally.expected += update.tally.expected
        self.tally.merge(update.tally)

    def carry_out(self) -> None:
        try:
            self.group.carry_out(self.take, self.lines.append)
        finally:
            self.check_ended()

    def check_ended(self) -> None:
        for pid in self.pids:
            with pytest.raises(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    @property
    def listed(self) -> list[str]:
        result = self.tally.result(check_mode=False, seconds=0.0)
        assert result["counts"]["not_reached"] == 0
        return [row["shard_path"] for row in result["unchanged"]]


def test_results_of_all_processes_are_added_up() -> None:
    def work(number: int, link: Link) -> None:
        for each in "ab":
            link.begin(f"/{each}{number}")
            link.take(done(f"/{each}{number}"))

    run = Run(work)
    run.carry_out()

    assert run.listed == ["/a0", "/a1", "/b0", "/b1"]


def test_an_error_ends_all_and_is_raised_with_the_results_before() -> None:
    def work(number: int, link: Link) -> None:
        if number:
            wait_for_the_end(link)
            link.take(done("/last"))
        else:
            link.take(done("/first", PartMoveError("The ensemble is gone", remedy="Start it")))

    run = Run(work)
    with pytest.raises(PartMoveError, match="The ensemble is gone"):
        run.carry_out()

    assert run.listed == ["/first", "/last"]


def test_an_unexpected_error_has_the_trace_of_its_process() -> None:
    def work(number: int, link: Link) -> None:
        if number:
            raise KeyError("/t")
        wait_for_the_end(link)

    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*in work.*KeyError: '/t'"):
        Run(work).carry_out()


def test_a_killed_process_ends_all_and_its_shard_paths_are_named() -> None:
    def work(number: int, link: Link) -> None:
        if number:
            wait_for_the_end(link)
            return
        link.begin("/finished")
        link.take(done("/finished"))
        # An update is on its way before the kill, or the shard path would still count as begun.
        link._send_update()
        link.begin("/begun")
        os.kill(os.getpid(), signal.SIGKILL)

    run = Run(work)
    with pytest.raises(PartMoveError, match=r"was ended by SIGKILL, while it worked on /begun\. Its"):
        run.carry_out()

    assert run.listed == ["/finished"]


def test_a_signal_to_one_process_ends_all() -> None:
    def work(number: int, link: Link) -> None:
        if not number:
            os.kill(os.getpid(), signal.SIGTERM)
        wait_for_the_end(link)

    with pytest.raises(PartMoveError, match="of the run was stopped by SIGTERM"):
        Run(work).carry_out()


def test_an_error_of_the_main_process_ends_all() -> None:
    def work(number: int, link: Link) -> None:
        link.take(done(f"/t{number}"))
        wait_for_the_end(link)

    run = Run(work)
    run.take = lambda _update: 1 / 0  # type: ignore[assignment,method-assign]
    with pytest.raises(ZeroDivisionError):
        run.carry_out()


def test_processes_that_are_never_started_do_nothing() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    def work(_number: int, _link: Link) -> None:
        os.write(writer, b"1")

    run = Run(work)
    run.group.close()

    run.check_ended()
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)


def test_pauses_are_told_from_the_first_begin_to_the_last_end() -> None:
    # Each step of a process begins when the main process has received the one before it.
    steps = [os.pipe() for _step in range(3)]

    def begin(step: int) -> None:
        os.read(steps[step][0], 1)

    def received(step: int) -> None:
        os.write(steps[step][1], b"1")

    def work(number: int, link: Link) -> None:
        if number:
            begin(0)
            link.announce("second begins")
            link.take(done("/second"))
            link._send_update()
            begin(2)
            link.announce("second ends")
        else:
            link.announce("first begins")
            begin(1)
            link.announce("first ends")
            link.take(done("/first"))
            link._send_update()

    lines: list[str] = []
    reached = iter([1, 2])

    def announce(line: str) -> None:
        lines.append(line)
        if line == "first begins":
            received(0)

    group = ProcessGroup(2, new_tally, work)
    group.carry_out(lambda _update: received(next(reached)), announce)

    assert lines == ["first begins", "second ends"]
