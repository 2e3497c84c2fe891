# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a command, and kills it with all its processes as soon as a query of a server returns more than 0.

Usage: python -m staging.day.kill HOST:PORT QUERY OUTPUT -- COMMAND ...

Prints the answer with which the command was killed, and fails if the command ended before.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .config import Config
from .queries import send

_PAUSE_SECONDS = 0.02


def main() -> int:
    """Return 1 if the command ended before."""
    parser = argparse.ArgumentParser(prog="staging.day.kill", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("query")
    parser.add_argument("output", type=Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with options.output.open("wb") as output:
        run = subprocess.Popen(options.command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            while (
                answer := int(send(options.address, options.query, Config([])))
            ) == 0 and run.poll() is None:
                time.sleep(_PAUSE_SECONDS)
            ended = run.poll()
        finally:
            _kill_all(run)
    if ended is not None:
        print(f"the command ended with {ended} before it was killed: see {options.output}", file=sys.stderr)
        return 1
    print(answer)
    return 0


def descendants(process: int) -> list[int]:
    """Return a process and all below it. Ansible gives its workers sessions of their own."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the program, in brackets, may have spaces.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            # It has ended meanwhile.
            continue
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def _kill_all(run: subprocess.Popen[bytes]) -> None:
    if run.poll() is None:
        for process in descendants(run.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        run.wait()


if __name__ == "__main__":
    sys.exit(main())
