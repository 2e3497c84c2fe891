# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a command, and kills it with all its processes while a znode has grandchildren.

Usage: python -m staging.day.kill HOST:PORT ZNODE OUTPUT -- COMMAND ...

The records of moves are such grandchildren of /partmove/twins. Prints what was there when it was killed, and
fails if the command ended before.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

_PAUSE_SECONDS = 0.02


def grandchildren(client: KazooClient, path: str) -> dict[str, list[str]]:
    """Return the children of each child that has some."""
    found = {}
    try:
        for child in client.get_children(path):
            if below := client.get_children(f"{path}/{child}"):
                found[child] = below
    except NoNodeError:
        # Not yet, or not any more.
        return {}
    return found


def main() -> int:
    """Return 1 if the command ended before."""
    parser = argparse.ArgumentParser(prog="staging.day.kill", description=__doc__)
    parser.add_argument("hosts")
    parser.add_argument("path")
    parser.add_argument("output", type=Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    client = KazooClient(options.hosts, timeout=20.0)
    client.start(timeout=60)
    try:
        with options.output.open("wb") as output:
            run = subprocess.Popen(options.command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            while not (found := grandchildren(client, options.path)) and run.poll() is None:
                time.sleep(_PAUSE_SECONDS)
            ended = run.poll()
            if ended is None:
                _kill_all(run.pid)
                run.wait()
    finally:
        client.stop()
        client.close()
    if ended is not None:
        print(f"the command ended with {ended} before it was killed: see {options.output}", file=sys.stderr)
        return 1
    print(json.dumps(found))
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


def _kill_all(first: int) -> None:
    for process in descendants(first):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
