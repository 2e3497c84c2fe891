# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays a schedule: its runs one after the other, with what goes wrong, and whether all ends as it should."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from explore.acts import Acts
from explore.converge import converge
from explore.runs import Process, Runs
from explore.schedule import SECONDS, Fault, Run, Schedule
from support.memory.interleaving import Died, Lost, Script
from support.memory.scene import COLD, WANTED, Kind, Scene, copy_of

_FENCE_SECONDS = 600.0


def _made(kind: Kind, start: str, by_ledger: bool) -> Scene:
    """The scene as it is before the first run."""
    scene = Scene(kind, by_ledger=by_ledger, already_cold=(COLD,) if start == "hot" else WANTED)
    if start.startswith("back"):
        assert scene.reheat().moved.keys() == set(WANTED)
    if start == "back for ten minutes":
        scene.wait(_FENCE_SECONDS)
    if by_ledger:
        Acts(scene).enter()
    return scene


class Player:
    """One schedule on one table.

    steps: how many operations on ZooKeeper the runs have done. log: what was done, for people.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.scene = copy_of(_made, schedule.table, schedule.start, schedule.by_ledger)
        for ensemble in (self.scene.hot, self.scene.cold):
            ensemble.history.is_keeper = schedule.is_keeper
        self._acts = Acts(self.scene)
        self._runs = Runs(self.scene, by_ledger=schedule.by_ledger)
        self.log: list[str] = []
        self._scripts: list[Script] = []

    @property
    def steps(self) -> int:
        """How many operations on ZooKeeper the runs have done so far."""
        return sum(len(script.trace) for script in self._scripts)

    def play(self) -> None:
        """Play it. Raises Violation, or another AssertionError where the end is not as it should be."""
        for run in self._schedule.runs:
            self._play(run)
        self._acts.end()
        converge(self.scene, self._runs, self._scripts, self.log)

    def _play(self, run: Run) -> None:
        script = Script()
        self._scripts.append(script)
        process = self._runs.start(run.settings, script)
        left = list(run.faults)
        for fault in run.faults:
            before = script.actions.get(fault.at, _nothing)
            script.actions[fault.at] = partial(self._one_after_the_other, before, fault, process, left)
        self.log.append(f"{run.goal} begins")
        try:
            told = self._runs.carry_out(run.goal, run.partition, process)
            self.log.append(f"{run.goal} ends: {told}")
        except Died:
            self.log.append(f"{run.goal} dies at {len(script.trace)}")
        except PartMoveError as error:
            self.log.append(f"{run.goal} ends with an error: {error.message}")
        # The process ends, and its session with it, whatever became of its last request.
        process.hot.expire()
        process.hot.end_former_sessions()
        for fault in list(left):
            self._do(fault, process)

    def _one_after_the_other(
        self, before: Callable[[], None], fault: Fault, process: Process, left: list[Fault]
    ) -> None:
        before()
        left.remove(fault)
        self._do(fault, process)

    def _do(self, fault: Fault, process: Process) -> None:
        self.log.append(f"  {len(process.script.trace)}: {fault.what}")
        if fault.what in _ON_THE_RUN:
            _ON_THE_RUN[fault.what](process)
        elif fault.what == "go to another member":
            store = process.hot if fault.number < 0.5 else process.cold
            store.connect_to(int(fault.number * 1000) % 3)
        elif fault.what == "copy hot":
            self._runs.copy_hot()
        elif fault.what == "go back":
            process.go_back(fault.number)
        elif fault.what == "a member catches up":
            ensemble = self.scene.hot if fault.number < 0.5 else self.scene.cold
            member = 1 + int(fault.number * 1000) % 2
            behind = ensemble.history.last - ensemble.applied(member)
            ensemble.catch_up(member, ensemble.applied(member) + int(behind * (fault.number * 10 % 1.0)))
            self.scene.watch.look_at_members()
        elif fault.what == "time passes":
            self.scene.wait(SECONDS[int(fault.number * len(SECONDS))])
        elif fault.run is not None:
            if fault.number < 0.6:
                process.expire()
            self._play(fault.run)
        else:
            with suppress(_NothingToDo):
                self._acts.do(fault.what, fault.partition, fault.replica)
            self.scene.watch.check()


class _NothingToDo(Exception):
    """There is no such thing any more."""


def _nothing() -> None:
    pass


def _lose(process: Process, lost: Lost) -> None:
    process.script.lose_next = lost


_ON_THE_RUN: dict[str, Callable[[Process], None]] = {
    "die": lambda process: process.script.die(),
    "lose an answer, applied": lambda process: _lose(process, Lost.APPLIED),
    "lose an answer, not applied": lambda process: _lose(process, Lost.NOT_APPLIED),
    "expire": Process.expire,
    "get a new session": lambda process: process.hot.replace_session(),
    "end the former sessions": lambda process: process.hot.end_former_sessions(),
}
