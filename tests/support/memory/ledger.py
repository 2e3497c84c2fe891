# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas that are entered in the ledger, as after a verification of their servers."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.enter import (
    SeenActivation,
    ServedReplica,
    look_up_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
    LedgerEntry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    EntryChange,
    Ledger,
    LedgerReadiness,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import (
    ZnodeReader,
    ZnodeStore,
)

SIGN = "SELECT 1"


def entry_of(hot: ZnodeReader, cold: ZnodeStore, key: ReplicaKey, verified_at: str = "now") -> LedgerEntry:
    """Return an entry for the replica as it is active now."""
    replica = look_up_replicas(hot, [key])[key]
    assert replica.host is not None
    assert replica.address is not None
    return LedgerEntry(
        host=replica.address.host,
        interserver_port=replica.address.interserver_port,
        host_version=replica.host.stat.version,
        host_mzxid=replica.host.stat.mzxid,
        server_version="20.12.3.3",
        patched_sign=SIGN,
        started_at="before",
        cold=ColdEnsemble.of(cold),
        verified_by="a test",
        verified_at=verified_at,
    )


def enter(
    hot: ZnodeStore, cold: ZnodeStore, *keys: ReplicaKey, root: str = DEFAULT_ROOT
) -> list[EntryChange]:
    """Enter the replicas as they are now."""
    return [Ledger(hot, root).enter(key, entry_of(hot, cold, key)) for key in keys]


def readiness(hot: ZnodeStore, cold: ZnodeStore) -> LedgerReadiness:
    """Return what a move asks that looks into the ledger."""
    return LedgerReadiness(Ledger(hot), ColdEnsemble.of(cold))


class SimulatedServer:
    """Implements ServerProbe: a patched server that sees what the ensemble has of its replicas.

    asked: called with the name of each question before it is answered.
    disk: names of the active parts of its replicas.
    """

    label = "the server"

    def __init__(self, hot: ZnodeReader, *keys: ReplicaKey) -> None:
        self._hot = hot
        self._keys = keys
        self.asked: Callable[[str], object] = lambda _question: None
        self.read_only = False
        self.patched = True
        self.started_at = 1_000
        self.disk: dict[ReplicaKey, set[str]] = {}

    def replicas(self) -> Collection[ServedReplica]:
        """All of them."""
        self.asked("replicas")
        return [ServedReplica(key, "default.hits", self.read_only, False) for key in self._keys]

    def version(self) -> str:
        """Any."""
        self.asked("version")
        return "20.12.3.3"

    def started(self) -> int:
        """When the test says."""
        self.asked("started")
        return self.started_at

    def shows(self, sign: str) -> bool:
        """Whether the test says so."""
        self.asked("shows")
        return self.patched and sign == SIGN

    def activation(self, key: ReplicaKey) -> SeenActivation:
        """What the ensemble has."""
        self.asked("activation")
        replica = look_up_replicas(self._hot, [key])[key]
        host, is_active = replica.host, replica.is_active
        return SeenActivation(
            None if host is None else host.stat.mzxid, None if is_active is None else is_active.stat.czxid
        )

    def parts(self, key: ReplicaKey) -> Collection[str]:
        """What the test says."""
        self.asked("parts")
        return sorted(self.disk.get(key, ()))
