# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that lose their connections at every place, and go on with members that know nothing of what was read.

The runs read through the adapter. Nothing but its syncs keeps reads from going back: the members accept every
client, as ClickHouse Keeper before the end of 2025 does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from support.memory.acts import ON_THE_PARTITION, perform
from support.memory.connections import ReconnectingScene
from support.memory.interleaving import Lost, Script
from support.memory.scene import MODERN, WANTED, copy_of

pytestmark = pytest.mark.long(minutes=1)

Run = Callable[[ReconnectingScene, Script], PatchedReport]

TEN_MINUTES = 600.0

WITHIN = 5
"""So many operations after an act of a server a connection is lost."""

STRIDE = 7
"""Two losses are tried at every so manieth operation: all pairs would take minutes."""

RUNS: dict[str, Run] = {"move": ReconnectingScene.run, "bring back": ReconnectingScene.reheat}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def trace_of(run: Run) -> list[str]:
    """The operations of a run that nothing disturbs."""
    script = Script()
    run(copy_of(ReconnectingScene, MODERN), script)
    return script.trace


def judge(scene: ReconnectingScene, report: PatchedReport, run: Run, where: object) -> None:
    """The run ends as if no connection had been lost, and reports what is so."""
    clean = copy_of(ReconnectingScene, MODERN)
    expected = run(clean, Script())
    assert report.moved.keys() == expected.moved.keys(), where
    assert not report.deferred.keys() ^ expected.deferred.keys(), where
    assert not report.failed, where
    assert scene.tables() == clean.tables(), where


@every_run
@pytest.mark.parametrize("go_back", [ReconnectingScene.go_back, ReconnectingScene.go_back_a_bit])
def test_a_connection_that_is_lost(run: Run, go_back: Callable[[ReconnectingScene], None]) -> None:
    trace = trace_of(run)
    assert len(trace) > 30
    for number, operation in enumerate(trace):
        scene, script = copy_of(ReconnectingScene, MODERN), Script()
        script.actions[number] = partial(go_back, scene)
        judge(scene, run(scene, script), run, (number, operation))


@every_run
def test_two_connections_that_are_lost(run: Run) -> None:
    for first, second in combinations(range(0, len(trace_of(run)), STRIDE), 2):
        scene, script = copy_of(ReconnectingScene, MODERN), Script()
        script.actions = {first: scene.go_back, second: scene.go_back}
        judge(scene, run(scene, script), run, (first, second))


@every_run
@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost_with_its_connection(run: Run, lost: Lost) -> None:
    for number, operation in enumerate(trace_of(run)):
        if " commit " in operation:
            scene, script = copy_of(ReconnectingScene, MODERN), Script(lost={number: lost})
            script.actions[number + 1] = scene.go_back
            judge(scene, run(scene, script), run, (number, operation))


@pytest.mark.parametrize("name", ["insert", "insert on r2", "insert and fetch", "merge", "drop", "mutate"])
def test_a_server_that_acts_before_a_connection_is_lost(name: str) -> None:
    """What a server did before the last sync is not overlooked, although the member has not heard of it."""
    trace = trace_of(ReconnectingScene.run)
    for acted in range(len(trace)):
        for lost in range(acted + 1, min(acted + WITHIN, len(trace))):
            scene, script = copy_of(ReconnectingScene, MODERN), Script()
            act = perform(scene, ON_THE_PARTITION[name])
            script.actions[acted] = scene.act_and_go_back(act, script, lost)
            report = scene.run(script)
            if acted <= script.last_look(".*/parts$", behind=True):
                for each in report.moved:
                    assert scene.where(each).is_cold, (trace[acted], trace[lost])
            scene.servers.catch_up()
            scene.watch.check()


def all_cold(later: bool) -> ReconnectingScene:
    """All partitions are cold, or were brought back so long ago that their copies may go."""
    scene = ReconnectingScene(MODERN, already_cold=WANTED)
    if later:
        scene.reheat()
        scene.expire()
        scene.wait(TEN_MINUTES)
        scene.end_sessions()
    return scene


@pytest.mark.parametrize("later", [False, True], ids=["back", "clean up"])
@pytest.mark.parametrize("name", ["insert", "drop", "detach and attach"])
def test_a_server_that_acts_before_a_run_that_brings_back_loses_a_connection(name: str, later: bool) -> None:
    script = Script()
    copy_of(all_cold, later).reheat(script)
    trace = script.trace
    for acted in range(0, len(trace), 3):
        for lost in range(acted + 1, min(acted + WITHIN, len(trace))):
            scene, script = copy_of(all_cold, later), Script()
            act = perform(scene, ON_THE_PARTITION[name])
            script.actions[acted] = scene.act_and_go_back(act, script, lost)
            report = scene.reheat(script)
            if acted <= script.last_look(".*/parts$", behind=True):
                for each in {*report.moved, *report.unchanged, *report.copies_removed}:
                    where = scene.where(each)
                    assert where.state != b"COLD", (trace[acted], trace[lost])
                    assert where.covered_by(where.hot), (trace[acted], trace[lost])
                    assert each not in report.copies_removed or not any(where.cold.values())
            scene.servers.catch_up()
            scene.watch.check()
