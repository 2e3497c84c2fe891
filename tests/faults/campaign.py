# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One fault after the other, each with a look at everything, and at times a restart of all servers."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field as new
from functools import partial
from http.client import HTTPException
from itertools import islice

from kazoo.exceptions import KazooException

from faults.field import Field
from faults.journey import Journey
from faults.kinds import PHASES, Fault, Phase, schedule
from faults.rows import STANDING, TRAVELLING, KnownTable
from faults.runs import carry_out
from faults.strike import Strike, Struck

FAULTS_A_TABLE = 20
_ACTS = 8
"""At most, in the background of one fault."""
_RESTARTS = 0.3
"""How likely both servers are restarted before a fault, where they would not carry out ALTERs."""
_MOST_VIOLATIONS = 5
"""Faults with violations after which there is no more to learn."""

Act = Callable[[], object]


@dataclass
class Tally:
    """What was tried and what came of it."""

    faults: Counter[str] = new(default_factory=Counter)
    """By kind; those at a request that the run got to."""
    missed: int = 0
    """Faults at requests that the run did not get to."""
    endings: Counter[str] = new(default_factory=Counter)
    """Ends that the disturbed runs had for some of their partitions."""
    requests: dict[str, set[int]] = new(default_factory=dict)
    """By phase: the requests that something was broken at."""
    acts: Counter[str] = new(default_factory=Counter)
    """What was done to the tables meanwhile."""
    repeated: int = 0
    """Runs that had to be repeated because a server lost its session by itself."""
    looks: int = 0
    """Of the watch that reads both ensembles while a run is disturbed."""
    restarts: int = 0
    bad: list[int] = new(default_factory=list)
    """Numbers of the faults after which there were violations; one before a restart counts for it."""

    @property
    def hits(self) -> int:
        """How many faults there were."""
        return sum(self.faults.values())


