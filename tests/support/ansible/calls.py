# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs playbooks on this machine with the collection as it is in the working folder."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support.ansible import quick_playbook, warm_interpreter, warm_playbook
from support.ansible.documented import undocumented
from support.ansible.warm import Ended, WarmPython
from support.schemas import problems

ROOT = Path(__file__).resolve().parents[3]
COLLECTIONS = ROOT / "build" / "collections"
PROGRAMS = Path(os.environ.get("ANSIBLE_PROGRAMS", Path(sys.executable).parent))
"""Where ansible-playbook and its kin are; of this Python, unless another ansible-core is to be tested."""
OTHER_CORE = "ANSIBLE_PROGRAMS" in os.environ
_SECONDS = 3600.0

# The options of a module as they are repeated with its result.
_INVOCATION = re.compile(r'^( +)"invocation": \{\n.*?\n\1\},?\n', re.DOTALL | re.MULTILINE)
_SCHEMAS = {
    "census_info": "census",
    "part_audit_info": "audit-patched",
    "twin_audit_info": "audit-twin",
}
_TOLD = 4000
"""Characters of the output of a run that are shown where it did not end as it should."""


class Call(NamedTuple):
    """One task that calls a module of the collection."""

    module: str
    """Name without the collection."""
    args: Mapping[str, Any]
    check_mode: bool = False


class PlaybookRun(NamedTuple):
    """What a run of ansible-playbook gave."""

    status: int
    output: str
    """All it wrote, with the verbosity -vvv."""

    @property
    def told(self) -> str:
        """What to look at first: tasks from the first that failed on, or the end where none did."""
        text = _INVOCATION.sub("", self.output)
        failed = text.find("\nfatal: ")
        if failed < 0:
            return text[-_TOLD:]
        told = text[max(text.rfind("\nTASK [", 0, failed), 0) :]
        return told if len(told) <= 2 * _TOLD else f"{told[:_TOLD]}\n[...]\n{told[-_TOLD:]}"


def run_playbook(playbook: Path, *options: str, **environment: str) -> PlaybookRun:
    """Run a playbook against localhost; `options` are those of ansible-playbook."""
    home = _home()
    program = quick_playbook.program(PROGRAMS / "python" if OTHER_CORE else None)
    command = [str(program), "-vvv", "-i", "localhost,"]
    done = subprocess.run(
        [*command, "--connection", "local", *options, str(playbook)],
        env={
            **os.environ,
            # There is no variable for all that it sets.
            "ANSIBLE_CONFIG": str(warm_playbook.CONFIG),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
            "ANSIBLE_REMOTE_TEMP": str(home / "remote"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": _interpreter(),
            "LC_ALL": "C.UTF-8",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return PlaybookRun(done.returncode, done.stdout)


@cache
def _home() -> Path:
    """Return the folder of Ansible's own files; each run is one of many with the same settings."""
    folder = Path(tempfile.mkdtemp(prefix="ansible-home-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _interpreter() -> str:
    """Return one for which nothing has to be imported, where it has the right ansible-core."""
    return sys.executable if OTHER_CORE else str(warm_interpreter.program(COLLECTIONS))


def write_playbook(folder: Path, tasks: Sequence[Mapping[str, Any]]) -> Path:
    """Write a playbook of one play with the tasks; JSON is YAML."""
    play = {"hosts": "localhost", "gather_facts": False, "tasks": list(tasks)}
    path = folder / "playbook.yml"
    path.write_text(json.dumps([play]))
    return path


def call_modules(folder: Path, *calls: Call, **environment: str) -> tuple[list[dict[str, Any]], str]:
    """Call modules one after the other, with --diff, whether or not they fail; return results and output.

    Each is packed, sent in a file and started as on any host.
    """
    tasks: list[Mapping[str, Any]] = [
        {
            "name": f"Call {call.module}",
            f"olap.partmove.{call.module}": dict(call.args),
            "register": f"result_{number}",
            "check_mode": call.check_mode,
            "diff": True,
            "ignore_errors": True,
        }
        for number, call in enumerate(calls)
    ]
    results = folder / "results.json"
    names = ", ".join(f"result_{number}" for number in range(len(calls)))
    keep = {
        "name": "Keep the results",
        "ansible.builtin.copy": {"content": f"{{{{ [{names}] | to_json }}}}", "dest": str(results)},
        "no_log": True,
    }
    plain = {"ANSIBLE_PYTHON_INTERPRETER": sys.executable, "ANSIBLE_PIPELINING": "false"}
    run = run_playbook(write_playbook(folder, [*tasks, keep]), **{**plain, **environment})
    assert run.status == 0, run.told
    found: list[dict[str, Any]] = json.loads(results.read_text())
    return found, run.output


def start_module(call: Call) -> subprocess.Popen[str]:
    """Start a module as Ansible does, with its arguments on the standard input, and without Ansible.

    It ignores no signal, even where the tests do, such as SIGINT in the background of a shell.
    """
    process = subprocess.Popen(
        [
            *("env", "--default-signal", sys.executable),
            *("-m", f"ansible_collections.olap.partmove.plugins.modules.{call.module}"),
        ],
        env={**os.environ, "PYTHONPATH": str(COLLECTIONS), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(_arguments(call))
    process.stdin.close()
    process.stdin = None
    return process


def answer_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the end of a module and return its result, as Ansible completes it."""
    output, errors = process.communicate(timeout=_SECONDS)
    return _completed(Ended(process.returncode, output, errors))


def run_modules(*calls: Call, python: WarmPython | None = None) -> list[dict[str, Any]]:
    """Run modules as `call_modules` does, without Ansible, which takes most of its time."""
    python = python or _own_python()
    answers = [_completed(python.run(call.module, _arguments(call))) for call in calls]
    for call, answer in zip(calls, answers, strict=True):
        unknown = undocumented(call.module, answer)
        assert not unknown, f"the RETURN of {call.module} has no {', '.join(unknown)}"
        _require_valid(call, answer)
    return answers


def _require_valid(call: Call, answer: Mapping[str, Any]) -> None:
    """Check what programs of others read by its published schema: results, and the journal."""
    schema = _SCHEMAS.get(call.module)
    if schema and not answer["failed"]:
        assert not problems(schema, answer)
    journal = Path(call.args.get("journal") or "/no/journal")
    if journal.is_file():
        for line in journal.read_text(encoding="utf-8").splitlines():
            assert not problems("journal", json.loads(line))


@cache
def _own_python() -> WarmPython:
    python = WarmPython(sys.executable, [COLLECTIONS])
    atexit.register(python.close)
    return python


def _arguments(call: Call) -> str:
    internal = {"_ansible_check_mode": call.check_mode, "_ansible_diff": True}
    return json.dumps({"ANSIBLE_MODULE_ARGS": {**call.args, **internal}})


def _completed(ended: Ended) -> dict[str, Any]:
    assert ended.errors == "", ended.errors
    result: dict[str, Any] = {"failed": False, "changed": False, **json.loads(ended.output)}
    assert result["failed"] == bool(ended.status)
    return result
