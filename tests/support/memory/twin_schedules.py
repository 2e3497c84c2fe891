# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs over a table and its twin, with acts at any steps, kills and refused statements, as a seed decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entering import enter
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.moves import MoveLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.work import (
    LedgerOutcome,
    run_under_lease,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import DropParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.ledgers import context_of, entries_of
from support.memory.twin_audits import MemoryWitnesses, audited
from support.memory.twins import DAY, PATH, TwinBench, Twins

FIRST, SECOND, OTHER = ("a", "b"), ("c",), ("o",)
NEXT = "20191202"
MERGES = ("merge", "merge", "merge both")
ACTS = ("insert", "same", "second", *MERGES, "forget", "mutate", "window over", "trim")
LOSSES = {
    *(TwinKind.LOST, TwinKind.SET_ASIDE),
    *(TwinKind.TWIN_GONE, TwinKind.TWIN_REPLACED, TwinKind.TABLE_REPLACED),
}
"""What an audit must not report where nothing was lost."""
ATTEMPTS, MOST_ACTS, STEPS = 3, 4, 50


class TwinSchedule:
    """A partition of two parts and another one, with a ledger, and the acts on both.

    acts: the kinds of acts. new_script: makes the script of a run.
    """

    def __init__(
        self, random: Random, acts: Sequence[str] = ACTS, new_script: Callable[[], Script] = Script
    ) -> None:
        self.random = random
        self._acts = acts
        self.new_script = new_script
        self.destination = random.choice(list(Side))
        self.bench = TwinBench(Twins(FIRST, SECOND, at=self.destination.other))
        self.twins = self.bench.twins
        self.twins.insert(self.destination.other, OTHER, NEXT)
        self.events: list[str] = []
        self.bench.ledgers = MoveLedgers(MemoryWitnesses(self.bench.servers))
        run_under_lease(context_of(self.bench), LedgerOutcome(PATH), enter)
        self._refused = random.choice((0.0, 0.2, 0.5))
        self._drop = self.bench.servers.drop
        self.bench.servers.drop = self._drop_or_not  # type: ignore[method-assign]

    def _drop_or_not(self, statement: DropParts) -> bool:
        """Drop, or drop some parts and refuse the next one, as servers do where a merge has the part."""
        if self.random.random() < self._refused:
            some = statement.parts[: self.random.randrange(len(statement.parts))]
            if some:
                self._drop(statement._replace(parts=some))
            self.act()
            return False
        return self._drop(statement)

    def check_ledger(self, report: TwinReport) -> None:
        """Nothing is reported as lost, and what a run ended is listed or not, as the twin has it."""
        for refused in (report.deferred, report.failed, report.unfinished):
            assert not [each for each in refused.values() if each.gate is GateName.TWIN_WHOLE], refused
        kinds = {row.verdict.kind for row in audited(self.bench).rows}
        assert not kinds & LOSSES, kinds
        entries = entries_of(self.bench)
        for partition in {*report.moved, *report.finished} - self.between:
            has_parts = bool(self.twins.of(partition)[Side.COLD].parts)
            assert has_parts == (partition in entries), f"{partition} in {sorted(entries)}: {has_parts}"

    @property
    def between(self) -> set[str]:
        """Partitions with a record."""
        return {path.rsplit("/", 1)[-1] for path in self.bench.records}

    def calm(self) -> None:
        """Let nothing more be refused."""
        self._refused = 0.0

    def act(self) -> None:
        """Let something happen to the tables."""
        kind = self.random.choice(self._acts)
        self.events.append(kind)
        if kind == "merge":
            self.twins.merge(self.random.choice(list(Side)), self.random.choice((DAY, NEXT)))
        elif kind == "merge both":
            for side in Side:
                self.twins.merge(side)
        elif kind == "mutate":
            self.twins.mutate(*Side)
        elif kind == "window over":
            self.twins.forget_clones()
        elif kind == "trim":
            self.twins.trim_logs()
        elif kind == "forget":
            for each in self.twins.partition_ids:
                for table in self.twins.of(each).values():
                    table.past.clear()
        else:
            rows = {"same": FIRST, "second": SECOND}.get(kind, (f"late {len(self.events)}",))
            self.twins.insert(Side.HOT, rows, self.random.choice((DAY, DAY, NEXT)))

    def partitions(self) -> list[str]:
        """What a run is asked for."""
        return self.random.choice(([DAY], [NEXT], [DAY, NEXT], ["20200101"]))

    def script(self) -> Script:
        """Acts at any steps of a run, another run, and perhaps its end."""
        script = self.new_script()
        for _act in range(self.random.randint(0, MOST_ACTS)):
            script.actions[self.random.randrange(STEPS)] = self.act
        if self.random.random() < 0.5:
            script.actions[self.random.randrange(STEPS)] = partial(self._die, script)
        return script

    def _die(self, script: Script) -> None:
        self.events.append("killed")
        script.die()


def explore(schedule: TwinSchedule) -> None:
    """Run in either direction with random acts, and then a few times without."""
    for attempt in range(schedule.random.randint(1, ATTEMPTS)):
        destination = schedule.random.choice(list(Side)) if attempt else schedule.destination
        partitions = schedule.partitions() if attempt else [DAY, NEXT]
        schedule.events.append(f"{', '.join(partitions)} to {destination.value}")
        with suppress(Died):
            schedule.bench.run(destination, schedule.script(), partitions=partitions)
    schedule.calm()
    for _run in range(3):
        report = schedule.bench.run(schedule.destination, schedule.new_script(), partitions=["20200101"])
        schedule.twins.check_nothing_lost()
        schedule.check_ledger(report)
        if not schedule.bench.records:
            break
    if schedule.bench.records:
        assert {each.gate for each in report.unfinished.values()} == {GateName.TWIN_KNOWN}
    else:
        assert schedule.twins.rows == schedule.twins.inserted, report


def explore_all(numbers: Iterable[int], make: Callable[[Random], TwinSchedule]) -> None:
    """Explore schedules by their numbers; an AssertionError says how to play one again."""
    for number in numbers:
        schedule = make(Random(number))
        try:
            explore(schedule)
        except AssertionError as error:
            events = ", ".join(schedule.events)
            raise AssertionError(
                f"run {number}, {events}; statements {schedule.bench.servers.statements}: {error}"
            ) from error
