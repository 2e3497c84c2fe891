# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bringing back with another action between every two of its operations, one place after the other.

Two runs are tested: the run that registers the partitions in hot again, and the run ten minutes later that
removes their copies from cold. ``support.memory.interleaving`` checks the invariants after every step. These
tests check the end of the run: its report is true, and running again reaches the desired state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import combinations
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from support.memory.acts import ON_THE_PARTITION, ON_THE_TABLE, Act, perform
from support.memory.interleaving import Died, Lost, Script
from support.memory.scene import (
    BEHIND,
    MODERN,
    OLD_BEHIND,
    TARGET,
    TWO_PARTS_BEHIND,
    WANTED,
    Kind,
    Scene,
    copy_of,
)
from support.memory.simulated import SimulatedServers

pytestmark = pytest.mark.long(minutes=1)

TEN_MINUTES = 600.0
STRIDE = 13
"""Two things at once are tried at every so manieth operation: all of them would take minutes."""


class Run(NamedTuple):
    """The interrupted run: the one that brings back, or the later one that cleans up."""

    kind: Kind
    later: bool

    def scene(self) -> Scene:
        """All as it is before the run."""
        return copy_of(Run._made, self)

    def _made(self) -> Scene:
        scene = Scene(self.kind, already_cold=WANTED)
        if self.later:
            assert scene.reheat().moved.keys() == set(WANTED)
            scene.wait(TEN_MINUTES)
        return scene

    @property
    def done(self) -> str:
        """The word of a report for what the run does."""
        return "copies_removed" if self.later else "moved"


BACK, CLEAN_UP = Run(MODERN, later=False), Run(MODERN, later=True)
BACK_BEHIND, CLEAN_UP_BEHIND = Run(BEHIND, later=False), Run(BEHIND, later=True)
OLD_BACK, OLD_CLEAN_UP = Run(OLD_BEHIND, later=False), Run(OLD_BEHIND, later=True)
NAMES = {
    BACK: "back",
    CLEAN_UP: "clean up",
    BACK_BEHIND: "behind, back",
    CLEAN_UP_BEHIND: "behind, clean up",
    OLD_BACK: "old, behind, back",
    OLD_CLEAN_UP: "old, behind, clean up",
}

every_run = pytest.mark.parametrize("run", NAMES, ids=NAMES.values())
each_run = pytest.mark.parametrize("run", [BACK_BEHIND, CLEAN_UP_BEHIND], ids=["back", "clean up"])


@cache
def trace_of(run: Run) -> tuple[str, ...]:
    """The operations of a run that nothing disturbs."""
    script = Script()
    assert set(getattr(run.scene().reheat(script), run.done)) == set(WANTED)
    return tuple(script.trace)


@cache
def tables_in_the_end(kind: Kind) -> object:
    """What is left when nothing disturbs either run."""
    scene = Run(kind, later=True).scene()
    scene.reheat()
    return scene.tables()


def judge(scene: Scene, report: PatchedReport) -> None:
    """What a report says is so."""
    a_replica_is_gone = "r2" not in scene.servers.disk  # It leaves its copies behind.
    for each in WANTED:
        words = ("moved", "unchanged", "copies_removed", "deferred", "failed")
        told = [word for word in words if each in getattr(report, word)]
        assert len(told) == 1
        where = scene.where(each)
        is_hot = where.state != b"COLD" and where.covered_by(where.hot)
        gate = report.deferred[each].gate if told[0] == "deferred" else None
        if told[0] in ("moved", "unchanged", "copies_removed"):
            assert is_hot
            assert told[0] == "moved" or not any(where.cold.values())
        elif gate == "copies_needed":
            assert is_hot
            assert any(where.cold.values()) or a_replica_is_gone
        elif gate == "partition_exists":
            # Of ensembles that are read one after the other both may be without a partition that is attached
            # again; it is a part of hot then.
            assert where.covered_by(where.hot)
            assert not where.stale
        elif gate in ("not_drifted", "no_stray_copies"):
            # Dropped while copies waited in cold, where a server does not look for parts of a hot partition.
            assert is_hot
            assert where.stale or a_replica_is_gone
            assert gate == "no_stray_copies" or not any(where.disk.values())
        elif gate is not None:
            registered = {name: where.hot[name] | where.cold[name] for name in where.hot}
            assert is_hot or (where.state == b"COLD" and where.covered_by(registered))
        else:
            raise AssertionError(f"{each} failed: {report.failed[each]}")


def go_on(scene: Scene) -> None:
    """Run again, also right before and after ten minutes: nothing is left that a run could do."""
    scene.expire()
    judge(scene, scene.reheat())
    for seconds in (TEN_MINUTES - 1, 1):
        scene.wait(seconds)
        judge(scene, scene.reheat())
    report = scene.reheat()
    judge(scene, report)
    assert not report.moved
    assert not report.copies_removed
    if not scene.servers.times_made:
        gates = {refusal.gate for refusal in report.deferred.values()}
        assert not gates & {"not_drifted", "no_stray_copies"}


def end(scene: Scene, run: Run, operation: str) -> None:
    """All partitions come to the end that they come to when nothing happens."""
    go_on(scene)
    assert scene.tables() == tables_in_the_end(run.kind), operation


@every_run
def test_a_process_that_dies(run: Run) -> None:
    for number, operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()
        script.actions[number] = script.die
        with pytest.raises(Died):
            scene.reheat(script)
        scene.expire()
        end(scene, run, operation)


@every_run
@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost(run: Run, lost: Lost) -> None:
    for number, operation in enumerate(trace_of(run)):
        if " commit " in operation:
            scene = run.scene()
            report = scene.reheat(Script(lost={number: lost}))
            judge(scene, report)
            assert set(getattr(report, run.done)) == set(WANTED), operation
            end(scene, run, operation)


