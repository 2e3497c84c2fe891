# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gets programs for tests from package indexes, in a way that says why one cannot be had."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SECONDS = 1800


class NotToBeHad(Exception):
    """A release cannot be had on this machine; the text is a sentence without its full stop."""


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
