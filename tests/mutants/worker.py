# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs tests again and again, each time in a process that has loaded all but the code of this collection.

Started in a copy of the repository, it answers each line of JSON from standard input, a `Request`, by one to
standard output, an `Answer`. A run begins as a fork of this process, which saves loading pytest and kin.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import traceback
from typing import Any, NamedTuple

import cryptography.x509
import hypothesis.strategies
import kazoo.client
import pytest
from _pytest.raises import AbstractRaises

from mutants.any_text import BLANK

LOADED = (cryptography.x509, hypothesis.strategies, kazoo.client)
"""What the tests load from elsewhere, and what takes longest."""

_CRASHES = (AttributeError, ImportError, NameError, SyntaxError, TypeError)
_MOST_OUTPUT = 4000


class Request(NamedTuple):
    """Which tests to run."""

    node_ids: list[str]
    seconds: float
    """After which it hangs."""
    first_only: bool = True
    """Whether to end with the first failure."""
    keep_compiled: bool = False
    """Whether later runs may have what Python compiles for this one."""
    only_collect: bool = False
    blanked: bool = False
    """Whether the messages of the domain are blanked: no pattern for a message fails then."""
    test_seconds: float = 0.0
    """After which a single test fails; 0 for what pytest is configured with."""
    deselected: list[str] = []  # noqa: RUF012 - never changed
    """Tests that are not to run, of those that have messages blanked."""


class Answer(NamedTuple):
    """What became of the tests."""

    passed: list[str]
    failed: list[str]
    broken: str
    """Why the run says nothing of the code, such as that a module cannot be loaded; empty where it does."""
    output: str
    """What pytest printed, where something failed; the end of it."""


class _Recorder:
    """A plugin of pytest that notes which tests failed, and whether they did so as a test should."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.broken = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that were asked for: their parameters were not passed to pytest."""
        if self._request.blanked:
            deselected = set(self._request.deselected)
            items[:] = [
                each for each in items if each.nodeid not in deselected and self._asked_for(each.nodeid)
            ]

    def _asked_for(self, node_id: str) -> bool:
        return any(
            node_id == each or node_id.startswith((f"{each}[", f"{each}::"))
            for each in self._request.node_ids
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be loaded."""
        if report.failed:
            self._note(f"{report.nodeid} could not be loaded")

    def pytest_exception_interact(
        self, node: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport | pytest.CollectReport
    ) -> None:
        """A crash of the changed code itself, which shows no more than that the change is no program."""
        if call.excinfo is None or not isinstance(call.excinfo.value, _CRASHES):
            return
        place = str(call.excinfo.traceback[-1].path)
        if "/module_utils/_partmove/" in place and "/tests/" not in place:
            self._note(f"{place} crashes: {call.excinfo.value!r}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What became of one phase of a test."""
        if report.when == "call":
            (self.failed if report.failed else self.passed).append(report.nodeid)
        elif report.failed:
            self._note(f"{report.when} of {report.nodeid} failed")

    def _note(self, problem: str) -> None:
        self.broken = self.broken or problem


def run(request: Request) -> Answer:
    """Run the tests in a fork."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _run_here(request, writer, output.fileno(), folder)
        os.close(writer)
        told = _read(reader, request.seconds)
        if told is None:
            os.kill(process, signal.SIGKILL)
        _process, status = os.waitpid(process, 0)
        output.seek(0)
        printed = output.read().decode(errors="replace")[-_MOST_OUTPUT:]
    if told is None:
        return Answer([], [], f"took more than {request.seconds:.0f} s", printed)
    if not told:
        ended = f"the process ended ({os.waitstatus_to_exitcode(status)}) before the tests did"
        return Answer([], [], f"{ended}: {_last_line(printed)}", printed)
    passed, failed, broken = json.loads(told)
    return Answer(passed, failed, broken, printed if broken or failed else "")


def match_any_message() -> None:
    """Let every pattern that pytest compares with an error match a blanked message."""
    check = AbstractRaises._check_match

    def checked(self: AbstractRaises[BaseException], error: BaseException) -> bool:
        return BLANK in str(error) or check(self, error)

    AbstractRaises._check_match = checked  # type: ignore[method-assign, assignment]


def _last_line(printed: str) -> str:
    return next(reversed(printed.splitlines()), "it printed nothing")


def _run_here(request: Request, writer: int, output: int, folder: str) -> None:
    """Run the tests in this process, which ends then."""
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.dont_write_bytecode = not request.keep_compiled
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            # The fork ends without closing what it has of its parent, which says nothing of the tests.
            "-p",
            "no:unraisableexception",
            "--hypothesis-seed=0",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            # Runs that end at the same time would be in each other's way where they remove old folders.
            f"--basetemp={folder}/tests",
        ]
        options += [f"--timeout={request.test_seconds}"] if request.test_seconds else []
        options += ["-x"] if request.first_only else []
        options += ["--collect-only"] if request.only_collect else []
        recorder = _Recorder(request)
        node_ids = request.node_ids
        expected = [pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED]
        if request.blanked:
            match_any_message()
            # A parameter may be a message, and a blanked one has another name.
            node_ids = list(dict.fromkeys(each.partition("[")[0] for each in node_ids))
            expected.append(pytest.ExitCode.NO_TESTS_COLLECTED)
        status = pytest.main([*options, *node_ids], plugins=[recorder])
        broken = recorder.broken
        if status not in expected:
            broken = broken or f"pytest ended with {pytest.ExitCode(status).name}"
        told = json.dumps([recorder.passed, recorder.failed, broken]).encode()
        with open(writer, "wb") as pipe:
            pipe.write(told)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(0)


def _read(reader: int, seconds: float) -> bytes | None:
    """All that comes; None where nothing comes in time."""
    with open(reader, "rb") as pipe:
        ready, _writable, _failed = select.select([pipe], [], [], seconds)
        return pipe.read() if ready else None


def main() -> None:
    """Answer until there is no request any more."""
    for line in sys.stdin:
        answer = run(Request(**json.loads(line)))
        sys.stdout.write(f"{json.dumps(answer._asdict())}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
