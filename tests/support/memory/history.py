# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree of an ensemble after each of its transactions, so that a member that is behind can be read.

A member of an ensemble applies the transactions in their order, each whole, so what it has is the tree as it
was after one of them. Here a tree is named by the number of that transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import parent_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Outcome,
    Reason,
    Rejected,
    SetData,
    Stat,
    Znode,
)


class _Rejection(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


class _Version(NamedTuple):
    """A znode and its children from one transaction on; None for a znode that is not there."""

    zxid: int
    znode: Znode | None
    names: frozenset[str]


_ROOT = Znode("/", b"", Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
_ABSENT = _Version(0, None, frozenset())


class History:
    """The trees of one ensemble.

    last: the number of the last transaction.
    is_keeper: whether children are counted as by Keeper: a parent's ``cversion`` counts writes to its
        children, too, and its ``pzxid`` no deletions.
    """

    def __init__(self) -> None:
        self.last = 0
        self.is_keeper = False
        self._versions: dict[str, list[_Version]] = {"/": [_Version(0, _ROOT, frozenset())]}

    def znode(self, path: str, at: int) -> Znode | None:
        """The znode in the tree of that number; None where it is not there."""
        return self._version(path, at).znode

    def names(self, path: str, at: int) -> frozenset[str] | None:
        """The names of the children in the tree of that number; None where the znode is not there."""
        version = self._version(path, at)
        return None if version.znode is None else version.names

    def paths(self) -> Iterator[str]:
        """The paths of all znodes of the last tree, parents first."""
        return iter(sorted(path for path, versions in self._versions.items() if versions[-1].znode))

    def apply(self, multi: Multi, session_id: int, now: int) -> Outcome:
        """Apply a multi to the last tree, at a time in milliseconds; a rejected one takes a number, too."""
        self.last += 1
        transaction = _Transaction(self, session_id, now)
        for index, op in enumerate(multi):
            try:
                transaction.apply(op)
            except _Rejection as rejection:
                return Rejected(index, rejection.reason, 0)
        for path, version in transaction.written():
            self._versions.setdefault(path, []).append(version)
        return Committed(self.last)

    def replace_stat(self, path: str, **fields: Any) -> None:
        """Let the last version of a znode that is there have another stat."""
        versions = self._versions[path]
        znode = versions[-1].znode
        assert znode is not None, f"no {path}"
        versions[-1] = versions[-1]._replace(znode=znode._replace(stat=znode.stat._replace(**fields)))

    def forget(self, before: int) -> None:
        """Drop the trees before that one, which nobody will read any more."""
        kept: dict[str, list[_Version]] = {}
        for path, versions in self._versions.items():
            newer = [each for each in versions if each.zxid > before]
            current = self._version(path, before)
            kept[path] = [current, *newer] if current.znode is not None else newer
        self._versions = {path: versions for path, versions in kept.items() if versions}

    def newest(self, path: str) -> tuple[Znode | None, frozenset[str]]:
        """The znode and the names of its children in the last tree."""
        versions = self._versions.get(path)
        if versions is None:
            return None, _ABSENT.names
        return versions[-1].znode, versions[-1].names

    def _version(self, path: str, at: int) -> _Version:
        for version in reversed(self._versions.get(path, ())):
            if version.zxid <= at:
                return version
        return _ABSENT


class _Transaction:
    """What one multi has written so far."""

    def __init__(self, history: History, session_id: int, now: int) -> None:
        self._history = history
        self._session_id = session_id
        self._now = now
        self._zxid = history.last
        self._znodes: dict[str, tuple[Znode | None, frozenset[str]]] = {}

    def apply(self, op: Create | SetData | Delete | Check) -> None:
        """Apply one operation after those before it. Raises _Rejection."""
        znode, names = self._current(op.path)
        if isinstance(op, Create):
            self._create(op, znode)
            return
        if znode is None:
            raise _Rejection(Reason.NO_NODE)
        if znode.stat.version != op.version:
            raise _Rejection(Reason.BAD_VERSION)
        if isinstance(op, SetData):
            stat = znode.stat._replace(
                mzxid=self._zxid, mtime=self._now, version=op.version + 1, data_length=len(op.data)
            )
            self._znodes[op.path] = Znode(op.path, op.data, stat), names
            if self._history.is_keeper and op.path != "/":
                parent, siblings = self._current(parent_of(op.path))
                assert parent is not None
                self._renew(parent, siblings, parent.stat.pzxid)
        elif isinstance(op, Delete):
            if names:
                raise _Rejection(Reason.NOT_EMPTY)
            self._znodes[op.path] = None, frozenset()
            parent, siblings = self._current(parent_of(op.path))
            assert parent is not None
            pzxid = parent.stat.pzxid if self._history.is_keeper else self._zxid
            self._renew(parent, siblings - {_name(op.path)}, pzxid)

    def written(self) -> Iterator[tuple[str, _Version]]:
        """Each path that was written to, with what is there now."""
        for path, (znode, names) in self._znodes.items():
            yield path, _Version(self._zxid, znode, names)

    def _create(self, op: Create, znode: Znode | None) -> None:
        if znode is not None:
            raise _Rejection(Reason.NODE_EXISTS)
        parent, siblings = self._current(parent_of(op.path))
        if parent is None:
            raise _Rejection(Reason.NO_NODE)
        if parent.stat.ephemeral_owner:
            raise _Rejection(Reason.OTHER)
        owner = self._session_id if op.ephemeral else 0
        zxid, now = self._zxid, self._now
        stat = Stat(zxid, zxid, now, now, 0, 0, 0, owner, len(op.data), 0, zxid)
        self._znodes[op.path] = Znode(op.path, op.data, stat), frozenset()
        self._renew(parent, siblings | {_name(op.path)}, zxid)

    def _renew(self, parent: Znode, names: Collection[str], pzxid: int) -> None:
        stat = parent.stat._replace(cversion=parent.stat.cversion + 1, num_children=len(names), pzxid=pzxid)
        self._znodes[parent.path] = parent._replace(stat=stat), frozenset(names)

    def _current(self, path: str) -> tuple[Znode | None, frozenset[str]]:
        return self._znodes[path] if path in self._znodes else self._history.newest(path)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
