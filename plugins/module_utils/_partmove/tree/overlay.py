# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An overlay for check mode: reads go to the ensemble, writes stay in memory.

The same code runs over an overlay and over an ensemble, and reads its own writes. So check mode shows the
actions of a real run, as long as the ensemble and the servers would answer the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..zip_strict import zip_strict
from .paths import parent_of
from .ports import Clock, ZnodeReader, ZnodeStore
from .znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Op,
    Outcome,
    Query,
    QueryAnswer,
    Reason,
    Rejected,
    SetData,
    Stat,
    Znode,
)

_FIRST_ZXID = 1 << 62
"""Larger than every transaction id of an ensemble."""


class _Rejection(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


class ChildCount(NamedTuple):
    """The changes to the children of a znode since its stat was read."""

    changes: int
    """Creations and deletions of children, each of which increases ``cversion`` of the parent."""
    more: int
    """The difference of the number of children; negative after deletions."""


class OverlayChanges:
    """The writes in memory: path → znode, or None for a deleted znode."""

    def __init__(self) -> None:
        self.znodes: dict[str, Znode | None] = {}
        self.children: dict[str, dict[str, bool]] = {}
        self.counts: dict[str, ChildCount] = {}
        """Path of a parent → changes to its children."""
        self._zxid = _FIRST_ZXID

    def put(self, znode: Znode | None, path: str) -> None:
        """Record a created or changed znode, or None for a deletion."""
        self.znodes[path] = znode
        parent, _slash, name = path.rpartition("/")
        self.children.setdefault(parent or "/", {})[name] = znode is not None

    def count(self, parent: str, change: int) -> None:
        """Count a created (1) or deleted (-1) child of the parent."""
        so_far = self.counts.get(parent, ChildCount(0, 0))
        self.counts[parent] = ChildCount(so_far.changes + 1, so_far.more + change)

    def restore(
        self,
        before: Mapping[str, Znode | None],
        touched: Collection[str],
        counts: Mapping[str, ChildCount | None],
    ) -> None:
        """Undo a multi that failed half-way.

        before: the writes to touched paths before the multi.
        touched: the paths of all operations of the multi.
        counts: the child counts before the multi, of all touched paths and their parents.
        """
        for path, count in counts.items():
            if count is not None:
                self.counts[path] = count
            else:
                self.counts.pop(path, None)
        for path in touched:
            if path in before:
                self.put(before[path], path)
            elif path in self.znodes:
                del self.znodes[path]
                parent, _slash, name = path.rpartition("/")
                del self.children[parent or "/"][name]

    def next_zxid(self) -> int:
        """Return a new transaction id."""
        self._zxid += 1
        return self._zxid


class OverlayReader:
    """A reader over an ensemble or a member, with the writes in memory applied to the answers."""

    def __init__(self, base: ZnodeReader, changes: OverlayChanges) -> None:
        self._base = base
        self._changes = changes

    @property
    def name(self) -> str:
        """The name of the ensemble or the member in messages."""
        return self._base.name

    @property
    def server_id(self) -> int:
        """The id of the server that opened the session."""
        return self._base.server_id

    def sync(self, path: str) -> None:
        """Wait until the server of the session has caught up."""
        self._base.sync(path)

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read data and stat of each path, from memory or else from the ensemble."""
        if absolute:
            return self._base.read(paths, absolute=True)
        missing = self._missing(paths)
        return self._merged(paths, missing, self._base.read(missing) if missing else [])

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """List the children of each path in the ensemble, with creations and deletions in memory applied."""
        return self._all_changed_children(paths, self._base.children(paths))

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Answer each query, from memory or else from the ensemble."""
        missing = [self._missing(query.znodes) for query in queries]
        asked = [Query(paths, query.children) for paths, query in zip_strict(missing, queries)]
        return [
            QueryAnswer(
                self._merged(query.znodes, base.znodes, answer.znodes),
                self._all_changed_children(query.children, answer.children),
            )
            for query, (base, answer) in zip_strict(queries, [*zip_strict(asked, self._base.ask(asked))])
        ]

    def _missing(self, paths: Sequence[str]) -> list[str]:
        """Return the paths without a write in memory."""
        return [path for path in paths if path not in self._changes.znodes]

    def _merged(
        self, paths: Sequence[str], missing: Sequence[str], read: Sequence[Znode | None]
    ) -> list[Znode | None]:
        """Return the znodes at the paths. ``read``: the znodes at the ``missing`` paths."""
        changed = self._changes.znodes
        as_read = dict(zip_strict(missing, read))
        znodes = {path: changed[path] if path in changed else as_read[path] for path in paths}
        counts = self._changes.counts
        return [_with_children(znodes[path], counts.get(path)) for path in paths]

    def _all_changed_children(
        self, paths: Sequence[str], names: Sequence[tuple[str, ...] | None]
    ) -> list[tuple[str, ...] | None]:
        return [self._changed_children(path, each) for path, each in zip_strict(paths, names)]

    def _changed_children(self, path: str, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if path in self._changes.znodes and self._changes.znodes[path] is None:
            return None
        changed = self._changes.children.get(path)
        if changed is None:
            return () if names is None and path in self._changes.znodes else names
        remaining = {name for name in names or () if changed.get(name, True)}
        return tuple(sorted(remaining | {name for name, exists in changed.items() if exists}))


def _with_children(znode: Znode | None, count: ChildCount | None) -> Znode | None:
    if znode is None or count is None:
        return znode
    stat = znode.stat
    return znode._replace(
        stat=stat._replace(
            num_children=stat.num_children + count.more, cversion=stat.cversion + count.changes
        )
    )


class OverlayStore(OverlayReader):
    """A store that reads an ensemble and keeps all writes in memory, in ``written`` without the checks."""

    def __init__(self, base: ZnodeStore, clock: Clock) -> None:
        """Set up an overlay without writes. ``clock``: the source of ctime and mtime."""
        super().__init__(base, OverlayChanges())
        self._store = base
        self._clock = clock
        self.written: list[Op] = []

    @property
    def chroot(self) -> str:
        """The chroot of the connection."""
        return self._store.chroot

    @property
    def addresses(self) -> tuple[str, ...]:
        """The configured addresses of the connection."""
        return self._store.addresses

    @property
    def session_id(self) -> int:
        """The id of the current session."""
        return self._store.session_id

    @property
    def ops_at_once(self) -> int:
        """Operations that a multi should have at most now."""
        return self._store.ops_at_once

    def members(self) -> Sequence[ZnodeReader]:
        """Return a reader for each member, with the writes of this overlay applied."""
        return [OverlayReader(member, self._changes) for member in self._store.members()]

    def fresh(self) -> OverlayStore:
        """Return a new overlay over the same ensemble, without writes."""
        return OverlayStore(self._store, self._clock)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in memory as an ensemble would; one outcome each, in order."""
        multis = [*multis]
        self._load([op for multi in multis for op in multi])
        return [self._apply(multi) for multi in multis]

    def _load(self, ops: Sequence[Op]) -> None:
        """Read all znodes that decide the outcome of the operations: their paths, parents and children."""
        paths = {op.path for op in ops}
        paths |= {parent_of(path) for path in paths}
        unknown = sorted(paths - self._changes.znodes.keys())
        self._known = dict(zip_strict(unknown, self._base.read(unknown)))
        deleted = sorted({op.path for op in ops if isinstance(op, Delete)})
        parents = [path for path in deleted if self._may_have_children(path)]
        names = self._base.children(parents) if parents else []
        self._known_children = dict(zip_strict(parents, names))

    def _may_have_children(self, path: str) -> bool:
        znode = self._current(path)
        return znode is not None and (znode.stat.num_children > 0 or path in self._changes.children)

    def _current(self, path: str) -> Znode | None:
        return self._changes.znodes[path] if path in self._changes.znodes else self._known[path]

    def _apply(self, multi: Multi) -> Outcome:
        touched = {op.path for op in multi}
        before = {path: self._changes.znodes[path] for path in touched & self._changes.znodes.keys()}
        parents = touched.union(map(parent_of, touched))
        counts = {path: self._changes.counts.get(path) for path in parents}
        zxid = self._changes.next_zxid()
        for index, op in enumerate(multi):
            try:
                self._apply_one(op, zxid)
            except _Rejection as rejection:
                self._changes.restore(before, touched, counts)
                return Rejected(index, rejection.reason, 0)
        self.written.extend(op for op in multi if not isinstance(op, Check))
        return Committed()

    def _apply_one(self, op: Op, zxid: int) -> None:
        znode = self._current(op.path)
        if isinstance(op, Create):
            self._create(op, znode, zxid)
            return
        if znode is None:
            raise _Rejection(Reason.NO_NODE)
        if znode.stat.version != op.version:
            raise _Rejection(Reason.BAD_VERSION)
        if isinstance(op, SetData):
            stat = znode.stat._replace(
                mzxid=zxid, mtime=self._now(), version=op.version + 1, data_length=len(op.data)
            )
            self._changes.put(Znode(op.path, op.data, stat), op.path)
        elif isinstance(op, Delete):
            if self._changed_children(op.path, self._known_children.get(op.path)):
                raise _Rejection(Reason.NOT_EMPTY)
            self._changes.put(None, op.path)
            self._changes.counts.pop(op.path, None)
            self._changes.count(parent_of(op.path), -1)

    def _create(self, op: Create, znode: Znode | None, zxid: int) -> None:
        if znode is not None:
            raise _Rejection(Reason.NODE_EXISTS)
        parent = self._current(parent_of(op.path))
        if parent is None:
            raise _Rejection(Reason.NO_NODE)
        if parent.stat.ephemeral_owner:
            raise _Rejection(Reason.OTHER)
        owner = self.session_id if op.ephemeral else 0
        now = self._now()
        stat = Stat(zxid, zxid, now, now, 0, 0, 0, owner, len(op.data), 0, zxid)
        self._changes.put(Znode(op.path, op.data, stat), op.path)
        self._changes.count(parent_of(op.path), 1)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
