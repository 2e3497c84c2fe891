# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The znodes of replicated tables without servers, for tests that only read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kazoo.client import KazooClient

MINIMALISTIC = b"part header format version: 1\n" + b"\x11" * 16 + b"\x03\x02" + b"\x22" * 48
LEGACY = {
    "columns": b"columns format version: 1\n1 columns:\n`d` Date\n",
    "checksums": b"checksums format version: 5\n" + b"\x01\x01" + b"\x33" * 48,
}

_DEFINITION = {
    "metadata format version": "1",
    "date column": "",
    "sampling expression": "",
    "index granularity": "8192",
    "mode": "0",
    "sign column": "",
    "primary key": "d",
}
_DEFINITION_OF_FORMAT = {
    0: {"date column": "d"},
    1: {"data format version": "1", "partition key": "d"},
}
_MARKS = ("block_numbers", "blocks", "leader_election", "log", "mutations", "quorum", "replicas", "temp")


def definition(format_version: int) -> bytes:
    """The ``metadata`` znode of a shard path."""
    lines = _DEFINITION | _DEFINITION_OF_FORMAT[format_version]
    return "".join(f"{key}: {value}\n" for key, value in lines.items()).encode()


@dataclass
class SyntheticTable:
    """A shard path in one ensemble, as a server leaves it.

    format_version: 1, or 0 for a table whose partitions are months.
    """

    client: KazooClient
    path: str
    format_version: int = 1

    def create(self) -> SyntheticTable:
        """Create the znodes that come with the table."""
        for name in _MARKS:
            self.client.create(f"{self.path}/{name}", makepath=True)
        self.client.create(f"{self.path}/metadata", definition(self.format_version))
        self.client.create(f"{self.path}/columns", LEGACY["columns"])
        return self

    def add_part(
        self,
        replica: str,
        name: str,
        *,
        data: bytes = MINIMALISTIC,
        children: Mapping[str, bytes] | None = None,
    ) -> str:
        """Register a part, with its replica where that is new, and return its path."""
        path = f"{self.path}/replicas/{replica}/parts/{name}"
        self.client.create(path, data, makepath=True)
        for child, content in (children or {}).items():
            self.client.create(f"{path}/{child}", content)
        return path

    def add_legacy_part(self, replica: str, name: str) -> str:
        """Register a part in the legacy form and return its path."""
        return self.add_part(replica, name, data=b"", children=LEGACY)

    def set_state(self, partition: str, data: bytes) -> None:
        """Write the State of a partition."""
        path = f"{self.path}/block_numbers/{partition}/State"
        self.client.ensure_path(path)
        self.client.set(path, data)
