# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guard in a schedule: the steps of the playbook ``guard``, in its order and under its timed lease."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.timed_lease import (
    Claim,
    TimedLeases,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.enter import (
    Admission,
    Requirements,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Multi,
    Outcome,
)
from explore.repairs import Repairs
from support.memory.ledger import SIGN, SimulatedServer
from support.memory.scene import PATH, Scene
from support.memory.violation import Violation

_NAME = "guard"
_TTL = 600
_ENTRY = re.compile(r".*/ledger/[^/]+/[^/]+")


class Guard:
    """The guards of one table: hosts with the same schedule, of which one works at a time."""

    def __init__(self, scene: Scene, repairs: Repairs) -> None:
        self._scene = scene
        self._repairs = repairs
        self._runs = 0
        self._working: dict[str, float] = {}
        """Owner of the lease → end of its time, in seconds since 1970."""

    def run(self, context: MoveContext, root: str, move: Callable[[], str], *, by_ledger: bool) -> str:
        """Do all steps; returns what was told.

        move: the step that separates, which every second guard has.
        by_ledger: whether there are entries to renew.

        Raises Violation, PartMoveError, and Died.
        """
        audit = self._repairs.audit(context)
        refused = _reason_to_change_nothing(audit)
        if refused:
            return f"nothing changed: {refused}"
        self._runs += 1
        owner = f"guard {self._runs}"
        leases = TimedLeases(context.hot, root)
        if not self._take(leases, owner):
            return "nothing changed: the lease belongs to another"
        steps: list[Callable[[], str]] = [
            lambda: self._bring_back(context, audit),
            lambda: self._repairs.repair(context, FindingKind.COPIES_LEFT),
        ]
        steps += [move] if self._runs % 2 else []
        told = [self._renew(context, root)] if by_ledger else []
        for step in steps:
            try:
                told.append(step() if self._take(leases, owner) else "the lease was lost")
            except PartMoveError as error:
                told.append(error.message)
        leases.give_back(_NAME, owner)
        self._working.pop(owner, None)
        return "; ".join(told)

    def _take(self, leases: TimedLeases, owner: str) -> bool:
        """Take or prolong the lease. Raises Violation where two have it at once."""
        if leases.take(_NAME, Claim(owner, _TTL)).claim.owner != owner:
            return False
        now = self._scene.clock.now()
        others = [each for each, until in self._working.items() if each != owner and until > now]
        if others:
            raise Violation(f"{owner} got the lease that {others[0]} has")
        self._working[owner] = now + _TTL
        return True

    def _bring_back(self, context: MoveContext, audit: ShardAudit) -> str:
        kinds = {FindingKind.UNEVEN}
        if self._scene.options.max_parts == 1:
            kinds.add(FindingKind.SEVERAL_COLD_PARTS)
        partitions = sorted({row.partition for row in audit.rows if row.verdict.kind in kinds})
        moved = sorted(reheat_shard(context, PATH, partitions).moved) if partitions else []
        return f"brought back {moved}; {self._repairs.repair(context, FindingKind.HALF_COLD)}"

    def _renew(self, context: MoveContext, root: str) -> str:
        """Verify the server of each replica, and renew its entry; each may fail alone."""
        told = []
        if context.cold.addresses != self._scene.cold.open().addresses:
            # The role reads their configuration first, which names the ensemble of the scene.
            return "a rollout would still change the servers, so nothing was renewed"
        for replica in self._scene.servers.at_work():
            key = ReplicaKey(PATH, replica)
            server = SimulatedServer(self._scene.hot.open(), key)
            server.disk[key] = set(self._scene.servers.disk[replica])
            ledger = Ledger(_OnlyRenewed(context.hot), root)
            admission = Admission(context.hot, context.cold, ledger, server, context.clock)
            of = Requirements(SIGN, None, ColdEnsemble.of(context.cold), "a guard", None, renew=True)
            try:
                admission.enter(of, {})
            except PartMoveError as error:
                told.append(error.message)
        return f"renewed, but {told}" if told else "renewed"


class _OnlyRenewed(DelegatingStore):
    """Refuses the creation of an entry: a replica without one was withdrawn, perhaps just now."""

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """As a ZnodeStore does."""
        made = [*multis]
        for op in (op for multi in made for op in multi if isinstance(op, Create)):
            if _ENTRY.fullmatch(op.path):
                raise Violation(f"the guard enters a replica that has no entry: {op.path}")
        return self.inner.commit(made)


def _reason_to_change_nothing(audit: ShardAudit) -> str:
    if any(row.verdict.restart_unsafe for row in audit.rows):
        return "a server must not be restarted"
    if audit.unjudged or any(row.verdict.kind is FindingKind.NOT_JUDGED for row in audit.rows):
        return "not everything could be judged"
    return ""
