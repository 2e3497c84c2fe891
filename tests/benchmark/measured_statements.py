# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends inserts and queries to ClickHouse servers at a steady rate, in a process of its own.

The arguments are the statements a second of each kind, the ports of the servers, and the table. At the end
of standard input it writes as JSON, for each kind, when each statement was due, in seconds of
CLOCK_MONOTONIC, and how many milliseconds after that it was answered.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlencode

_THREADS = 4
"""For each server and kind: so many statements can be late before the next one waits for them."""
KINDS: Mapping[str, str] = {
    "insert": "INSERT INTO {table} VALUES ({number})",
    "query": "SELECT count() FROM {table} WHERE id % 7 = {number} % 7",
}


def main() -> None:
    """Send statements until standard input ends."""
    rate, ports, table = float(sys.argv[1]), [int(each) for each in sys.argv[2].split(",")], sys.argv[3]
    ended, sent = threading.Event(), {kind: list[tuple[float, float]]() for kind in KINDS}
    begin, interval = time.monotonic(), _THREADS * len(ports) / rate
    numbers = count()

    def send(kind: str, port: int, first: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        due = first
        while not ended.wait(max(0.0, due - time.monotonic())):
            sql = KINDS[kind].format(table=table, number=next(numbers))
            connection.request("POST", f"/?{urlencode({'async_insert': 0})}", sql.encode())
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != http.client.OK:
                raise RuntimeError(text.decode())
            sent[kind].append((due, (time.monotonic() - due) * 1000))
            due += interval

    threads = [
        threading.Thread(
            target=send, args=(kind, port, begin + interval * (at + thread / _THREADS) / len(ports))
        )
        for kind in KINDS
        for at, port in enumerate(ports)
        for thread in range(_THREADS)
    ]
    for each in threads:
        each.start()
    sys.stdin.read()
    ended.set()
    for each in threads:
        each.join()
    json.dump(sent, sys.stdout)


@dataclass
class Statements:
    """What was sent, once the block of `sending` has ended."""

    sent: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def between(self, kind: str, begin: float, end: float) -> list[float]:
        """The milliseconds of the statements that were due in this time, sorted; RuntimeError without any."""
        found = sorted(took for due, took in self.sent[kind] if begin <= due < end)
        if not found:
            raise RuntimeError(f"no {kind} was answered")
        return found


@contextmanager
def sending(rate: float, ports: Sequence[int], table: str) -> Iterator[Statements]:
    """Run the process; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmark.measured_statements", str(rate), ",".join(map(str, ports)), table],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    statements = Statements()
    try:
        yield statements
    finally:
        output, _none = process.communicate()
    statements.sent = json.loads(output)


if __name__ == "__main__":
    main()
