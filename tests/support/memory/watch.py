# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges every multi of a run, and the whole after every step, by what is really so.

Nothing is taken from what the code under test has read: the trees are those of the leader right before the
multi, or those of the members now, and what is on disk is known from the servers themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Outcome,
    SetData,
)
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.registration import Registration
from support.memory.simulated import SimulatedServers
from support.memory.switches import Switches, partition_of
from support.memory.trees import Trees
from support.memory.violation import Violation

PART = re.compile(r"(?P<path>.*/replicas/(?P<replica>[^/]+)/parts/(?P<name>[^/]+))(/[^/]+)?")
STATE = re.compile(r".*/block_numbers/([^/]+)/State")
_EPOCH = re.compile(r"(.*)/epochs/[^/]+")


class Watch:
    """Checks the invariants: after each multi of a mover, and whenever `check` is called.

    judged: how many multis of runs were judged. looks: how often all members were looked at.
    """

    def __init__(
        self, servers: SimulatedServers, hot: MemoryEnsemble, cold: MemoryEnsemble, *, by_ledger: bool = False
    ) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._registration = Registration(servers, hot, cold)
        self._switches = Switches(servers, hot, cold, by_ledger=by_ledger)
        self._epochs: dict[tuple[str, str], object] = {}
        self._states_created: set[tuple[int, str]] = set()
        self._applied: list[int] = []
        self.judged = 0
        self.looks = 0
        self.check()

    def commit(self, run: object, store: MemoryStore, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi of a mover and check that it was allowed to."""
        before = Trees.of(self._hot, self._cold, self._servers.table.path)
        outcome = store.commit_one(multi, answered=answered)
        self.judged += 1
        if isinstance(outcome, Committed):
            self._judge_lease(run, store, multi, before)
            if store.ensemble is self._hot:
                self._judge_hot(run, multi, before)
            else:
                self._judge_cold(multi, before)
        self.check()
        return outcome

    def check(self) -> None:
        """I1, I3 and I4, on every member."""
        self.looks += 1
        self._applied = self._how_far()
        self._registration.check()

    def look_at_members(self) -> None:
        """Check again if a member has caught up since."""
        if self._applied != self._how_far():
            self.check()

    def end(self, run: object, moved: Collection[str]) -> None:
        """A run ends and tells what it has moved: not what could not be kept out and is still there."""
        self._switches.end(run, moved)

    def _how_far(self) -> list[int]:
        return [each.applied(member) for each in (self._hot, self._cold) for member in each.members]

    def _judge_lease(self, run: object, store: MemoryStore, multi: Multi, before: Trees) -> None:
        """Only the run that raised the epoch last may write to the table, at the root that cold names."""
        for op in multi:
            epoch = _EPOCH.fullmatch(op.path)
            if epoch and isinstance(op, (Create, SetData)):
                self._epochs[store.name, op.path] = run
        writes = [op.path for op in multi if not isinstance(op, Check) and is_of_the_table(op.path)]
        if not writes:
            return
        checked = {op.path for op in multi if isinstance(op, Check) and _EPOCH.fullmatch(op.path)}
        if not any(self._epochs.get((store.name, path)) is run for path in checked):
            raise Violation(f"{writes[0]} of {store.name} was written to without the lease")
        root = before.marked_root()
        if root is not None and not any(path.startswith(f"{root}/epochs/") for path in checked):
            raise Violation(
                f"{writes[0]} of {store.name} was written to by a run that does not meet at {root}"
            )

    def _judge_hot(self, run: object, multi: Multi, before: Trees) -> None:
        """I2, I3, I5 and I9, the switches, and that nothing else of the table is written to."""
        made_cold, made_hot = switched_to(b"COLD", multi), switched_to(b"HOT", multi)
        deleted = _parts(multi, Delete)
        for each in sorted(made_cold):
            self._switches.judge_cold(run, each, _of(each, deleted), before)
        for each in sorted(made_hot):
            self._switches.judge_hot(each, before)
        self._judge_return(multi, before, made_hot)
        for replica, names in deleted.items():
            astray = {name for name in names if partition_of(name) not in made_cold}
            if astray:
                raise Violation(f"I3: {sorted(astray)} of {replica} were deleted without State=COLD")
        for op in multi:
            if STATE.fullmatch(op.path) and isinstance(op, Create):
                self._judge_created(op.path, before)
            elif isinstance(op, Delete) and not PART.fullmatch(op.path) and is_below(op.path, before.path):
                raise Violation(f"{op.path} was deleted")

    def _judge_created(self, path: str, before: Trees) -> None:
        creation = before.table_czxid(), path
        if creation in self._states_created:
            raise Violation(f"I9: {path} was created twice")
        self._states_created.add(creation)

    def _judge_return(self, multi: Multi, before: Trees, made_hot: Collection[str]) -> None:
        """I2 and I3 of the way back: hot gets what cold and the disk have, and then has all of the disk."""
        for op in multi:
            part = PART.fullmatch(op.path)
            if isinstance(op, Create) and part:
                if partition_of(part["name"]) not in made_hot:
                    raise Violation(f"I3: {op.path} was created without State=HOT")
                if part["name"] not in self._servers.disk.get(part["replica"], ()):
                    raise Violation(f"{op.path} was created, and the disk has it not")
                if before.in_cold(part["path"]) != Trees.now(before).in_hot(part["path"]):
                    raise Violation(f"I2: {part['path']} was created, but cold has other bytes or children")

    def _judge_cold(self, multi: Multi, before: Trees) -> None:
        """I6."""
        for replica, names in _parts(multi, Delete).items():
            created = _parts(multi, Create).get(replica, set())
            for name in (names - created) & self._servers.disk.get(replica, set()):
                self._judge_needed(replica, f"{before.path}/replicas/{replica}/parts/{name}")

    def _judge_needed(self, replica: str, path: str) -> None:
        """Every member of hot has the part, for a server may ask any of them and finds no copy any more."""
        for at in self._registration.views(replica):
            if self._hot.history.znode(path, at) is None:
                raise Violation(f"I6: the copy {path} was deleted, and not every member of hot has it")


def is_of_the_table(path: str) -> bool:
    """Whether it is a part or a State."""
    return PART.fullmatch(path) is not None or STATE.fullmatch(path) is not None


def is_below(path: str, above: str) -> bool:
    """Whether it is the path or one below it."""
    return path == above or path.startswith(f"{above}/")


def switched_to(state: bytes, multi: Multi) -> frozenset[str]:
    """Partitions whose State the multi sets to that."""
    return frozenset(
        match[1]
        for op in multi
        if isinstance(op, (SetData, Create)) and op.data == state and (match := STATE.fullmatch(op.path))
    )


def _parts(multi: Multi, kind: type[Create] | type[Delete]) -> dict[str, set[str]]:
    """Replica → names of the parts that the multi creates or deletes."""
    found: dict[str, set[str]] = {}
    for op in multi:
        part = PART.fullmatch(op.path) if isinstance(op, kind) else None
        if part is not None and part["path"] == op.path:
            found.setdefault(part["replica"], set()).add(part["name"])
    return found


def _of(partition: str, names: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {
        replica: {each for each in of if partition_of(each) == partition} for replica, of in names.items()
    }
