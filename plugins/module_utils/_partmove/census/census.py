# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts every znode of an ensemble once, from files of a member or from a session."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from .ages import PartAges
from .counts import BoundedCounts, Counts, merged, total_of
from .kind import ZnodeKind
from .outside import DDL_PATH, OutsideTables, Task, ancestors
from .table import CensusZnode, TableCensus

_MOST_UNKNOWN = 1_000
_MOST_DENIED = 1_000
# No path begins with this character.
_NO_PREFIX = "\0"
# ephemeralOwner of container znodes, and the upper byte of ephemeralOwner of TTL znodes.
_CONTAINER = -(2**63)
_EXPIRES = 0xFF


class Places(NamedTuple):
    """Paths of an ensemble outside of tables, besides ``/zookeeper``."""

    coordination_root: str
    ddl_path: str = DDL_PATH


class Census:
    """Counts the znodes of an ensemble, after its shard paths are known.

    Keeps in memory: the figures of each table, up to 10,000 paths outside of tables, and the partition names
    of one table.
    """

    def __init__(self, shard_paths: Collection[str], places: Places) -> None:
        self.unknown = BoundedCounts(_MOST_UNKNOWN)
        """Znodes with unknown names below tables, by label."""
        self.part_ages = PartAges()
        """Znodes of registered parts, by age."""
        # A table below another table is counted with it, and reported by TableCensus.tables_below.
        known = frozenset(shard_paths)
        topmost = [path for path in shard_paths if known.isdisjoint(ancestors(path))]
        self.tables = {path: TableCensus(path, self.unknown, self.part_ages) for path in topmost}
        self._outside = OutsideTables(shard_paths, places.coordination_root, places.ddl_path)
        self.ephemerals = 0
        """Number of ephemeral znodes, inside and outside of tables."""
        self.newest = 0
        """Time of the latest write of a znode, in milliseconds since 1970."""
        self.denied = 0
        """Number of unreadable znodes; these and their descendants are not counted."""
        self.denied_paths: list[str] = []
        """Paths of the first 1,000 unreadable znodes."""
        self._prefix = _NO_PREFIX
        self._table: TableCensus | None = None

    @property
    def outside_tables(self) -> Mapping[ZnodeKind, Counts]:
        """The counts of znodes outside of tables, by kind."""
        return self._outside.kinds

    @property
    def others(self) -> BoundedCounts:
        """Znodes of the kind OTHER, by the topmost path that is not a parent of a table."""
        return self._outside.others

    @property
    def queues(self) -> Mapping[str, Mapping[str, Task]]:
        """The tasks of each queue of distributed DDL, by path of the queue and name of the task."""
        return self._outside.queues

    @property
    def kinds(self) -> dict[ZnodeKind, Counts]:
        """The counts of all znodes, by kind."""
        return merged([self.outside_tables, *(table.kinds for table in self.tables.values())])

    @property
    def total(self) -> Counts:
        """The counts of all znodes together."""
        return total_of(self.kinds.values())

    def take(self, path: str, data: bytes, times: tuple[int, int], owner: int) -> None:
        """Count the znode at the path; the path of the root is ``/``.

        Fastest if the znodes of a table come one after the other.

        times: ctime and mtime in milliseconds since 1970.
        owner: the ephemeralOwner, in the form of clients or of files.
        """
        ctime, mtime = times
        size = len(data) + (len(path) if path.isascii() else len(path.encode()))
        ephemeral = owner != 0 and _is_of_session(owner)
        self.ephemerals += ephemeral
        self.newest = max(self.newest, mtime)
        if not path.startswith(self._prefix):
            self._enter(path)
        znode = CensusZnode(data, size, ctime, mtime, ephemeral)
        if self._table is None:
            self._outside.take(path, znode)
        elif len(path) < len(self._prefix):
            self._table.take([], znode)
        else:
            self._table.take(path[len(self._prefix) :].split("/"), znode)

    def deny(self, path: str) -> None:
        """Record an unreadable znode. Its table then counts as incomplete."""
        self.denied += 1
        if len(self.denied_paths) < _MOST_DENIED:
            self.denied_paths.append(path)
        for above in (path, *ancestors(path)):
            if above in self.tables:
                self.tables[above].is_whole = False

    def is_readable(self, path: str) -> bool:
        """Whether the znode and all its descendants are known to be readable."""
        return self.denied == len(self.denied_paths) and not any(
            f"{each}/".startswith(f"{path}/") for each in self.denied_paths
        )

    def _enter(self, path: str) -> None:
        if self._table is not None:
            self._table.settle()
        self._prefix, self._table = _NO_PREFIX, None
        for above in (path, *ancestors(path)):
            table = self.tables.get(above)
            if table is not None:
                self._prefix, self._table = f"{above}/", table


def _is_of_session(owner: int) -> bool:
    """Whether ephemeralOwner is a session, and not the mark of a container or TTL znode."""
    return owner != _CONTAINER and owner >> 56 & 0xFF != _EXPIRES
