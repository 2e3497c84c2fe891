# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program in the background, and its progress for the caller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import background

SCRIPT = background.__file__
JAVA = "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def call(folder: Path) -> Callable[..., str]:
    def call(*arguments: str) -> str:
        command = [sys.executable, SCRIPT, str(folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    return call


def follow(call: Callable[..., str], offset: str = "0") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call("follow", offset))
    return answer


def ended(call: Callable[..., str], offset: str = "0") -> dict[str, Any]:
    """The news since the offset, after the end of the program."""
    news = follow(call, offset)
    lines = news["lines"]
    while news["status"] is None:
        news = follow(call, news["offset"])
        lines += news["lines"]
    return news | {"lines": lines}


def test_lines_for_people_come_while_the_program_runs(call: Callable[..., str], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = (
        "import pathlib, sys, time\n"
        "sys.stderr.write('partition_classify: one\\nWARN noise\\npartition_classify: tw')\n"
        "sys.stderr.flush()\n"
        f"while not pathlib.Path({str(ready)!r}).exists(): time.sleep(0.05)\n"
        "sys.stderr.write('o\\n')\n"
        "print('partition_classify: three')\nprint('last')\n"
    )
    call("start", sys.executable, "-c", program)
    first = follow(call)
    while not first["lines"]:
        first = follow(call)
    assert first == {"lines": ["one"], "offset": first["offset"], "status": None}

    ready.touch()
    assert ended(call, first["offset"]) == {
        "lines": ["two", "three"],
        "offset": "59:31",
        "status": 0,
        "stdout": "last",
        "reason": "",
    }


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (
            f"partition_classify: reading\npartition_classify failed: No table. Give one.\n{JAVA}",
            "No table. Give one.",
        ),
        (
            "partition_classify: stage 0: 0 of 1 tasks done\nthe disk says no\npartition_classify: stage 1\n",
            "last output of spark-submit: the disk says no (exit status 3)",
        ),
        (
            "one\ntwo\n\nthree\nfour\npartition_classify: stage 0: 0 of 1 tasks done\n",
            "last output of spark-submit: two / three / four (exit status 3)",
        ),
        ("JAVA_HOME is not set\n", f"{background._NO_JAVA} (exit status 3)"),
        ("spark-class: line 71: java: command not found\n", f"{background._NO_JAVA} (exit status 3)"),
        (
            "\tjava.lang.UnsupportedClassVersionError: Main is too new\nCaused by: java.lang.Error: x\n",
            f"{background._TOO_OLD} (exit status 3)",
        ),
        ("java.lang.OutOfMemoryError: Java heap space\n", f"{background._NO_MEMORY} (exit status 3)"),
        ("java.io.IOException: No space left on device\n", f"{background._NO_ROOM} (exit status 3)"),
        (
            f'Exception in thread "main" org.apache.spark.SparkException: Bad master\n{JAVA}',
            "org.apache.spark.SparkException: Bad master (exit status 3)",
        ),
        ("", "spark-submit gave no reason (exit status 3)"),
    ],
)
def test_a_failure_has_one_sentence(call: Callable[..., str], stderr: str, reason: str) -> None:
    call("start", sys.executable, "-c", f"import sys; sys.stderr.write({stderr!r}); sys.exit(3)")
    news = ended(call)
    assert (news["status"], news["reason"]) == (3, reason)


def test_missing_program_is_named(call: Callable[..., str]) -> None:
    call("start", "/none/spark-submit")
    news = ended(call)
    assert news["status"] == 127
    assert news["reason"] == "/none/spark-submit cannot be run: No such file or directory."


def test_program_without_followers_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_UNFOLLOWED_SECONDS", 0.5)
    folder.mkdir()
    begin = time.monotonic()
    (folder / "followed").touch()
    background.wait(folder, [sys.executable, "-c", "import time; time.sleep(600)"])
    assert time.monotonic() - begin > 0.4
    assert (folder / "status").read_text() == str(-signal.SIGTERM)


def test_end_is_reported_without_a_status_file(call: Callable[..., str], folder: Path) -> None:
    call("start", sys.executable, "-c", "import time; time.sleep(60)")
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    news = ended(call)
    assert news["status"] == 128 + signal.SIGKILL
    assert news["reason"] == f"{background._KILLED_TEXT} (exit status 137)"


def test_killed_driver_is_reported_with_the_usual_cause(call: Callable[..., str]) -> None:
    program = (
        "import os, sys\n"
        "sys.stderr.write('partition_classify: stage 0: 0 of 1 tasks done\\nError: earlier\\n')\n"
        "sys.stderr.flush()\nos.kill(os.getpid(), 9)\n"
    )
    call("start", sys.executable, "-c", program)
    assert ended(call)["reason"] == f"{background._KILLED_TEXT} (exit status -9)"


def test_states_of_a_driver_in_a_cluster_are_reported_once() -> None:
    report = "INFO Client: Application report for application_1 (state: {})"
    states = ["ACCEPTED", "ACCEPTED", "RUNNING"]
    content = "\n".join(report.format(each) for each in states)
    assert background.message_lines(content.encode()) == ["Spark reports ACCEPTED", "Spark reports RUNNING"]
    pod = "INFO LoggingPodStatusWatcherImpl: Application status for spark-1 (phase: Succeeded)"
    assert background.message_lines(pod.encode()) == ["Spark reports Succeeded"]
