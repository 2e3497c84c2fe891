# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A downgrade and a move, with every step of one between every two steps of the other.

Once the guard has passed for a withdrawn replica, no partition may ever become cold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.interleaving import Died, Lost, Script
from support.memory.ledger import enter
from support.memory.scene import BEHIND, COLD, MODERN, OLD, OTHER, PATH, TARGET, Kind, Scene, copy_of

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")

every_kind = pytest.mark.parametrize("kind", [MODERN, OLD, BEHIND], ids=["modern", "old", "behind"])


class Downgrade:
    """A scene without cold partitions whose replicas are entered, and the downgrade of r2."""

    def __init__(self, kind: Kind) -> None:
        self.scene = Scene(kind, by_ledger=True)
        self.scene.servers.drop(COLD)
        enter(self.scene.hot.open(), self.scene.cold.open(), R1, R2)
        self.passed = False

    def run(self, script: Script | None = None) -> None:
        """Withdraw r2 in a process of its own; passed is True when its server may be replaced."""
        hot, cold = self.scene.sessions(script or Script())
        try:
            withdraw_replicas(DowngradeGuard(hot, cold, DEFAULT_ROOT), Ledger(hot), [R2], Withdrawal())
        except StillCold:
            return
        self.passed = True

    def withdraw(self) -> None:
        """The writing step of the downgrade."""
        hot, _cold = self.scene.sessions(Script())
        Ledger(hot).withdraw(R2)

    def look(self) -> None:
        """The deciding step of the downgrade."""
        guard = DowngradeGuard(*self.scene.sessions(Script()), DEFAULT_ROOT)
        self.passed = not guard.cold_partitions(PATH)

    def withdraw_and_look(self) -> None:
        """Both, with nothing in between."""
        self.withdraw()
        self.look()

    def judge(self, report: PatchedReport | None) -> None:
        """Nothing is cold where the guard has passed, and where it has not, something is."""
        cold = {each for each in (TARGET, OTHER) if self.scene.where(each).is_cold}
        assert bool(cold) != self.passed
        if report is not None:
            assert report.moved.keys() == cold
            assert not report.failed
        again = self.scene.run()
        assert not again.moved
        assert {refusal.gate for each, refusal in again.deferred.items() if each != COLD} <= {
            "patched_replicas"
        }


def trace(kind: Kind, run: Callable[[Downgrade, Script], object]) -> list[str]:
    script = Script()
    run(copy_of(Downgrade, kind), script)
    return script.trace


@every_kind
def test_a_downgrade_between_any_two_steps_of_a_move(kind: Kind) -> None:
    outcomes = set()
    for number, _operation in enumerate(trace(kind, lambda each, script: each.scene.run(script))):
        downgrade, script = copy_of(Downgrade, kind), Script()
        script.actions[number] = downgrade.run
        downgrade.judge(downgrade.scene.run(script))
        outcomes.add(downgrade.passed)
    assert outcomes == {True, False}


@every_kind
def test_a_move_between_any_two_steps_of_a_downgrade(kind: Kind) -> None:
    outcomes = set()
    for number, _operation in enumerate(trace(kind, lambda each, script: each.run(script))):
        downgrade, script = copy_of(Downgrade, kind), Script()
        reports: list[PatchedReport] = []

        script.actions[number] = partial(_report_move, downgrade.scene, reports)
        downgrade.run(script)
        downgrade.judge(reports[0])
        outcomes.add(downgrade.passed)
    assert outcomes == {True, False}


def test_the_withdrawal_and_the_check_between_any_steps_of_a_move() -> None:
    operations = trace(MODERN, lambda each, script: each.scene.run(script))
    # What the look finds changes with a write to hot only.
    looks = [number for number, operation in enumerate(operations) if operation.startswith("hot commit")]
    for first, second in product(range(len(operations)), [*looks, len(operations)]):
        if first <= second:
            downgrade, script = copy_of(Downgrade, MODERN), Script()
            script.actions[second] = downgrade.look
            script.actions[first] = downgrade.withdraw_and_look if first == second else downgrade.withdraw
            report = downgrade.scene.run(script)
            if len(script.trace) <= second:
                downgrade.look()
            downgrade.judge(report)


@pytest.mark.parametrize("lost", Lost)
def test_a_downgrade_whose_answer_is_lost(lost: Lost) -> None:
    writes = [
        number
        for number, operation in enumerate(trace(MODERN, lambda each, script: each.run(script)))
        if " commit " in operation
    ]
    assert writes
    for number in writes:
        downgrade = copy_of(Downgrade, MODERN)
        downgrade.run(Script(lost={number: lost}))
        assert downgrade.passed
        downgrade.judge(None)


def test_a_downgrade_that_dies_is_run_again() -> None:
    for number, _operation in enumerate(trace(MODERN, lambda each, script: each.run(script))):
        downgrade, script = copy_of(Downgrade, MODERN), Script()
        script.actions[number] = script.die
        with pytest.raises(Died):
            downgrade.run(script)
        downgrade.run()
        assert downgrade.passed
        downgrade.judge(None)


@every_kind
def test_a_restart_between_any_two_steps_of_a_move(kind: Kind) -> None:
    """What is switched was switched before the restart, because the entry is about the time before it."""
    for number, _operation in enumerate(trace(kind, lambda each, script: each.scene.run(script))):
        downgrade, script = copy_of(Downgrade, kind), Script()
        cold_before: list[str] = []

        script.actions[number] = partial(_restart_noting_cold, downgrade.scene, cold_before)
        report = downgrade.scene.run(script)
        assert sorted(report.moved) == cold_before


def _report_move(scene: Scene, reports: list[PatchedReport]) -> None:
    reports.append(scene.run())


def _restart_noting_cold(scene: Scene, cold_before: list[str]) -> None:
    cold_before += [each for each in (TARGET, OTHER) if scene.where(each).is_cold]
    scene.servers.restart("r2")
