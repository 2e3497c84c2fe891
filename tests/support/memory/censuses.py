# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Trees of znodes without an ensemble, and the census of them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census, Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import is_shard_path
from support.memory.synthetic import definition

NOW = 1_800_000_000_000
"""When a census is taken, in milliseconds since 1970."""
DAY = 86_400_000
SHARD = "/clickhouse/tables/01/hits"
PLACES = Places("/partmove")
SESSION = 0x10000000001
"""The owner of ephemeral znodes."""

_MARKS = ("block_numbers", "blocks", "columns", "leader_election", "log", "mutations", "quorum", "temp")
_OF_A_REPLICA = ("columns", "flags", "host", "is_lost", "metadata", "parts", "queue")


class _Znode(NamedTuple):
    data: bytes
    time: int
    owner: int


class ZnodeTree:
    """Znodes by path; parents of what is added are added as well, with its age."""

    def __init__(self) -> None:
        self._znodes: dict[str, _Znode] = {}

    def add(self, path: str, data: bytes = b"", *, days: float = 0, owner: int = 0) -> ZnodeTree:
        """Add a znode that was created so many days ago, and not changed since."""
        time = NOW - int(days * DAY)
        if path != "/":
            parent = path.rpartition("/")[0] or "/"
            if parent not in self._znodes:
                self.add(parent, days=days)
        self._znodes[path] = _Znode(data, time, owner)
        return self

    def add_table(self, path: str = SHARD, *, days: float = 400, format_version: int = 1) -> ZnodeTree:
        """Add a table without replicas."""
        for name in _MARKS:
            self.add(f"{path}/{name}", days=days)
        return self.add(f"{path}/replicas", days=days).add(
            f"{path}/metadata", definition(format_version), days=days
        )

    def add_replica(
        self,
        name: str,
        path: str = SHARD,
        *,
        active: bool = True,
        days: float = 400,
        pointer: int = 0,
        host: str | None = None,
    ) -> ZnodeTree:
        """Add a replica, whose last change was so many days ago; returns the tree.

        host: of the server that activated it last, which by default has the name of the replica.
        """
        replica = f"{path}/replicas/{name}"
        for each in _OF_A_REPLICA:
            self.add(f"{replica}/{each}", b"0" if each == "is_lost" else b"", days=days)
        address = f"host: {name if host is None else host}\nport: 9009\n"
        self.add(f"{replica}/host", b"" if host == "" else address.encode(), days=days)
        self.add(f"{replica}/log_pointer", str(pointer).encode(), days=days)
        self.add(f"{replica}/mutation_pointer", days=days)
        if active:
            self.add(f"{replica}/is_active", owner=SESSION)
        return self

    def add_part(
        self, name: str, replica: str = "r1", *, legacy: bool = False, days: float = 0.0
    ) -> ZnodeTree:
        """Register a part of a replica of the table at SHARD, so many days ago."""
        path = f"{SHARD}/replicas/{replica}/parts/{name}"
        self.add(path, b"" if legacy else b"header", days=days)
        for child in ("columns", "checksums") if legacy else ():
            self.add(f"{path}/{child}", b"text", days=days)
        return self

    def census(self, places: Places = PLACES) -> Census:
        """Count all of them, in the order of a snapshot."""
        names: defaultdict[str, set[str]] = defaultdict(set)
        for path in self._znodes:
            parent, _slash, name = path.rpartition("/")
            names[parent or "/"].add(name)
        census = Census([path for path in sorted(names) if is_shard_path(names[path])], places)
        for path in sorted(self._znodes, key=lambda each: each.split("/")):
            data, time, owner = self._znodes[path]
            census.take(path, data, (time, time), owner)
        return census


def plain_tree() -> ZnodeTree:
    """A table of two replicas with sessions, of which nothing is to be said."""
    tree = ZnodeTree().add_table().add_replica("r1").add_replica("r2")
    for replica in ("r1", "r2"):
        tree.add_part("20191201_0_0_0", replica)
    return tree.add(f"{SHARD}/block_numbers/20191201", days=400)
