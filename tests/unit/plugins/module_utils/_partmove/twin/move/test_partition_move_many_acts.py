# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many acts at any steps, kills and refused statements, in an order that a seed decides.

RUNS says how many; each of them can be done again by its number.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from random import Random

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.classify import TwinState
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition_move import (
    PartitionMove,
    _Current,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import DropPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.transitions import TRANSITIONS
from support.memory.interleaving import Died, Script
from support.memory.twins import TwinBench, Twins

RUNS = int(os.environ.get("RUNS") or "1000")
FIRST, SECOND = ("a", "b"), ("c",)
ATTEMPTS, MOST_ACTS, STEPS = 3, 4, 30


class Schedule:
    """A partition of two parts, and the acts on it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.destination = random.choice(list(Side))
        self.bench = TwinBench(Twins(FIRST, SECOND, at=self.destination.other))
        self.twins = self.bench.twins
        self.events: list[str] = []
        self._refused = random.choice((0.0, 0.2, 0.5))
        self._drop = self.bench.servers.drop
        self.bench.servers.drop = self._drop_or_not  # type: ignore[method-assign]

    def _drop_or_not(self, statement: DropPart) -> bool:
        """Drop, or do something else instead and refuse it, as servers do where a merge has the part."""
        if self.random.random() < self._refused:
            self.act()
            return False
        return self._drop(statement)

    def calm(self) -> None:
        """Let nothing more be refused."""
        self._refused = 0.0

    def act(self) -> None:
        """Let something happen to the tables."""
        kind = self.random.choice(("insert", "same", "second", "merge", "merge", "merge both", "forget"))
        self.events.append(kind)
        if kind == "merge":
            self.twins.merge(self.random.choice(list(Side)))
        elif kind == "merge both":
            for side in Side:
                self.twins.merge(side)
        elif kind == "forget":
            for table in self.twins.tables.values():
                table.past.clear()
        else:
            rows = {"same": FIRST, "second": SECOND}.get(kind, (f"late {len(self.events)}",))
            self.twins.insert(Side.HOT, rows)

    def script(self) -> Script:
        """Acts at any steps of a run, and perhaps its end."""
        script = Script()
        for _act in range(self.random.randint(0, MOST_ACTS)):
            script.actions[self.random.randrange(STEPS)] = self.act
        if self.random.random() < 0.5:
            script.actions[self.random.randrange(STEPS)] = partial(self._die, script)
        return script

    def _die(self, script: Script) -> None:
        self.events.append("killed")
        script.die()


def explore(schedule: Schedule) -> None:
    """Run in either direction with random acts, and then a few times without."""
    for attempt in range(schedule.random.randint(1, ATTEMPTS)):
        destination = schedule.random.choice(list(Side)) if attempt else schedule.destination
        schedule.events.append(f"to {destination.value}")
        with suppress(Died):
            schedule.bench.run(destination, schedule.script())
    schedule.calm()
    for _run in range(3):
        report = schedule.bench.run(schedule.destination)
        schedule.twins.check_nothing_lost()
        if not schedule.bench.records:
            break
    if schedule.bench.records:
        assert {each.gate for each in report.failed.values()} == {GateName.TWIN_KNOWN}
    else:
        assert schedule.twins.rows == schedule.twins.inserted, report


@pytest.mark.parametrize("part", range(4))
def test_no_row_is_lost_or_stays_twice(part: int) -> None:
    for number in range(part, RUNS, 4):
        schedule = Schedule(Random(number))
        try:
            explore(schedule)
        except AssertionError as error:
            events = ", ".join(schedule.events)
            raise AssertionError(
                f"run {number}, {events}; statements {schedule.bench.servers.statements}: {error}"
            ) from error


def test_steps_lead_where_the_transitions_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table contains every pair of successive states in the schedules."""
    shown: set[tuple[TwinState, TwinState]] = set()
    take_step = PartitionMove._take_step

    def step_and_note(move: PartitionMove, current: _Current) -> bool:
        before = getattr(move, "before", None)
        if before is not None:
            shown.add((before, current.classification.state))
        move.before = current.classification.state  # type: ignore[attr-defined]
        return take_step(move, current)

    monkeypatch.setattr(PartitionMove, "_take_step", step_and_note)
    for number in range(RUNS):
        explore(Schedule(Random(number)))
    missing = {(state, after) for state, after in shown if after not in TRANSITIONS[state].leads_to}
    assert not missing
    assert len(shown) > 15
