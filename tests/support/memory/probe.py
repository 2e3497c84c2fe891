# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the simulated servers say when they are asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from support.memory.simulated import SimulatedServers


class SimulatedProbe:
    """Implements ReplicaProbe: tells what the simulated servers have on disk."""

    def __init__(self, servers: SimulatedServers) -> None:
        self._servers = servers

    def active_parts(
        self, _shard_path: str, replica: str, _host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of a replica; none where the replica is not there any more."""
        there = replica in self._servers.disk
        return {
            each: tuple(
                ActivePart(name, 1, None) for name in (self._servers.parts_of(each, replica) if there else ())
            )
            for each in partitions
        }

    def detached_parts(self, _shard_path: str, _replica: str, _host: str) -> frozenset[str]:
        """Nothing is ever detached."""
        return frozenset()
