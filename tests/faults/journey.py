# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table whose partitions go to cold and back, by runs that nothing disturbs."""

from __future__ import annotations

from collections.abc import Sequence

from faults.checks import Place, violations
from faults.field import TABLES, Field
from faults.kinds import PHASES, Phase
from faults.patient_watch import PatientWatch
from faults.rows import ARCHIVED, TRAVELLING, KnownTable
from faults.runs import PATIENT, Ending, Task, Timeouts, carry_out
from support.servers.kazoo_client import connected
from support.servers.replicated import ReplicatedTable

_PLACES = {Phase.MOVE: Place.COLD, Phase.REHEAT: Place.COPIED, Phase.CLEAN: Place.HOT}
"""Where partitions are at the end of each phase."""
_MAY_WAIT = {Phase.REHEAT: {"copies_needed"}}
"""Gates that a run may name although all is as it should be: the next phase is about them."""
_PASSING = {"active_on_disk", "lock_kept", "quiet_table", "replicas_healthy"}
"""Gates that a server or a run refuses at whose session has just ended."""
_ATTEMPTS = 5
_WITHOUT_LOCK = {"lock_free", "lock_kept"}
"""Gates that are about another run, which may have done what this one has not."""


class Journey:
    """A table, and how far its partitions are."""

    def __init__(self, field: Field, name: str, *, busy: bool) -> None:
        """Create the table; `busy`: see KnownTable. Some partitions of one that is not are cold for good."""
        self._field = field
        self.known = KnownTable(ReplicatedTable(name, f"{TABLES}/{name}", field.servers), busy=busy)
        self.known.create()
        self.known.settle()
        self.next = Phase.MOVE
        """The phase whose run would have something to do."""
        self.repeated = 0
        """How often a run had to be repeated although nothing was broken."""
        self._archived = () if busy else ARCHIVED
        if self._archived:
            self._expect(Phase.MOVE, self._archived)

    def task(
        self,
        phase: Phase,
        partitions: Sequence[str] = TRAVELLING,
        *,
        direct: bool = True,
        timeouts: Timeouts = PATIENT,
    ) -> Task:
        """What a run of the phase has to do; `direct`: past the proxies, where nothing disturbs it."""
        hot, cold = (side.ensemble.connect_string if direct else side.hosts for side in self._field.sides)
        table = self.known.table
        endpoints = {name: f"127.0.0.1:{server.http_port}" for name, server in table.replicas.items()}
        return Task(hot, cold, table.path, tuple(partitions), endpoints, phase, timeouts)

    def bring_to(self, phase: Phase) -> None:
        """Carry out whole phases until the next one is this; raises RuntimeError where one fails."""
        while self.next is not phase:
            if self.next is Phase.MOVE:
                self._merge()
            self._expect(self.next)
            self._step()
        if phase is Phase.MOVE:
            self._merge()

    def untrue(self, phase: Phase, ending: Ending) -> list[str]:
        """What a run said and is not so."""
        if ending.report is None or phase is Phase.CLEAN:
            return []
        with connected(self._field.hot.ensemble.connect_string) as client:
            states = self.known.states(client, TRAVELLING)
        cold = {each for each, state in states.items() if state == b"COLD"}
        done = ending.report.moved.keys() | ending.report.unchanged
        left = {
            each
            for each, refusal in ending.report.deferred.items()
            if refusal.gate.value not in _WITHOUT_LOCK
        }
        untrue = (done - cold) | (left & cold) if phase is Phase.MOVE else done & cold
        return [f"a run that ended with {ending} left {each} as {states[each]!r}" for each in sorted(untrue)]

    def finish(self, phase: Phase, *, inserted: bool) -> tuple[Ending, list[str]]:
        """Run once more after a disturbed run of the phase; tell the end, and what is not as it must be.

        `inserted`: whether the partitions that were moved got rows meanwhile.
        """
        ending, problem = self._run(phase, TRAVELLING)
        if inserted and phase is Phase.MOVE:
            self._move_again()
        elif problem is not None:
            return ending, [f"one more run did not come to the end of the {phase.value}: {problem}"]
        self._step(phase)
        return ending, self.violations()

    def watch(self) -> PatientWatch:
        """A watch of the parts that travel, none of which may be lost at any moment."""
        parts = {
            name: {
                day: names
                for day, names in self.known.table.active_parts(number).items()
                if day in TRAVELLING
            }
            for number, name in enumerate(self.known.table.replicas)
        }
        hot, cold = (side.ensemble for side in self._field.sides)
        members = [member.address for member in cold.members]
        return PatientWatch(hot.connect_string, members, self.known.table.path, parts)

    def violations(self) -> list[str]:
        """What is not as it must be, of the phase that the table is at the end of."""
        place = _PLACES[PHASES[PHASES.index(self.next) - 1]]
        places = dict.fromkeys(TRAVELLING, place) | dict.fromkeys(self._archived, Place.COLD)
        for _attempt in range(_ATTEMPTS):
            # Servers merge a busy table at any moment, and hot has the parts of before for a while.
            self.known.settle()
            if not (found := violations(self._field, self.known, places)) or not self.known.busy:
                break
        return found

    def _step(self, done: Phase | None = None) -> None:
        self.next = PHASES[(PHASES.index(done or self.next) + 1) % len(PHASES)]

    def _expect(self, phase: Phase, partitions: Sequence[str] = TRAVELLING) -> None:
        _ending, problem = self._run(phase, partitions)
        if problem is not None:
            raise RuntimeError(f"nothing disturbed a {phase.value} of {partitions}, but {problem}")

    def _run(self, phase: Phase, partitions: Sequence[str]) -> tuple[Ending, str | None]:
        """Run once, and tell what it did not do; again where a busy machine cost a server its session."""
        for attempt in range(_ATTEMPTS):
            self.known.settle()
            ending = carry_out(self.task(phase, partitions))
            problem = _problem(phase, ending)
            is_passing = {each.gate.value for each in ending.refusals.values()} <= _PASSING
            if problem is None or not is_passing or attempt + 1 == _ATTEMPTS:
                break
            self.repeated += 1
            self._field.heal([self.known.table.name])
        return ending, problem

    def _merge(self) -> None:
        """Make one part of each partition, which is what a move takes."""
        for day, parts in self.known.table.active_parts().items():
            if day in TRAVELLING and len(parts) > 1:
                self.known.merge(day)
        self.known.settle()

    def _move_again(self) -> None:
        """Bring back what got rows, also those that came when it was cold already, and move it."""
        for phase in (Phase.REHEAT, Phase.CLEAN):
            self._expect(phase)
        self._merge()
        self._expect(Phase.MOVE)


def _problem(phase: Phase, ending: Ending) -> str | None:
    """Why the run did not bring every partition to the end of the phase; None where it did."""
    if ending.report is None:
        return f"it raised {ending.error!r}"
    wrong = {
        partition: f"{refusal.gate.value}: {refusal.reason}"
        for partition, refusal in ending.refusals.items()
        if refusal.gate.value not in _MAY_WAIT.get(phase, ())
    }
    return str(wrong) if wrong else None
