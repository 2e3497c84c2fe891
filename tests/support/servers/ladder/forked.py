# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program of the ladder that is called many times, without loading its library each time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pytest

from support.servers.downloads import NotToBeHad
from support.servers.ladder import fork_launch
from support.servers.ladder.programs import ENVIRONMENT, Program
from support.servers.ladder.rungs import rung


class Ended(NamedTuple):
    """A call that came to its end: the exit status, and what the program wrote."""

    status: int
    written: str


class ForkedProgram:
    """A program of a version, loaded once.

    Raises:
        NotToBeHad: this machine does not have the version.
    """

    def __init__(self, version: str, program: Program) -> None:
        name, entry_point = program.value
        self._name = name
        self._process = subprocess.Popen(
            [sys.executable, "-S", fork_launch.__file__, str(rung(version).library()), entry_point, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> ForkedProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def call(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path) -> Ended:
        """Call the program and wait for its end.

        Raises:
            RuntimeError: it was not called, such as without the folder `cwd`; with the error.
        """
        given = {
            "arguments": list(arguments),
            "environment": {**ENVIRONMENT, **environment},
            "cwd": str(cwd),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        ended = Ended(**json.loads(self._process.stdout.readline()))
        if ended.status == fork_launch.NOT_CALLED:
            raise RuntimeError(f"{self._name} was not called: {ended.written}")
        return ended


def forked_or_skip(version: str, program: Program) -> ForkedProgram:
    """Load the program, or skip the test with the reason where this machine does not have the version."""
    try:
        return ForkedProgram(version, program)
    except NotToBeHad as error:
        pytest.skip(f"NOT RUN: ClickHouse {version}: {error}")
