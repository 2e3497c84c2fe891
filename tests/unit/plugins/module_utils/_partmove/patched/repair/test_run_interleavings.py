# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs with another action before each of their operations, one place after the other.

Whatever comes in between, no part on a disk becomes unregistered because of a repair. Running again ends with
nothing left to repair, or with a kind that names the reason.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    is_covered,
    parse_part_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, Outcome
from support.memory.acts import Act, and_catch_up
from support.memory.bench import DAY, LOCK
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS, Drift
from support.memory.interleaving import Action, Died, Lost, Script, WatchedStore
from support.memory.memory import MemoryStore
from support.memory.statements import Statements
from support.memory.violation import Violation

pytestmark = pytest.mark.long(minutes=1)

ACTS: dict[str, Act] = {
    "insert": lambda servers: servers.insert(DAY),
    "insert and fetch": and_catch_up(lambda servers: servers.insert(DAY)),
    "merge": and_catch_up(lambda servers: servers.assign_merge(DAY)),
    "drop": lambda servers: servers.drop(DAY),
    "mutate": lambda servers: servers.mutate(DAY),
    "restart a server": lambda servers: servers.restart(),
    "stop a server": lambda servers: servers.stop(),
    "alter": and_catch_up(lambda servers: servers.alter()),
    "add a replica": and_catch_up(lambda servers: servers.add_replica()),
}
STRIDE = 7
"""Acts of servers are tried at every so manieth operation."""

RETRIES = 5

every_drift = pytest.mark.parametrize("name", DRIFTS)


class DiskWatch:
    """Implements Watching: what is on a disk and was registered stays registered, in hot or in cold."""

    def __init__(self, drifted: Drifted) -> None:
        self._drifted = drifted
        self._lost = self._unregistered()

    def commit(self, _run: Script, store: MemoryStore, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi, and raise Violation if it unregistered a part on a disk."""
        outcome = store.commit_one(multi, answered=answered)
        lost = self._unregistered() - self._lost
        if lost:
            raise Violation(f"{sorted(lost)} are on disk and unregistered after {multi}")
        return outcome

    def check(self) -> None:
        """Ignore the parts that servers themselves unregistered so far."""
        self._lost = self._unregistered()

    def look_at_members(self) -> None:
        """The leaders tell."""

    def _unregistered(self) -> set[tuple[str, str]]:
        bench = self._drifted.bench
        lost = set()
        for replica, disk in bench.servers.disk.items():
            path = bench.servers.table.parts_path(replica)
            names = {
                name
                for ensemble in (bench.hot_ensemble, bench.cold_ensemble)
                for name in ensemble.children([path])[0] or ()
            }
            registered = [parse_part_name(name, 1, path) for name in names]
            lost |= {
                (replica, name) for name in disk if not is_covered(parse_part_name(name, 1, path), registered)
            }
        return lost


def repair(drifted: Drifted, drift: Drift, script: Script) -> None:
    """Repair in a process of its own, each operation of which is a step of the script."""
    watch = DiskWatch(drifted)
    hot, cold = (
        WatchedStore(each.open(), script, watch)
        for each in (drifted.bench.hot_ensemble, drifted.bench.cold_ensemble)
    )
    drifted.repair_over(hot, cold, drift.kind, RepairOptions(disks_are_mounted=True))


@cache
def trace_of(name: str) -> tuple[str, ...]:
    """The operations of a repair that nothing disturbs."""
    script = Script()
    drifted = DRIFTS[name].made()
    repair(drifted, DRIFTS[name], script)
    return tuple(script.trace)


def _doing(act: Act, servers: Statements) -> Action:
    def do() -> None:
        act(servers)

    return do


def expire(drifted: Drifted) -> None:
    """End the session of a run that is gone."""
    if drifted.bench.hot.exists(LOCK) is not None:
        drifted.bench.hot.delete(LOCK)


def settle(drifted: Drifted, drift: Drift) -> frozenset[FindingKind]:
    """Repair kind by kind until nothing is left to repair; return the final kinds."""
    for _round in range(RETRIES):
        wanted = [each for each in drifted.kinds().values() if each in REMEDIES and each is not drift.after]
        if not wanted:
            break
        for kind in sorted(set(wanted), key=lambda each: each.rank):
            repair(drifted, drift._replace(kind=kind), Script())
    return frozenset(drifted.kinds().values())


@every_drift
def test_a_process_that_dies(name: str) -> None:
    drift = DRIFTS[name]
    for number in range(len(trace_of(name))):
        drifted, script = drift.made(), Script()
        script.actions[number] = script.die
        with suppress(Died):
            repair(drifted, drift, script)
        expire(drifted)
        assert settle(drifted, drift) == {drift.after}, number


@every_drift
@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost(name: str, lost: Lost) -> None:
    drift = DRIFTS[name]
    for number in (number for number, each in enumerate(trace_of(name)) if " commit " in each):
        drifted, script = drift.made(), Script({number: lost})
        with suppress(PartMoveError):
            repair(drifted, drift, script)
        expire(drifted)
        assert settle(drifted, drift) == {drift.after}, number


@every_drift
@pytest.mark.parametrize("act", ACTS)
def test_a_server_that_acts(name: str, act: str) -> None:
    """Its action may change the repairs to do, and leave manual actions."""
    drift = DRIFTS[name]
    for number in range(0, len(trace_of(name)), STRIDE):
        drifted, script = drift.made(), Script()
        servers = drifted.bench.servers
        script.actions[number] = _doing(ACTS[act], servers)
        with suppress(PartMoveError):
            repair(drifted, drift, script)
        servers.catch_up()
        if act == "stop a server":
            servers.restart()
        drifted.bench.clock.sleep(7200)
        left = settle(drifted, drift)
        # A replica without the data has to go first, which is for a person to do.
        assert FindingKind.LACKS_DATA in left or not left & REMEDIES.keys() - {
            drift.after,
            FindingKind.COPIES_LEFT,
        }, number