class Campaign:
    """Breaks the servers of a field; every choice is made by a seed."""

    def __init__(self, field: Field, seed: int, tell: Callable[[str], object]) -> None:
        """`tell`: is given a line for each fault, and for each violation."""
        self._field = field
        self._seed = seed
        self._tell = tell
        self._journeys: dict[int, Journey] = {}
        """By block of numbers of faults."""
        self._made = 0
        self.tally = Tally()

    def requests(self) -> dict[Phase, int]:
        """Count the requests of a run that nothing disturbs, of each phase."""
        journey = Journey(self._field, "counted", busy=False)
        counted: dict[Phase, int] = {}
        for phase in PHASES:
            journey.bring_to(phase)
            self._field.wire.arm(None)
            carry_out(journey.task(phase, direct=False))
            counted[phase] = self._field.wire.count
            self._field.wire.disarm()
        return counted

    def run(self, requests: Mapping[Phase, int], faults: int, only: Collection[int] = ()) -> None:
        """Go on until there were so many faults, or those of the numbers `only`."""
        planned: Iterable[Fault] = schedule(self._seed, requests)
        if only:
            planned = (fault for fault in islice(planned, max(only) + 1) if fault.number in only)
        last = -1
        with ThreadPoolExecutor(1, thread_name_prefix="run") as pool:
            for fault in planned:
                if last >= 0 and fault.number // FAULTS_A_TABLE != last // FAULTS_A_TABLE:
                    self._restart(last)
                last = fault.number
                self._break(fault, pool)
                is_enough = not only and self.tally.hits >= faults
                if is_enough or len(self.tally.bad) >= _MOST_VIOLATIONS:
                    break
        self._restart(last)

    def _break(self, fault: Fault, pool: ThreadPoolExecutor) -> None:
        """Carry out one fault; what goes wrong besides counts as a violation."""
        begin = time.monotonic()
        line = f"{fault.number:4} {fault.phase.value:17} {fault.kind.value:30} request {fault.request:3} "
        try:
            words, found = self._look_at(fault, pool)
        except (RuntimeError, OSError, HTTPException, KazooException) as error:
            words, found = "", [f"{type(error).__name__}: {error}"]
        self._tell(f"{line}{words} {time.monotonic() - begin:.1f} s")
        self._note(fault.number, found)

    def _look_at(self, fault: Fault, pool: ThreadPoolExecutor) -> tuple[str, list[str]]:
        """Carry out one fault; return what came of it, and what is not as it must be."""
        block = fault.number // FAULTS_A_TABLE
        if block not in self._journeys:
            self._made += 1
            self._journeys[block] = Journey(self._field, f"t{self._made}", busy=block % 2 == 1)
        journey = self._journeys[block]
        chance = random.Random(f"{self._seed}/{fault.number}")
        journey.bring_to(fault.phase)
        # Drawn in any case: what else is chosen must not depend on what happened before.
        if chance.random() < _RESTARTS and not self._field.takes_alters():
            self._restart_servers()
        choices = Choices(self._field, journey.known, fault.phase, chance)
        for act in choices.before:
            act()
        strike = Strike(self._field, journey, fault, chance)
        with ExitStack() as stack:
            watch = None
            # It knows the parts by name.
            if not choices.rewrites:
                watch = stack.enter_context(journey.watch())
            background = stack.enter_context(journey.known.going_on(choices.meanwhile))
            struck = strike.carry_out(pool, background, choices.at_stop)
            self._field.heal([journey.known.table.name])
        if journey.known.hangs:
            self._restart_servers()
            journey.known.hangs = False
        untrue = journey.untrue(fault.phase, struck.ending)
        again, found = journey.finish(fault.phase, inserted=choices.inserts)
        if watch is not None:
            self.tally.looks += watch.rounds
            found = [*watch.problems[:_MOST_VIOLATIONS], *found]
        found += untrue
        self._count(fault, struck)
        self.tally.acts += journey.known.acts
        journey.known.acts.clear()
        self.tally.repeated += journey.repeated
        journey.repeated = 0
        reached = "" if struck.hit else "not reached, "
        return f"{reached}{struck.ending}; again: {again}; {background.done} acts,", found

    def _restart(self, last: int) -> None:
        """Restart both servers; every part of every table must be active again."""
        self._restart_servers()
        found: list[str] = []
        for journey in self._journeys.values():
            found += [f"{journey.known.table.name}: {each}" for each in journey.violations()]
        self._tell(f"     both servers restarted; {len(self._journeys)} tables looked at")
        self._note(last, found)

    def _restart_servers(self) -> None:
        for server in self._field.servers:
            server.stop()
        for server in self._field.servers:
            self._field.start(server)
        self._field.heal([journey.known.table.name for journey in self._journeys.values()])
        self.tally.restarts += 1

    def _count(self, fault: Fault, struck: Struck) -> None:
        tally = self.tally
        if not struck.hit:
            tally.missed += 1
            return
        tally.faults[fault.kind.value] += 1
        tally.requests.setdefault(fault.phase.value, set()).add(fault.request)
        tally.endings.update(struck.ending.words)

    def _note(self, number: int, found: Sequence[str]) -> None:
        if not found:
            return
        self.tally.bad.append(number)
        for each in found:
            self._tell(f"     VIOLATION {each}")
        # What follows is looked at in a table that nothing is wrong with.
        self._journeys.pop(number // FAULTS_A_TABLE, None)


class Choices:
    """What is done to a table before, while and right where a run is stopped; each kind now and then."""

    def __init__(self, field: Field, known: KnownTable, phase: Phase, chance: random.Random) -> None:
        self._field = field
        self._known = known
        self._chance = chance
        self.before: list[Act] = []
        self.at_stop: list[Act] = []
        self.inserts = False
        """Whether partitions that travel get rows."""
        self.rewrites = False
        """Whether their parts are merged or mutated."""
        self.meanwhile = [self._standing() for _act in range(_ACTS)]
        # No more may be done to a table that has cold partitions.
        if phase is Phase.CLEAN and known.busy:
            self._rewrite(self.meanwhile, partial(known.mutate, self._any(STANDING), self._server()))
        if phase is not Phase.REHEAT and known.busy:
            self._rewrite(self.before, partial(known.mutate, self._any(STANDING), self._server()))
        if phase is not Phase.REHEAT:
            self._rewrite(self.at_stop, partial(known.merge, self._any(TRAVELLING)))
        if phase is Phase.CLEAN or not known.busy:
            insert = partial(known.insert, self._any(TRAVELLING), self._server())
            self.inserts = self._sometimes(self.meanwhile, insert)
            # Servers of a busy table merge it.
            self.rewrites |= self.inserts and known.busy

    def _standing(self) -> Act:
        """Something that may be done at any time."""
        day, server = self._any(STANDING), self._server()
        acts: Sequence[tuple[Act, int]] = (
            (partial(self._known.insert, day, server), 6),
            (partial(self._known.merge, day), 2),
            (partial(self._known.drop, day, server), 1),
            (partial(self._add_column, server), 2),
        )
        return self._chance.choices([act for act, _weight in acts], [weight for _act, weight in acts])[0]

    def _add_column(self, server: int) -> None:
        if self._field.takes_alters():
            self._known.add_column(server)

    def _sometimes(self, acts: list[Act], act: Act) -> bool:
        """Put it somewhere among the first of the acts, one time in seven."""
        if self._chance.random() > 1 / 7:
            return False
        acts.insert(self._chance.randint(0, min(3, len(acts))), act)
        return True

    def _rewrite(self, acts: list[Act], act: Act) -> None:
        self.rewrites |= self._sometimes(acts, act)

    def _any(self, days: Sequence[str]) -> str:
        return self._chance.choice(days)

    def _server(self) -> int:
        return self._chance.randrange(2)
