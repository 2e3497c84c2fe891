# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands of docs/quickstart.md, as they are written there, on the servers that the page speaks of."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from demo.sandbox import READY
from support.ansible import quick_playbook, warm_interpreter
from support.ansible.calls import PROGRAMS, ROOT

PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
_BLOCKS = re.compile(r"^```bash\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
# What gets things from elsewhere; what they would install, this Python has.
_NOT_HERE = re.compile(r"git clone |python3 -m venv |pip install ")


class Step(NamedTuple):
    """A block of commands of the page, and what it says that they write."""

    commands: str
    told: tuple[str, ...]


STEPS = [Step(commands, tuple(told.splitlines())) for commands, told in _BLOCKS.findall(PAGE)]


@contextmanager
def sandbox(folder: Path) -> Iterator[None]:
    """The servers that `make sandbox` starts, until the block ends; it has to end well."""
    command = [sys.executable, "-m", "demo.sandbox", "--folder", str(folder)]
    path = os.pathsep.join([str(ROOT / "build" / "collections"), str(ROOT / "tests")])
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            told: list[str] = []
            while READY not in told:
                line = process.stdout.readline()
                assert line, "\n".join(told)
                told.append(line.rstrip("\n"))
            yield
        finally:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0


def carry_out(step: Step, folder: Path, **given: str) -> str:
    """Run the commands in one shell, in the folder of the repository, and return what they write."""
    lines = [line for line in step.commands.splitlines() if not _NOT_HERE.match(line)]
    # Other tests may run the page's servers, and build the archive, at the same time.
    commands = "\n".join(lines).replace("build/sandbox", str(folder))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(folder / "programs"), str(PROGRAMS), os.environ["PATH"]]),
            "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
            "ANSIBLE_HOME": str(folder / "ansible-home"),
            **given,
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
            # Where the plan is written unless a variable says otherwise.
            "PWD": str(folder),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def test_what_is_not_run_here_is_what_the_page_says() -> None:
    """Else a new way to install would go unseen."""
    left_out = [line for step in STEPS for line in step.commands.splitlines() if _NOT_HERE.match(line)]
    assert left_out == [
        "git clone https://github.com/olap-partmove/olap.partmove && cd olap.partmove",
        "python3 -m venv ~/partmove && . ~/partmove/bin/activate",
        "pip install -r requirements.txt",
    ]
    assert (ROOT / "requirements.txt").is_file()
    assert "\nmake sandbox\n" in PAGE
    assert "$(RUN) -m demo.sandbox\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.long(minutes=4)
@pytest.mark.clickhouse
def test_every_command_does_what_the_page_says(clickhouse: str, tmp_path: Path) -> None:
    install, *steps = STEPS
    said = carry_out(install, tmp_path)
    assert all(line in said for line in install.told), said
    assert len(steps) == 5
    # With what was installed, and none of the working folder.
    quick_playbook.write_program(tmp_path / "programs", tmp_path / "packed", Path(sys.executable))
    interpreter = str(warm_interpreter.program(tmp_path / "collections"))
    with sandbox(tmp_path):
        for step in steps:
            said = carry_out(step, tmp_path, ANSIBLE_PYTHON_INTERPRETER=interpreter)
            assert all(line in said for line in step.told), said
    assert (tmp_path / "report" / "report.html").is_file()
