# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A world to move partitions in, with patched servers that have on disk what is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.readiness import AssumePatched
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.move.run import World
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import (
    Clock,
    ReplicaProbe,
    ZnodeStore,
)

ANY = GateOptions(min_age=0.0, max_parts=1)
"""Options of a move that lets partitions of one part of any age pass."""


class ListJournal:
    """Implements Journal; keeps the events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, str | int]]] = []

    def record(self, event: str, rows: Sequence[Mapping[str, str | int]]) -> None:
        """Keep the event with each row."""
        self.events.extend((event, dict(row)) for row in rows)


def make_world(
    hot: ZnodeStore,
    cold: ZnodeStore,
    clock: Clock,
    *,
    probe: ReplicaProbe | None = None,
    lock_wait: float = 30.0,
) -> World:
    """Return a world of patched servers; without a probe the operator vouches for their disks."""
    return World(
        hot,
        cold,
        clock,
        ListJournal(),
        LeaseKeeper(hot, cold, clock, owner="a test", wait_seconds=lock_wait),
        AssumePatched(),
        AssumeActive() if probe is None else AskServers(probe),
    )
