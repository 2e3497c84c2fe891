# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every end of a task becomes the result of the module."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import (
    Stopped,
    Task,
    refuse_old_python,
    run,
)
from support.ansible.calls import COLLECTIONS, ROOT

COLLECTION = "ansible_collections.olap.partmove.plugins"
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("[a-z]*.py"))
REFUSED = PartMoveError("It cannot be done", remedy="Do something else")


class CountingTask:
    """A task with one step, followed by a given action."""

    def __init__(self, then: Callable[[], None], failure: str = "") -> None:
        self.failure = failure
        self.closed = False
        self._then = then
        self._done = 0

    def run(self, resources: Resources) -> None:
        """Do the step, then the given action."""
        resources._stack.callback(self._close)
        self._done += 1
        self._then()

    def result(self) -> dict[str, Any]:
        """How many things were done."""
        return {"changed": True, "done": self._done, "msg": "well", "diff": {"before": "0", "after": "1"}}

    def _close(self) -> None:
        self.closed = True


def nothing() -> None:
    """Do nothing."""


def refuse() -> None:
    """Fail as tasks do."""
    raise REFUSED


def end_of(
    make: Callable[[Mapping[str, Any]], Task], capsys: pytest.CaptureFixture[str], *, diff: bool = True
) -> tuple[object, dict[str, Any]]:
    """Run the task and return exit status and result of the module."""
    with patch_module_args({"_ansible_diff": diff}), pytest.raises(SystemExit) as ended:
        run(AnsibleModule(argument_spec={}), make)
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    del result["invocation"]
    return ended.value.code, result


class NamingTask(CountingTask):
    """A task whose result names a table."""

    def result(self) -> dict[str, Any]:
        """Name a table."""
        return {"changed": False, "tables": [{"shard_path": "/clickhouse/tables/01/hits"}]}


@pytest.mark.parametrize(
    ("password", "is_masked"), [("tables", True), ("hits", True), ("Tr0ub4dor", False), ("", False)]
)
@pytest.mark.parametrize("failure", ["", "It failed."])
def test_a_password_that_is_part_of_names_is_warned_of(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    password: str,
    is_masked: bool,
    failure: str,
) -> None:
    """Ansible masks it in the result, so that paths and labels of metrics are wrong."""
    warned: list[str] = []
    # Ansible keeps warnings for the whole process.
    monkeypatch.setattr(AnsibleModule, "warn", lambda _module, text: warned.append(text))
    spec = {"server": {"type": "dict", "options": {"password": {"type": "str", "no_log": True}}}}
    with patch_module_args({"server": {"password": password}}), pytest.raises(SystemExit):
        run(AnsibleModule(argument_spec=spec), lambda _params: NamingTask(nothing, failure))
    result = json.loads(capsys.readouterr().out)
    assert ("********" in json.dumps(result["tables"])) is is_masked
    assert [text.partition(" is part of a name in the result.")[1] != "" for text in warned] == [
        True
    ] * is_masked
    assert not any(password and password in text for text in warned)


@pytest.fixture(autouse=True)
def _signals_are_heeded() -> Iterator[None]:
    """Without this fixture SIGINT would be ignored if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_result_of_a_task_that_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    task = CountingTask(nothing)
    status, result = end_of(lambda _params: task, capsys)
    assert status == 0
    assert result == {"changed": True, "done": 1, "msg": "well", "diff": {"before": "0", "after": "1"}}
    assert task.closed


def test_diff_is_left_out_unless_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    _status, result = end_of(lambda _params: CountingTask(nothing), capsys, diff=False)
    assert "diff" not in result


def test_error_keeps_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    task = CountingTask(refuse)
    status, result = end_of(lambda _params: task, capsys)
    assert status == 1
    assert (result["failed"], result["changed"], result["done"]) == (True, True, 1)
    assert result["msg"] == "It cannot be done. Do something else."
    assert task.closed


def test_a_task_with_a_failure_fails_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    status, result = end_of(lambda _params: CountingTask(nothing, "1 partition failed."), capsys)
    assert status == 1
    assert (result["failed"], result["msg"], result["done"]) == (True, "1 partition failed.", 1)


def test_options_that_are_refused_have_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    def make(_params: Mapping[str, Any]) -> Task:
        raise REFUSED

    status, result = end_of(make, capsys)
    assert status == 1
    assert (result["msg"], "done" in result) == ("It cannot be done. Do something else.", False)


def test_signals_end_the_task_once_and_are_left_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    task = CountingTask(lambda: os.kill(os.getpid(), signal.SIGTERM))
    status, result = end_of(lambda _params: task, capsys)
    assert status == 1
    assert (
        result["msg"]
        == "The run was stopped by SIGTERM. All steps so far remain valid; run again to continue."
    )
    assert result["done"] == 1
    assert task.closed
    assert signal.getsignal(signal.SIGTERM) is before


def test_signal_that_is_ignored_on_purpose_stays_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        task = CountingTask(lambda: os.kill(os.getpid(), signal.SIGHUP))
        status, _result = end_of(lambda _params: task, capsys)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert status == 0


def test_signal_that_was_lost_can_be_sent_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Other code may catch the exception of the first signal."""

    def lose_the_first() -> None:
        for _attempt in range(2):
            with suppress(Stopped):
                os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)

    task = CountingTask(lose_the_first)
    status, result = end_of(lambda _params: task, capsys)
    assert status == 1
    assert result["msg"].startswith("The run was stopped by SIGTERM.")
    assert task.closed


def test_a_second_signal_does_not_interrupt_the_cleanup(capsys: pytest.CaptureFixture[str]) -> None:
    class Stubborn(CountingTask):
        def _close(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            super()._close()

    task = Stubborn(lambda: os.kill(os.getpid(), signal.SIGINT))
    _status, result = end_of(lambda _params: task, capsys)
    assert result["msg"].startswith("The run was stopped by SIGINT.")
    assert task.closed


def test_older_python_is_refused_before_the_task_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Task] = []

    def make(_params: Mapping[str, Any]) -> Task:
        made.append(CountingTask(nothing))
        return made[0]

    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3.8")
    status, result = end_of(make, capsys)
    assert status == 1
    assert made == []
    assert result == {
        "failed": True,
        "msg": "Python 3.8.18 runs this module (/usr/bin/python3.8), and olap.partmove needs 3.9 or later."
        " Set ansible_python_interpreter to a later one.",
    }


def test_oldest_python_is_not_refused() -> None:
    refuse_old_python((3, 9, 0), "/usr/bin/python3.9")
    with pytest.raises(PartMoveError, match="needs 3.9 or later"):
        refuse_old_python((3, 8, 99), "/usr/bin/python3.8")


@pytest.mark.parametrize("name", MODULES)
def test_modules_load_with_an_older_python(name: str) -> None:
    """All other imports happen after the check of the Python version."""
    show = (
        f"import sys, {COLLECTION}.modules.{name};"
        f"print(*(each for each in sys.modules if each.startswith('{COLLECTION}.module_utils.')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(COLLECTIONS)}
    done = subprocess.run(
        [sys.executable, "-c", show], env=environment, capture_output=True, text=True, check=True
    )
    loaded = {each.removeprefix(f"{COLLECTION}.module_utils.") for each in done.stdout.split()}
    packages = {"_partmove", "_tasks"}
    assert loaded - packages <= {"_partmove.errors", "_tasks.argspec", "_tasks.runner"}
