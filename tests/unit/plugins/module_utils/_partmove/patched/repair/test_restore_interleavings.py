# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restores with another action before each of their operations, over members that lag behind.

Whatever comes in between, no registered part becomes unregistered, no part in cold gets other bytes than hot
or the disk, and running again ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Delete,
    Multi,
    Outcome,
)
from support.memory.acts import and_catch_up
from support.memory.bench import DAY, LOCK, OTHER, PATH
from support.memory.interleaving import Action, Died, Lost, Script, WatchedStore
from support.memory.memory import MemoryStore
from support.memory.restores import STATE, Restores
from support.memory.violation import Violation

pytestmark = pytest.mark.long(minutes=1)

CONTRADICTIONS = {FindingKind.HOT_MARKED_COLD, FindingKind.COPIES_DIFFER, FindingKind.UNLIKE_DISK}
"""Findings that no restore may make, even if it ends half-way."""


def taking_over(act: Callable[[Restores], object]) -> Callable[[Restores], object]:
    """Another run takes the lease over, because the session of the restore has ended."""

    def act_under_lease(restores: Restores) -> None:
        expire(restores)
        act(restores)

    return act_under_lease


ACTS: dict[str, Callable[[Restores], object]] = {
    "insert": lambda restores: and_catch_up(lambda servers: servers.insert(DAY))(restores.bench.servers),
    "drop": lambda restores: and_catch_up(lambda servers: servers.drop(DAY))(restores.bench.servers),
    "restart a server": lambda restores: restores.bench.servers.restart(),
    "stop a server": lambda restores: restores.bench.servers.stop(),
    "alter": lambda restores: and_catch_up(lambda servers: servers.alter())(restores.bench.servers),
    "move": taking_over(lambda restores: restores.bench.beside().move(DAY)),
    "move another partition": taking_over(lambda restores: restores.bench.beside().move(OTHER)),
    "bring back": taking_over(lambda restores: restores.bench.beside().reheat(DAY)),
    "restore": taking_over(lambda restores: beside(restores).restore()),
    "set State": lambda restores: restores.bench.hot.set(STATE, b"HOT"),
    "unmount": lambda restores: restores.disks_are_gone(),
}


UNFENCED = {"insert": FindingKind.HALF_COLD, "unmount": FindingKind.GHOST}
"""What an act that no multi can check makes of a partition that was judged right before, as in a move."""


class DeletesNothing:
    """Implements Watching: a restore deletes no znode of a table."""

    def commit(self, _run: Script, store: MemoryStore, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi, and raise Violation if it deletes."""
        for op in multi:
            if isinstance(op, Delete) and op.path.startswith(PATH):
                raise Violation(f"{op.path} is deleted")
        return store.commit_one(multi, answered=answered)

    def check(self) -> None:
        """Ignore what servers do."""

    def look_at_members(self) -> None:
        """Ignore the members."""


def beside(restores: Restores) -> Restores:
    """Return another process, which restores the same backup."""
    other = Restores()
    other.bench, other.disks, other.lines = restores.bench.beside(), restores.disks, restores.lines
    return other


def run(restores: Restores, script: Script) -> None:
    """Restore in a process of its own, each operation of which is a step of the script."""
    hot, cold = (
        WatchedStore(each.open(each.members[-1]), script, DeletesNothing())
        for each in (restores.bench.hot_ensemble, restores.bench.cold_ensemble)
    )
    restores.restore_over(hot, cold)


def expire(restores: Restores) -> None:
    """End the session of a run that is gone."""
    if restores.bench.hot.exists(LOCK) is not None:
        restores.bench.hot.delete(LOCK)


def made() -> Restores:
    return Restores.of_lost_disks()


@cache
def trace() -> tuple[str, ...]:
    """The operations of a restore that nothing disturbs."""
    script = Script()
    run(made(), script)
    return tuple(script.trace)


def test_a_process_that_dies() -> None:
    for number in range(len(trace())):
        restores, script = made(), Script()
        script.actions[number] = script.die
        with suppress(Died):
            run(restores, script)
        expire(restores)
        run(restores, Script())
        assert set(restores.kinds().values()) == {FindingKind.COLD}, number


@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost(lost: Lost) -> None:
    for number in (number for number, each in enumerate(trace()) if " commit " in each):
        restores, script = made(), Script({number: lost})
        with suppress(PartMoveError):
            run(restores, script)
        expire(restores)
        run(restores, Script())
        assert set(restores.kinds().values()) == {FindingKind.COLD}, number


@pytest.mark.parametrize("name", ACTS)
def test_something_else_that_happens(name: str) -> None:
    for number in range(len(trace())):
        restores, script = made(), Script()
        script.actions[number] = _doing(restores, ACTS[name])
        with suppress(PartMoveError):
            run(restores, script)
        assert not CONTRADICTIONS & set(restores.kinds().values()), number
        expire(restores)
        restores.bench.servers.restart()
        again = restores.restore()
        assert again.keys() <= {"created", "set_back", "unchanged", "left"}
        assert not CONTRADICTIONS & set(restores.kinds().values()), number
        if "left" not in again:
            assert set(restores.kinds().values()) <= {FindingKind.COLD, UNFENCED.get(name)}, number


def _doing(restores: Restores, act: Callable[[Restores], object]) -> Action:
    def do() -> None:
        act(restores)

    return do
