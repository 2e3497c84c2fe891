# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Threads that read all the time, compare each answer, and count."""

from __future__ import annotations

import http.client
import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seen_once.ground import Ground
from seen_once.kinds import KINDS, Kind
from support.servers.sql_server import QueryError

_SHOWN = 400
_NO_ANSWER = (
    "NETWORK_ERROR",
    "ALL_CONNECTION_TRIES_FAILED",
    "ALL_REPLICAS_ARE_STALE",
    "SOCKET_TIMEOUT",
    "ATTEMPT_TO_READ_AFTER_EOF",
)
"""What a server says of another one that was killed."""


@dataclass
class Tally:
    """What readers saw.

    reads, wrong: by kind. unanswered: reads that a killed server did not answer. errors: the first texts of
    other errors, and the number of all.
    """

    reads: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    failed: int = 0
    errors: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures in a line."""
        return (
            f"{self.reads.total():,} reads of {len(self.reads)} kinds, {self.wrong.total():,} wrong,"
            f" {self.failed:,} failed, {self.unanswered:,} unanswered by killed servers"
        )


class Readers:
    """Reads of random kinds on random servers."""

    def __init__(self, ground: Ground, threads: int, seed: int) -> None:
        """Nothing is read before `running`."""
        self.tally = Tally()
        self.disturbed = threading.Event()
        """Whether servers may be down, so that reads need not be answered."""
        self._ground = ground
        self._threads = threads
        self._seed = seed
        self._number = itertools.count(1)
        self._guard = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[Tally]:
        """Read until the end of the block."""
        ended = threading.Event()

        def read(number: int) -> None:
            choose = random.Random(1000 * self._seed + number)
            kinds: list[Kind] = []
            while not ended.is_set():
                # Each kind as often as the others, in an order of its own.
                kinds = kinds or choose.sample(KINDS, len(KINDS))
                self._read(kinds.pop(), choose.randrange(len(self._ground.servers)))

        threads = [threading.Thread(target=read, args=(each,)) for each in range(self._threads)]
        for each in threads:
            each.start()
        try:
            yield self.tally
        finally:
            ended.set()
            for each in threads:
                each.join()

    def _read(self, kind: Kind, server: int) -> None:
        values = {"n": next(self._number), "peers": self._ground.peers}
        settings = {"prefer_localhost_replica": 0, **dict(kind.settings)}
        *before, query = (each.format(**values) for each in kind.statements)
        reader = self._ground.servers[server]
        may_fail = self.disturbed.is_set()
        try:
            for statement in before:
                reader.execute(statement)
            answer = sorted(reader.query(query, **settings))
        except (OSError, http.client.HTTPException, ValueError, QueryError) as error:
            self._count_error(kind, error, may_fail or self.disturbed.is_set())
            return
        with self._guard:
            self.tally.reads[kind.name] += 1
            if answer != sorted(kind.answer):
                self.tally.wrong[kind.name] += 1
                if len(self.tally.examples) < 20:
                    self.tally.examples.append(f"{kind.name} on {reader.name}: {answer}"[:_SHOWN])

    def _count_error(self, kind: Kind, error: Exception, may_fail: bool) -> None:
        is_network = not isinstance(error, QueryError) or any(each in str(error) for each in _NO_ANSWER)
        with self._guard:
            if may_fail and is_network:
                self.tally.unanswered += 1
                return
            self.tally.failed += 1
            if len(self.tally.errors) < 20:
                self.tally.errors.append(f"{kind.name}: {error}"[:_SHOWN])