@every_run
def test_a_session_that_expires(run: Run) -> None:
    for number, operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()
        script.actions[number] = scene.expire
        report = scene.reheat(script)
        judge(scene, report)
        assert set(getattr(report, run.done)) == set(WANTED), operation
        end(scene, run, operation)


@every_run
def test_a_run_that_is_paused_while_another_one_runs(run: Run) -> None:
    for number, operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()

        def take_over(scene: Scene = scene) -> None:
            scene.expire()
            judge(scene, scene.reheat())

        script.actions[number] = take_over
        report = scene.reheat(script)
        judge(scene, report)
        assert {refusal.gate for refusal in report.deferred.values()} <= {"copies_needed"}, operation
        end(scene, run, operation)


@every_run
def test_a_run_that_is_paused_while_another_one_begins(run: Run) -> None:
    """The other run dies right after it took the lease, so all work is left to do."""
    for number, operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()
        script.actions[number] = scene.take_lease
        report = scene.reheat(script)
        judge(scene, report)
        assert set(getattr(report, run.done)) == set(WANTED), operation
        end(scene, run, operation)


@every_run
def test_a_run_that_is_paused_while_partitions_are_moved(run: Run) -> None:
    """To cold: what was brought back goes there again, and comes back again."""
    for number, operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()

        def take_over(scene: Scene = scene) -> None:
            scene.expire()
            scene.run()

        script.actions[number] = take_over
        scene.reheat(script)
        end(scene, run, operation)


ALL = ON_THE_PARTITION | ON_THE_TABLE
RUNS_AND_ACTS = [
    *((run, ALL[name], f"{NAMES[run]}, {name}") for run in NAMES for name in ALL if run.kind != OLD_BEHIND),
    *(
        (OLD_BACK, ALL[name], f"old, behind, back, {name}")
        for name in ("insert and fetch", "assign a drop", "drop")
    ),
    *(
        (
            Run(TWO_PARTS_BEHIND, later),
            ON_THE_PARTITION[name],
            f"two parts, {'clean up' if later else 'back'}, {name}",
        )
        for name in ("merge", "drop")
        for later in (False, True)
    ),
]


def reheat_and_judge(scene: Scene, script: Script, acted_at: int) -> None:
    """A hot partition stays hot whatever is done to it, so the first report holds to the end as well."""
    try:
        report = scene.reheat(script)
        if scene.servers.disk and not scene.servers.times_made:
            judge(scene, report)
        scene.servers.catch_up()
        scene.watch.check()
        go_on(scene)
    except NoSuchTable:
        assert not scene.servers.disk
    except AssertionError as error:
        raise AssertionError(f"acted before {acted_at}, {script.trace[acted_at]}") from error


@pytest.mark.parametrize(
    ("run", "act"),
    [(run, act) for run, act, _name in RUNS_AND_ACTS],
    ids=[name for _run, _act, name in RUNS_AND_ACTS],
)
def test_a_server_that_acts(run: Run, act: Act) -> None:
    for number, _operation in enumerate(trace_of(run)):
        scene, script = run.scene(), Script()
        script.actions[number] = perform(scene, act)
        reheat_and_judge(scene, script, number)


BEGINNINGS: dict[str, Callable[[SimulatedServers], Callable[[], None]]] = {
    "insert": lambda servers: servers.begin_insert(TARGET),
    "merge": lambda servers: servers.begin_merge(TARGET),
    "drop": lambda servers: servers.begin_drop(TARGET),
}


@each_run
@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_server_that_begins_and_ends(run: Run, name: str) -> None:
    """An insert that holds a block number, a merge that was decided, a drop that has read State."""
    for begun, ended in combinations(range(len(trace_of(run)))[:: STRIDE // 2], 2):
        scene, script = run.scene(), Script()

        def begin(scene: Scene = scene, script: Script = script, ended: int = ended) -> None:
            end = BEGINNINGS[name](scene.servers)
            script.actions[ended] = perform(scene, lambda _servers: end())

        script.actions[begun] = begin
        reheat_and_judge(scene, script, begun)


@each_run
@pytest.mark.parametrize("name", ["insert and fetch", "merge", "assign a drop", "drop", "stop a server"])
def test_a_server_that_acts_before_the_process_dies(run: Run, name: str) -> None:
    for acted, died in combinations(range(len(trace_of(run)))[::STRIDE], 2):
        scene, script = run.scene(), Script()
        script.actions[acted] = perform(scene, ALL[name])
        script.actions[died] = script.die
        with suppress(Died):
            scene.reheat(script)
        scene.expire()
        scene.servers.catch_up()
        scene.watch.check()
        go_on(scene)


@each_run
@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("name", ["insert", "merge", "drop", "restart a server"])
def test_a_server_that_acts_while_an_answer_is_lost(run: Run, name: str, lost: Lost) -> None:
    operations = trace_of(run)
    commits = [number for number, operation in enumerate(operations) if " commit " in operation]
    for number in commits:
        for acted in range(max(0, number - 6), min(number + 12, len(operations)), 3):
            scene, script = run.scene(), Script(lost={number: lost})
            script.actions[acted] = perform(scene, ALL[name])
            reheat_and_judge(scene, script, acted)


@each_run
@pytest.mark.parametrize("name", ["insert", "drop", "add a replica", "remove a replica"])
def test_a_server_that_acts_before_the_session_expires(run: Run, name: str) -> None:
    for acted, expired in combinations(range(len(trace_of(run)))[::STRIDE], 2):
        scene, script = run.scene(), Script()
        script.actions[acted] = perform(scene, ALL[name])
        script.actions[expired] = scene.expire
        reheat_and_judge(scene, script, acted)
