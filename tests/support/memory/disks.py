# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the simulated servers have on disk, for audits."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
    ServerTable,
)
from support.memory.simulated import SimulatedServers


class SimulatedDisks:
    """Implements Disks.

    silent: replicas whose servers do not answer.
    hashes: of parts by name, as all servers tell them; None for the others.
    detached: names in the folder ``detached`` by replica.
    """

    def __init__(self, servers: SimulatedServers) -> None:
        self._servers = servers
        self.silent: set[str] = set()
        self.hashes: dict[str, str] = {}
        self.detached: dict[str, set[str]] = {}

    def parts(self, _shard_path: str, replica: str, _host: str) -> DiskParts:
        """All that the replica has."""
        if replica in self.silent:
            raise PartMoveError("ClickHouse at h:8123 cannot be reached", remedy="Start it")
        names = self._servers.disk.get(replica, ())
        active = {name: self.hashes.get(name) for name in sorted(names)}
        table = ServerTable(f"ClickHouse at {replica}:8123", "db", "hits")
        return DiskParts(active, frozenset(self.detached.get(replica, ())), table)
