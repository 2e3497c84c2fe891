# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves all partitions there and back, kills runs and servers meanwhile, and lets others read."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from seen_once.ground import Ground
from seen_once.kinds import DAYS
from seen_once.reading import Readers, Tally
from support.ansible.calls import Call, answer_of, run_modules, start_module

_LONGEST_RUN = 12.0
"""After this many seconds at the latest a run or a server is killed."""
_MOST_RUNS = 60
_AFTERWARDS = 20.0
"""For how many seconds after the return of a server reads may fail."""


@dataclass
class Moves:
    """What was moved and killed meanwhile."""

    partitions: int = 0
    ways: int = 0
    """How often all partitions arrived."""
    killed: Counter[str] = field(default_factory=Counter)
    deferred: Counter[str] = field(default_factory=Counter)
    """By gate."""
    unprotected: list[str] = field(default_factory=list)
    """Why runs used no row policy."""

    def summary(self) -> str:
        """The figures in a line."""
        kills = ", ".join(f"{times} kills of {what}" for what, times in sorted(self.killed.items()))
        return f"{self.partitions:,} partitions moved in {self.ways} ways; {kills or 'nothing killed'}"


class Campaign:
    """Moves until there are enough reads."""

    def __init__(self, ground: Ground, *, threads: int, seed: int, kills: bool, readers: str) -> None:
        """``readers``: the option of twin_move."""
        self.readers = Readers(ground, threads, seed)
        self.moves = Moves()
        self._ground = ground
        self._choose = random.Random(seed)
        self._kills = kills
        self._option = readers
        self._disturbances = 0

    def run(self, reads: int, seconds: float, say: Callable[[str], None]) -> Tally:
        """Move there and back until so many reads were answered, or the time is over."""
        end = time.monotonic() + seconds
        states = ("cold", "hot")
        with self.readers.running() as tally:
            while tally.reads.total() < reads and time.monotonic() < end:
                state = states[self.moves.ways % 2]
                self._bring_all(state)
                self.moves.ways += 1
                say(f"all partitions are {state}; {tally.summary()}; {self.moves.summary()}")
        return tally

    def _bring_all(self, state: str) -> None:
        """Run until all partitions are there."""
        source = "hits" if state == "cold" else "hits_cold"
        for number in range(_MOST_RUNS):
            # Some runs are left alone, so that all partitions arrive at last.
            act = self._choose.randrange(3) if self._kills and number % 4 != 3 else 0
            if act == 1:
                self._kill_run(state)
            elif act == 2:
                self._kill_server(state)
            else:
                self._note(run_modules(self._call(state))[0])
            if self._ground.partitions_in(source) == 0 and act == 0:
                return
        raise AssertionError(f"partitions are left in {source} after {_MOST_RUNS} runs")

    def _call(self, state: str) -> Call:
        return self._ground.call(state, readers=self._option, readers_wait="2m")

    def _note(self, answer: dict[str, Any]) -> None:
        self.moves.partitions += answer["counts"]["moved"]
        for gate in answer["gates"]:
            self.moves.deferred[gate["gate"]] += gate["deferred"] + gate["failed"]
        self.moves.unprotected += [each["reason"] for each in answer["readers"] if each["reason"]]

    def _kill_run(self, state: str) -> None:
        process = start_module(self._call(state))
        time.sleep(self._choose.uniform(0.5, _LONGEST_RUN))
        if process.poll() is None:
            process.kill()
            self.moves.killed["runs"] += 1
        process.communicate()

    def _kill_server(self, state: str) -> None:
        number = self._choose.randrange(len(self._ground.servers))
        with self._without_answers():
            process = start_module(self._call(state))
            time.sleep(self._choose.uniform(0.5, _LONGEST_RUN))
            self._ground.servers[number].kill()
            self.moves.killed["servers"] += 1
            time.sleep(self._choose.uniform(0.1, 2.0))
            self._ground.revive(number)
            self._note(answer_of(process))

    @contextmanager
    def _without_answers(self) -> Iterator[None]:
        """Let reads fail for want of a server."""
        self._disturbances += 1
        self.readers.disturbed.set()
        try:
            yield
        finally:
            # Reads that began before go on for a while.
            threading.Timer(_AFTERWARDS, self._end_disturbance).start()

    def _end_disturbance(self) -> None:
        self._disturbances -= 1
        if not self._disturbances:
            self.readers.disturbed.clear()


def problems_of(tally: Tally, moves: Moves) -> list[str]:
    """Return everything that must not be."""
    found = [f"wrong: {each}" for each in tally.examples] + [f"failed: {each}" for each in tally.errors]
    found += [f"no row policy: {each}" for each in moves.unprotected[:3]]
    if moves.partitions < DAYS:
        found.append(f"only {moves.partitions} partitions moved, deferred by {dict(moves.deferred)}")
    return found
