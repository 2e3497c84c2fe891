# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs modules in forks of a process that has imported what they import, which takes most of their time.

A run is a process of its own, with the arguments on its standard input, as where Ansible starts it. This
file is the program of the process that waits as well, `python -m support.ansible.warm`, and loads with every
Python that modules do.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

_COLLECTION = "ansible_collections.olap.partmove.plugins"
_TESTS = Path(__file__).resolve().parents[2]


class Ended(NamedTuple):
    """How a module ended."""

    status: int
    output: str
    errors: str


class WarmPython:
    """A Python that waits for modules to run; it ends with this process, or when it is closed."""

    def __init__(self, python: str, path: Sequence[Path]) -> None:
        """Start it; `path` has what PYTHONPATH is to have for modules."""
        # It ignores no signal, even where the tests do, such as SIGINT in the background of a shell.
        self._process = subprocess.Popen(
            ["env", "--default-signal", python, "-m", "support.ansible.warm"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, _TESTS)))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, module: str, arguments: str) -> Ended:
        """Run a module with the environment that this process has now, and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        wanted = {"module": module, "arguments": arguments, "environment": environment}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _serve() -> None:
    """Run what each line asks for. A fork goes on as the module, and ends with it as any program."""
    # The standard streams are left unused, so that a fork finds nothing in their buffers.
    with os.fdopen(os.dup(0)) as requests, os.fdopen(os.dup(1), "w") as answers:
        _import_all()
        for line in requests:
            answers.write(json.dumps(_run_in_fork(**json.loads(line))) + "\n")
            answers.flush()


def _run_in_fork(module: str, arguments: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """Return the status, the output and the errors."""
    with ExitStack() as stack:
        given, told, errors = (stack.enter_context(tempfile.TemporaryFile()) for _stream in range(3))
        given.write(arguments.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in enumerate((given, told, errors)):
                os.dup2(file.fileno(), number)
            os.environ.clear()
            os.environ.update(environment)
            tempfile.tempdir = None  # That of the environment.
            runpy.run_module(f"{_COLLECTION}.modules.{module}", run_name="__main__", alter_sys=True)
            sys.exit()
        status = os.waitpid(child, 0)[1]
        for file in (told, errors):
            file.seek(0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return code, told.read().decode(), errors.read().decode()


def _import_all() -> None:
    """Import all but the modules themselves; those import nothing else."""
    importlib.import_module("ansible.module_utils.basic")
    tasks = importlib.import_module(f"{_COLLECTION}.module_utils._tasks")
    for found in pkgutil.iter_modules(tasks.__path__):
        importlib.import_module(f"{tasks.__name__}.{found.name}")
    # Else each fork would look through, and so copy, all of it when it ends.
    gc.freeze()


if __name__ == "__main__":
    _serve()
