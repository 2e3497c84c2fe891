# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move with something else in between every two of its operations, one place after the other.

``support.interleaving`` checks the invariants of the protocol after every step; here it is checked how
the run ends: what it reports is so, and running again leads to where it should.
"""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils.partmove.report import ShardReport
from support.interleaving import Died, Lost, Script
from support.scene import COLD, MODERN, OLD, OTHER, TARGET, WANTED, Kind, Scene, trace_of

every_kind = pytest.mark.parametrize("kind", [MODERN, OLD], ids=["modern", "old"])


def judge(scene: Scene, report: ShardReport) -> None:
    """What a report says is so."""
    for each in WANTED:
        told = [
            word for word in ("moved", "unchanged", "deferred", "failed") if each in getattr(report, word)
        ]
        assert len(told) == 1
        where = scene.where(each)
        if told[0] in ("moved", "unchanged"):
            assert where.state == b"COLD"
            assert not any(where.hot.values())
            assert where.covered_by(where.cold)
        elif told[0] == "deferred":
            assert where.state != b"COLD"
            assert where.covered_by(where.hot)
            assert not where.stale
        else:
            assert report.failed[each].gate in ("late_insert", "copies_kept")


@every_kind
def test_a_process_that_dies(kind: Kind) -> None:
    """Another run comes to the same end as if it had not."""
    clean = Scene(kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = Scene(kind), Script()
        script.actions[number] = script.die
        with pytest.raises(Died):
            scene.run(script)
        scene.expire()
        report = scene.run()
        judge(scene, report)
        assert not report.deferred, operation
        assert not report.failed, operation
        assert scene.tables() == clean.tables(), operation


@every_kind
@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost(kind: Kind, lost: Lost) -> None:
    clean = Scene(kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        if " commit " in operation:
            scene = Scene(kind)
            report = scene.run(Script(lost={number: lost}))
            judge(scene, report)
            assert report.moved.keys() == {TARGET, OTHER}, operation
            assert scene.tables() == clean.tables(), operation


@every_kind
def test_a_session_that_expires(kind: Kind) -> None:
    clean = Scene(kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = Scene(kind), Script()
        script.actions[number] = scene.expire
        report = scene.run(script)
        judge(scene, report)
        assert report.moved.keys() == {TARGET, OTHER}, operation
        assert scene.tables() == clean.tables(), operation


@every_kind
def test_a_run_that_is_paused_while_another_one_runs(kind: Kind) -> None:
    clean = Scene(kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = Scene(kind), Script()

        def take_over(scene: Scene = scene) -> None:
            scene.expire()
            judge(scene, scene.run())

        script.actions[number] = take_over
        report = scene.run(script)
        judge(scene, report)
        assert not report.deferred, operation
        assert not report.failed, operation
        assert scene.tables() == clean.tables(), operation
