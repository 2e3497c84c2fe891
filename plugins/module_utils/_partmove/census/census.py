# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes every znode of an ensemble, whether its files or a session give them, and counts each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from .counts import BoundedCounts, Counts, merged, total_of
from .kind import ZnodeKind
from .table import CensusZnode, TableCensus

DDL_PATH = "/clickhouse/task_queue/ddl"
"""Where servers keep the queue of distributed DDL, unless they are told otherwise."""

_ZOOKEEPER = "/zookeeper"
_MOST_PLACES = 10_000
_MOST_UNKNOWN = 1_000
_MOST_DENIED = 1_000
# No path begins with it.
_NOWHERE = "\0"
# ephemeralOwner of containers, and the upper byte of it where a znode expires.
_CONTAINER = -(2**63)
_EXPIRES = 0xFF


class Places(NamedTuple):
    """Where in an ensemble what is not in a table is, besides ``/zookeeper``."""

    coordination_root: str
    ddl_path: str = DDL_PATH


class Task:
    """A task of the queue of distributed DDL: its znodes, and when it was made (milliseconds since 1970)."""

    __slots__ = ("created", "znodes")

    def __init__(self) -> None:
        self.created = 0
        self.znodes = 0


class Census:
    """Counts the znodes of an ensemble; all that come after the tables are known, each once.

    In memory are the figures of each table, up to 10,000 places outside of tables, and the names of the
    partitions of one table.
    """

    def __init__(self, shard_paths: Collection[str], places: Places) -> None:
        self.unknown = BoundedCounts(_MOST_UNKNOWN)
        """Znodes of unknown names below tables, by what they are called."""
        self.tables = {path: TableCensus(path, self.unknown) for path in shard_paths}
        self.elsewhere: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        """Znodes that are in no table."""
        self.others = BoundedCounts(_MOST_PLACES)
        """Those of the kind OTHER, by the topmost znode that is no parent of a table."""
        self.tasks: dict[str, Task] = {}
        """The tasks of the queue of distributed DDL, by name."""
        self.ephemerals = 0
        """How many ephemeral znodes there are, in tables and elsewhere."""
        self.newest = 0
        """When the latest change was made that a znode tells of, in milliseconds since 1970."""
        self.denied = 0
        """How many znodes may not be read; neither they nor what is below them are counted."""
        self.denied_paths: list[str] = []
        """The first 1,000 of them."""
        self.is_ddl_whole = True
        """Whether the queue of distributed DDL could be read, with all below it."""
        self.ddl_path = places.ddl_path
        self._folders = _parents([*shard_paths, places.ddl_path])
        self._kept = {places.coordination_root: ZnodeKind.COORDINATION, _ZOOKEEPER: ZnodeKind.ZOOKEEPER}
        self._prefix = _NOWHERE
        self._table: TableCensus | None = None

    @property
    def kinds(self) -> dict[ZnodeKind, Counts]:
        """All znodes by kind."""
        return merged([self.elsewhere, *(table.kinds for table in self.tables.values())])

    @property
    def total(self) -> Counts:
        """All znodes."""
        return total_of(self.kinds.values())

    def take(self, path: str, data: bytes, times: tuple[int, int], owner: int) -> None:
        """Count the znode at the path, which is ``/`` for the root.

        times: ctime and mtime in milliseconds since 1970.
        owner: its ephemeralOwner, as clients see it or as it is stored.

        It costs least when the znodes of a table come one after the other.
        """
        ctime, mtime = times
        size = len(data) + (len(path) if path.isascii() else len(path.encode()))
        ephemeral = owner != 0 and _is_of_session(owner)
        self.ephemerals += ephemeral
        self.newest = max(self.newest, mtime)
        if not path.startswith(self._prefix):
            self._go_to(path)
        seen = CensusZnode(data, size, ctime, mtime, ephemeral)
        if self._table is None:
            self._take_elsewhere(path, seen)
        elif len(path) < len(self._prefix):
            self._table.take([], seen)
        else:
            self._table.take(path[len(self._prefix) :].split("/"), seen)

    def deny(self, path: str) -> None:
        """Take note of a znode that may not be read: of what it is in nothing is known as a whole."""
        self.denied += 1
        if len(self.denied_paths) < _MOST_DENIED:
            self.denied_paths.append(path)
        for above in (path, *_above(path)):
            if above in self.tables:
                self.tables[above].is_whole = False
            elif above == self.ddl_path:
                self.is_ddl_whole = False

    def _go_to(self, path: str) -> None:
        if self._table is not None:
            self._table.settle()
        self._prefix, self._table = _NOWHERE, None
        for above in (path, *_above(path)):
            table = self.tables.get(above)
            if table is not None:
                self._prefix, self._table = f"{above}/", table

    def _take_elsewhere(self, path: str, seen: CensusZnode) -> None:
        way = [*reversed(_above(path)), path]
        kind = next((self._kept[each] for each in way if each in self._kept), None)
        if kind is None and self.ddl_path in way:
            kind = ZnodeKind.DDL
            self._take_task(path, seen.ctime)
        if kind is None:
            place = next((each for each in way if each not in self._folders), None)
            kind = ZnodeKind.FOLDER if place is None else ZnodeKind.OTHER
            if place is not None:
                self.others.add(place, seen.size)
        counts = self.elsewhere[kind]
        counts.znodes += 1
        counts.bytes += seen.size

    def _take_task(self, path: str, ctime: int) -> None:
        name, slash, _rest = path[len(self.ddl_path) + 1 :].partition("/")
        if name:
            task = self.tasks.setdefault(name, Task())
            task.znodes += 1
            if not slash:
                task.created = ctime


def _is_of_session(owner: int) -> bool:
    """Whether the owner of a znode is a session; otherwise it says how the znode expires."""
    return owner != _CONTAINER and owner >> 56 & 0xFF != _EXPIRES


def _above(path: str) -> list[str]:
    """The znodes above a path, the nearest first and the root last.

    >>> _above("/a/b/c"), _above("/")
    (['/a/b', '/a', '/'], [])
    """
    found = []
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found.append(path)
    return found


def _parents(paths: Iterable[str]) -> frozenset[str]:
    return frozenset({"/"}.union(*map(_above, paths)))
