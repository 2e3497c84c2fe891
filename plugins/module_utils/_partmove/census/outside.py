# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts the znodes outside of tables, by kind.

Known paths have a fixed kind. Operators choose other paths for queues of distributed DDL and for Replicated
databases: tasks and databases are recognized by their data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from .counts import BoundedCounts, Counts
from .kind import ZnodeKind
from .table import CensusZnode

DDL_PATH = "/clickhouse/task_queue/ddl"
"""The default path of the queue of distributed DDL."""

# Default paths of servers up to those of 2026, and paths in the manual of ClickHouse.
_OF_SERVERS = {
    "/clickhouse/access": ZnodeKind.SERVER,
    "/clickhouse/databases": ZnodeKind.DATABASE,
    "/clickhouse/discovery": ZnodeKind.SERVER,
    "/clickhouse/series": ZnodeKind.SERVER,
    "/clickhouse/sessions": ZnodeKind.SERVER,
    "/clickhouse/task_queue/replicas": ZnodeKind.SERVER,
    "/clickhouse/user_defined_functions": ZnodeKind.SERVER,
    "/clickhouse/workload": ZnodeKind.SERVER,
    "/clickhouse/zero_copy": ZnodeKind.ZERO_COPY,
    "/keeper": ZnodeKind.KEEPER,
    "/zookeeper": ZnodeKind.ZOOKEEPER,
}
_TASK = re.compile(r"(/.+)/(query-[0-9]{10})", re.ASCII)
_DATA_OF_A_TASK = b"version: "
_DATA_OF_A_DATABASE = b"DatabaseReplicated"
_MOST_PLACES = 10_000


class Task:
    """A task of distributed DDL: its number of znodes, and its creation in milliseconds since 1970."""

    __slots__ = ("created", "znodes")

    def __init__(self) -> None:
        self.created = 0
        self.znodes = 0


class OutsideTables:
    """The counts of znodes outside of tables. Parents must be counted before their children."""

    def __init__(self, shard_paths: Collection[str], coordination_root: str, ddl_path: str) -> None:
        self.kinds: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        """Counts by kind."""
        self.others = BoundedCounts(_MOST_PLACES)
        """Znodes of the kind OTHER, by the topmost path that is not a parent of a table."""
        self.queues: dict[str, dict[str, Task]] = {DDL_PATH: {}, ddl_path: {}}
        """The tasks of each queue of distributed DDL, by path of the queue and name of the task."""
        self._folders = _parents([*shard_paths, ddl_path, *_OF_SERVERS])
        self._reserved = {
            **_OF_SERVERS,
            **dict.fromkeys(self.queues, ZnodeKind.DDL),
            coordination_root: ZnodeKind.COORDINATION,
        }
        self._early: dict[str, tuple[str, int]] = {}
        """The first znodes of the kind OTHER: path → its place in `others`, and its size."""

    def take(self, path: str, znode: CensusZnode) -> None:
        """Count a znode at the path, which is not the path of a table and not below one."""
        way = [*reversed(ancestors(path)), path]
        known = next((each for each in way if each in self._reserved), None)
        kind = self._recognized(path, znode) if known is None else self._reserved[known]
        if kind is ZnodeKind.DDL:
            self._take_task(known or path.rpartition("/")[0], path, znode.ctime)
        if kind is None:
            kind = self._take_other(path, way, znode.size)
        _add(self.kinds[kind], znode.size)

    def _recognized(self, path: str, znode: CensusZnode) -> ZnodeKind | None:
        """Return the kind of a znode whose data names it, and remember its path; None for other znodes."""
        if znode.data.startswith(_DATA_OF_A_DATABASE):
            self._reserved[path] = ZnodeKind.DATABASE
            return ZnodeKind.DATABASE
        task = _TASK.fullmatch(path)
        if task is None or not znode.data.startswith(_DATA_OF_A_TASK):
            return None
        queue = task.group(1)
        self._reserved[queue] = ZnodeKind.DDL
        self.queues.setdefault(queue, {})
        self._recount(queue)
        return ZnodeKind.DDL

    def _recount(self, queue: str) -> None:
        """Change the kind of a queue's own znode, which was counted before its first task."""
        if queue in self._early:
            place, size = self._early.pop(queue)
            self.others.remove(place, size)
            _add(self.kinds[ZnodeKind.OTHER], -size, -1)
            _add(self.kinds[ZnodeKind.DDL], size)
            if not self.kinds[ZnodeKind.OTHER].znodes:
                del self.kinds[ZnodeKind.OTHER]

    def _take_other(self, path: str, way: list[str], size: int) -> ZnodeKind:
        place = next((each for each in way if each not in self._folders), None)
        if place is None:
            return ZnodeKind.FOLDER
        self.others.add(place, size)
        if len(self._early) < _MOST_PLACES:
            self._early[path] = (place, size)
        return ZnodeKind.OTHER

    def _take_task(self, queue: str, path: str, ctime: int) -> None:
        name, slash, _rest = path[len(queue) + 1 :].partition("/")
        if name:
            task = self.queues[queue].setdefault(name, Task())
            task.znodes += 1
            if not slash:
                task.created = ctime


def ancestors(path: str) -> list[str]:
    """Return the ancestors of a path, the parent first and the root last.

    >>> ancestors("/a/b/c"), ancestors("/")
    (['/a/b', '/a', '/'], [])
    """
    found = []
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found.append(path)
    return found


def _parents(paths: Iterable[str]) -> frozenset[str]:
    return frozenset({"/"}.union(*map(ancestors, paths)))


def _add(counts: Counts, size: int, znodes: int = 1) -> None:
    counts.znodes += znodes
    counts.bytes += size
