# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends the multi of an insert at a steady rate, in a process of its own, and tells how long each took.

The first line of standard input names the ensemble. Each further line is the rate from then on, in inserts a
second; 0 lets it rest. At the end of the input it writes the inserts as JSON: when each was sent, in seconds
of CLOCK_MONOTONIC, and how long it took in milliseconds.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    Multi,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.session import Session
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    Answer,
    MultiEncoder,
    MultiWrite,
)

_FOLDER = "/bench-inserts"
_NAMES = ("log", "block", "part")
_FIRST: Multi = (Create(_FOLDER, b""),)
_INSERT: Multi = (
    *(Create(f"{_FOLDER}/{name}", b"x" * 120) for name in _NAMES),
    *(Delete(f"{_FOLDER}/{name}", -1) for name in _NAMES),
)
"""As many writes as an insert of a part has; leaves nothing behind."""
_LAST_SECONDS = 5.0


class _Insert(MultiWrite):
    """Notes when its answer comes, in the thread that receives it."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload, lambda: True)
        self.began = time.monotonic()
        self.milliseconds = 0.0

    def deserialize(self, packet: bytes, offset: int) -> Answer:
        self.milliseconds = (time.monotonic() - self.began) * 1000
        return super().deserialize(packet, offset)


def main() -> None:
    """Insert as standard input says."""
    hosts = tuple(_line().split())
    session = Session(EnsembleOptions("measured", hosts), "measured")
    encoder = MultiEncoder("", authenticated=False)
    session.ask(MultiWrite(encoder.encode(_FIRST), lambda: True))
    inserts = [*_send(session, encoder.encode(_INSERT))]
    deadline = time.monotonic() + _LAST_SECONDS
    while any(not each.milliseconds for each in inserts) and time.monotonic() < deadline:
        time.sleep(0.01)
    session.close()
    json.dump([(each.began, each.milliseconds) for each in inserts], sys.stdout)


def _line() -> str:
    """Read a line without reading ahead: `select` does not see what is in a buffer."""
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as unbuffered:
        return unbuffered.readline().decode()


def _send(session: Session, payload: bytes) -> Iterator[_Insert]:
    """Send inserts at the rate of standard input, whether or not earlier ones are answered; yield each."""
    rate, due = 0.0, 0.0
    while True:
        pause = max(0.0, due - time.monotonic()) if rate else None
        if select.select([sys.stdin], [], [], pause)[0]:
            line = _line()
            if not line:
                return
            rate, due = float(line), time.monotonic()
            continue
        insert = _Insert(payload)
        session.send(insert)
        yield insert
        due += 1 / rate


@dataclass
class Inserts:
    """The process, as its parent sees it; ``sent`` has the inserts once it has ended."""

    process: subprocess.Popen[str]
    sent: list[tuple[float, float]] = field(default_factory=list)
    """When each was sent, in seconds of CLOCK_MONOTONIC, and milliseconds until its answer."""

    def rate(self, per_second: float) -> None:
        """Send so many inserts a second from now on."""
        if self.process.stdin is None:
            raise RuntimeError("the process has no standard input")
        self.process.stdin.write(f"{per_second}\n")
        self.process.stdin.flush()

    def between(self, begin: float, end: float) -> list[float]:
        """The milliseconds of the inserts sent in this time, sorted; RuntimeError if one has no answer."""
        found = sorted(took for sent, took in self.sent if begin <= sent < end)
        if not found or not found[0]:
            raise RuntimeError(f"not every insert was answered: {len(found)} between {begin} and {end}")
        return found


@contextmanager
def inserting(hosts: list[str]) -> Iterator[Inserts]:
    """Run the process for the ensemble; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmark.measured_inserts"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    inserts = Inserts(process)
    if process.stdin is None:
        raise RuntimeError("the process has no standard input")
    process.stdin.write(" ".join(hosts) + "\n")
    try:
        yield inserts
    finally:
        output, _none = process.communicate()
    inserts.sent = [(sent, took) for sent, took in json.loads(output)]


if __name__ == "__main__":
    main()
