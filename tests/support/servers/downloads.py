# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gets programs for tests from package indexes, in a way that says why one cannot be had."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_PIP_DOWNLOAD = (
    "-m",
    "pip",
    "download",
    "--quiet",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "--no-deps",
)
_SECONDS = 1800


class NotToBeHad(Exception):
    """A release cannot be had on this machine; the text is a sentence without its full stop."""


class Kept(NamedTuple):
    """A release that is got once and kept in a folder; a file beside it says why it could not be had.

    target: of make, which gets it.
    name: of the program, such as ZooKeeper.
    """

    target: str
    name: str
    folder: Path

    def provide(self, get: Callable[[], None]) -> str:
        """Call `get`, which makes a missing folder, and return one line that says what there is."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._why.unlink(missing_ok=True)
        try:
            get()
        except NotToBeHad as error:
            self._why.write_text(str(error))
            return f"{self.target}: NOT RUN: tests of {self.name} {self.folder.name}, because {error}"
        return f"{self.target}: {self.folder.name} is in {self.folder}"

    def absence(self, variables: str = "") -> NotToBeHad:
        """What `provide` found out, or else the command that gets the release, with variables of make."""
        if self._why.exists():
            return NotToBeHad(self._why.read_text())
        return NotToBeHad(f"`make {self.target}{variables}` gets it")

    @property
    def _why(self) -> Path:
        return self.folder.parent / f"{self.folder.name}.txt"


def pip_download(*arguments: str) -> None:
    """Download a package without those that it needs.

    Raises:
        NotToBeHad: pip failed.
    """
    run_command(sys.executable, *_PIP_DOWNLOAD, *arguments)


def run_command(*command: str, cwd: Path | None = None) -> str:
    """Run a program to its end and return its standard output.

    Raises:
        NotToBeHad: it failed or lasted too long; with the last line that it wrote.
    """
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"{command[0]} did not come to an end within {_SECONDS} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing"]
        raise NotToBeHad(f"{Path(command[0]).name} said: {said[-1].strip().rstrip('.')}")
    return done.stdout
