# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions go from phase to phase only as the table of transitions says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import PatchedRun
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.transitions import (
    TRANSITIONS,
    Phase,
)
from explore.explorer import explore

STEPS = 30_000
SEED = 5_000_000


class Recorder:
    """Notes the phases of the partitions of every run, one after the other."""

    def __init__(self) -> None:
        self.shown: set[tuple[Phase, Phase]] = set()
        self._now: dict[tuple[int, str], Phase] = {}

    def enter(
        self, run: PatchedRun, partition_ids: Sequence[str] | Mapping[str, object], phase: Phase
    ) -> None:
        """Note that the partitions are in the phase."""
        for each in partition_ids:
            before = self._now.get((id(run), each), Phase.OPEN)
            if before is not phase:
                self.shown.add((before, phase))
                self._now[id(run), each] = phase

    def outcomes(self, run: PatchedRun) -> None:
        """Note what the report says."""
        report = run._report
        self.enter(run, sorted(run._unchecked), Phase.SWITCHED)
        self.enter(run, sorted(report.moved.keys() - run._unchecked.keys()), Phase.MOVED)
        self.enter(run, sorted(report.unchanged), Phase.UNCHANGED)
        self.enter(run, sorted(report.copies_removed), Phase.CLEANED)
        self.enter(run, report.deferred, Phase.DEFERRED)
        self.enter(run, report.failed, Phase.FAILED)

    def forget(self, run: PatchedRun) -> None:
        """Let another run have the id of this one."""
        self._now = {place: phase for place, phase in self._now.items() if place[0] != id(run)}

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Note the phases in which the steps of a run leave partitions."""
        recorder = self
        attempt, passed, switch = PatchedRun._attempt, PatchedRun._passed, PatchedRun._switch
        record, carry_out, defer = PatchedRun._record, PatchedRun.carry_out, PatchedRun._defer

        def attempt_and_note(run: PatchedRun, leased: Any, partition_ids: Sequence[str]) -> list[str]:
            recorder.enter(run, partition_ids, Phase.OPEN)
            pending = attempt(run, leased, partition_ids)
            recorder.outcomes(run)
            return pending

        def passed_and_note(run: PatchedRun, *arguments: Any) -> Any:
            found = passed(run, *arguments)
            recorder.enter(run, found, Phase.PASSED)
            return found

        def switch_and_note(run: PatchedRun, leased: Any, prepared: Mapping[str, Any]) -> list[str]:
            recorder.outcomes(run)
            recorder.enter(run, prepared, Phase.PREPARED)
            changed = switch(run, leased, prepared)
            recorder.enter(run, changed, Phase.OPEN)
            return changed

        def record_and_note(run: PatchedRun, *arguments: Any) -> None:
            record(run, *arguments)
            recorder.outcomes(run)

        def defer_and_note(run: PatchedRun, *arguments: Any) -> None:
            defer(run, *arguments)
            recorder.outcomes(run)

        def carry_out_and_note(run: PatchedRun, partition_ids: Sequence[str]) -> None:
            recorder.forget(run)
            carry_out(run, partition_ids)
            recorder.outcomes(run)

        for name, method in (
            ("_attempt", attempt_and_note),
            ("_passed", passed_and_note),
            ("_switch", switch_and_note),
            ("_record", record_and_note),
            ("_defer", defer_and_note),
            ("carry_out", carry_out_and_note),
        ):
            monkeypatch.setattr(PatchedRun, name, method)


def test_random_schedules_follow_the_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.watch(monkeypatch)
    counts = explore(SEED, STEPS)
    assert not counts.failed
    missing = {(before, after) for before, after in recorder.shown if after not in TRANSITIONS[before]}
    assert not missing
    assert len(recorder.shown) >= 8


def test_every_phase_is_an_outcome_or_leads_to_one() -> None:
    assert TRANSITIONS.keys() == set(Phase)
    following = frozenset().union(*TRANSITIONS.values())
    assert following == set(Phase)
    outcomes = {phase for phase, after in TRANSITIONS.items() if not after}
    assert outcomes == {Phase.UNCHANGED, Phase.CLEANED, Phase.MOVED, Phase.DEFERRED, Phase.FAILED}
