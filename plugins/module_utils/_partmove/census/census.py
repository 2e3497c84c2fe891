# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts every znode of an ensemble once, from files of a member or from a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from .counts import BoundedCounts, Counts, merged, total_of
from .kind import ZnodeKind
from .table import CensusZnode, TableCensus

DDL_PATH = "/clickhouse/task_queue/ddl"
"""The default path of the queue of distributed DDL."""

_ZOOKEEPER = "/zookeeper"
_MOST_PLACES = 10_000
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


class Task:
    """A task of distributed DDL: its number of znodes, and its creation in milliseconds since 1970."""

    __slots__ = ("created", "znodes")

    def __init__(self) -> None:
        self.created = 0
        self.znodes = 0


class Census:
    """Counts the znodes of an ensemble, after its shard paths are known.

    Keeps in memory: the figures of each table, up to 10,000 paths outside of tables, and the partition names
    of one table.
    """

    def __init__(self, shard_paths: Collection[str], places: Places) -> None:
        self.unknown = BoundedCounts(_MOST_UNKNOWN)
        """Znodes with unknown names below tables, by label."""
        self.tables = {path: TableCensus(path, self.unknown) for path in shard_paths}
        self.outside_tables: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        """Znodes outside of tables, by kind."""
        self.others = BoundedCounts(_MOST_PLACES)
        """Znodes of the kind OTHER, by the topmost path that is not a parent of a table."""
        self.tasks: dict[str, Task] = {}
        """Tasks of distributed DDL, by name."""
        self.ephemerals = 0
        """Number of ephemeral znodes, inside and outside of tables."""
        self.newest = 0
        """Time of the latest write of a znode, in milliseconds since 1970."""
        self.denied = 0
        """Number of unreadable znodes; these and their descendants are not counted."""
        self.denied_paths: list[str] = []
        """Paths of the first 1,000 unreadable znodes."""
        self.is_ddl_whole = True
        """Whether the queue of distributed DDL and all its descendants are readable."""
        self.ddl_path = places.ddl_path
        self._folders = _parents([*shard_paths, places.ddl_path])
        self._reserved = {places.coordination_root: ZnodeKind.COORDINATION, _ZOOKEEPER: ZnodeKind.ZOOKEEPER}
        self._prefix = _NO_PREFIX
        self._table: TableCensus | None = None

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
            self._take_outside_tables(path, znode)
        elif len(path) < len(self._prefix):
            self._table.take([], znode)
        else:
            self._table.take(path[len(self._prefix) :].split("/"), znode)

    def deny(self, path: str) -> None:
        """Record an unreadable znode. Its table, or the DDL queue, then counts as incomplete."""
        self.denied += 1
        if len(self.denied_paths) < _MOST_DENIED:
            self.denied_paths.append(path)
        for above in (path, *_above(path)):
            if above in self.tables:
                self.tables[above].is_whole = False
            elif above == self.ddl_path:
                self.is_ddl_whole = False

    def _enter(self, path: str) -> None:
        if self._table is not None:
            self._table.settle()
        self._prefix, self._table = _NO_PREFIX, None
        for above in (path, *_above(path)):
            table = self.tables.get(above)
            if table is not None:
                self._prefix, self._table = f"{above}/", table

    def _take_outside_tables(self, path: str, znode: CensusZnode) -> None:
        way = [*reversed(_above(path)), path]
        kind = next((self._reserved[each] for each in way if each in self._reserved), None)
        if kind is None and self.ddl_path in way:
            kind = ZnodeKind.DDL
            self._take_task(path, znode.ctime)
        if kind is None:
            place = next((each for each in way if each not in self._folders), None)
            kind = ZnodeKind.FOLDER if place is None else ZnodeKind.OTHER
            if place is not None:
                self.others.add(place, znode.size)
        counts = self.outside_tables[kind]
        counts.znodes += 1
        counts.bytes += znode.size

    def _take_task(self, path: str, ctime: int) -> None:
        name, slash, _rest = path[len(self.ddl_path) + 1 :].partition("/")
        if name:
            task = self.tasks.setdefault(name, Task())
            task.znodes += 1
            if not slash:
                task.created = ctime


def _is_of_session(owner: int) -> bool:
    """Whether ephemeralOwner is a session, and not the mark of a container or TTL znode."""
    return owner != _CONTAINER and owner >> 56 & 0xFF != _EXPIRES


def _above(path: str) -> list[str]:
    """Return the ancestors of a path, the parent first and the root last.

    >>> _above("/a/b/c"), _above("/")
    (['/a/b', '/a', '/'], [])
    """
    ancestors = []
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        ancestors.append(path)
    return ancestors


def _parents(paths: Iterable[str]) -> frozenset[str]:
    return frozenset({"/"}.union(*map(_above, paths)))
