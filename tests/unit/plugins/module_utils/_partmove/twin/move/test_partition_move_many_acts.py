# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many acts at any steps, kills and statements that are refused, in an order that a seed decides.

RUNS says how many; each of them can be done again by its number.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from random import Random

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import TwinBench, Twins

RUNS = int(os.environ.get("RUNS") or "1000")
FIRST, SECOND = ("a", "b"), ("c",)
ATTEMPTS, MOST_ACTS, STEPS = 3, 4, 30


class World:
    """A partition of two parts, and what may happen to it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.destination = random.choice(list(Side))
        self.bench = TwinBench(Twins(FIRST, SECOND, at=self.destination.other))
        self.twins = self.bench.twins
        self.told: list[str] = []
        self._refused = random.choice((0.0, 0.2, 0.5))
        self._drop = self.bench.servers.drop
        self.bench.servers.drop = self._drop_or_not  # type: ignore[method-assign]

    def _drop_or_not(self, tables: object, side: Side, part: str) -> bool:
        """Drop, or do something else instead and refuse it, as servers do where a merge has the part."""
        if self.random.random() < self._refused:
            self.act()
            return False
        return self._drop(tables, side, part)  # type: ignore[arg-type]

    def calm(self) -> None:
        """Let nothing more be refused."""
        self._refused = 0.0

    def act(self) -> None:
        """Let something happen to the tables."""
        kind = self.random.choice(("insert", "same", "second", "merge", "merge", "merge both", "forget"))
        self.told.append(kind)
        if kind == "merge":
            self.twins.merge(self.random.choice(list(Side)))
        elif kind == "merge both":
            for side in Side:
                self.twins.merge(side)
        elif kind == "forget":
            for table in self.twins.tables.values():
                table.past.clear()
        else:
            rows = {"same": FIRST, "second": SECOND}.get(kind, (f"late {len(self.told)}",))
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
        self.told.append("killed")
        script.die()


def explore(context: World) -> None:
    """Runs in either direction with whatever happens, and then some that nothing disturbs."""
    for attempt in range(context.random.randint(1, ATTEMPTS)):
        destination = context.random.choice(list(Side)) if attempt else context.destination
        context.told.append(f"to {destination.value}")
        with suppress(Died):
            context.bench.run(destination, context.script())
    context.calm()
    for _run in range(3):
        report = context.bench.run(context.destination)
        context.twins.check_nothing_lost()
        if not context.bench.records:
            break
    if context.bench.records:
        assert {each.gate for each in report.failed.values()} == {GateName.TWIN_KNOWN}
    else:
        assert context.twins.rows == context.twins.inserted, report


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_lost_nor_there_twice_for_good(part: int) -> None:
    for number in range(part, RUNS, 4):
        context = World(Random(number))
        try:
            explore(context)
        except AssertionError as error:
            told = ", ".join(context.told)
            raise AssertionError(
                f"run {number}, {told}; statements {context.bench.servers.statements}: {error}"
            ) from error
