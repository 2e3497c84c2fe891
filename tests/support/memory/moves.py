# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A context to move partitions in, with patched servers that have on disk what is registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.readiness import AssumePatched
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    RECORDS,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.token_writer import (
    TokenWriter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.listing_cache import ListingCache
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock, ZnodeStore

ANY = GateOptions(min_age=0.0, max_parts=1)
"""Options of a move that lets partitions of one part of any age pass."""


class ListJournal:
    """Implements Journal; keeps the events. What a journal may not have fails the test."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, dict[str, Any]]] = []

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Keep the event with each row."""
        self.events.extend((event, RECORDS[event].read(dict(row), event.value)) for row in rows)

    def of(self, *events: Event) -> list[dict[str, Any]]:
        """Return the rows of some events, in order."""
        return [row for event, row in self.events if event in events]


def make_world(
    hot: ZnodeStore,
    cold: ZnodeStore,
    clock: Clock,
    *,
    probe: ReplicaProbe | None = None,
    lock_wait: float = 30.0,
) -> MoveContext:
    """Return a context of patched servers; without a probe the operator vouches for their disks.

    Each run with it knows what those before it have listed, whatever others did since.
    """
    return MoveContext(
        hot,
        cold,
        clock,
        ListJournal(),
        LeaseKeeper(
            hot,
            cold,
            clock,
            owner="a test",
            wait_seconds=lock_wait,
            write_token=TokenWriter(hot, cold, clock, DEFAULT_ROOT).before_lease,
        ),
        AssumePatched(),
        AssumeActive() if probe is None else AskServers(probe),
        known=ListingCache(),
    )
