# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the transactions of a log do to znodes, as their net effect.

A snapshot is taken while the server goes on: it may already have some of what the log says after it. So, as
in ZooKeeper, each step is one that can be repeated: to create what is there, or to delete or set what is
not, does nothing. That holds for each znode by itself, because a log never ends with a znode whose parent it
has deleted. So the effect on a znode can be kept apart from what the snapshot says of it, and be applied to
the znode whenever it is met.

Not followed, because nothing here asks for them: cversion and pzxid, ACLs, watches, quotas.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from . import txn_kinds as kinds
from .damage import DamagedFile
from .nodes import Stored
from .txn_log import DIGEST_SIZE, Txn

_FLAG = struct.Struct(">?")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
# ephemeralOwner of znodes that are nobody's: containers, and with the time to live in the lower bytes.
_CONTAINER = -(2**63)
_TTL = -(2**56)
_UNKNOWN_ACL = 0


class NodeData(NamedTuple):
    """Data of a znode and what is stored besides, as in a record of a snapshot."""

    data: bytes
    stored: bytes

    @property
    def owner(self) -> int:
        """The session of an ephemeral znode, 0 for others; below 0 for containers and those that expire."""
        return Stored.unpacked(self.stored).ephemeral_owner


class Change:
    """The net effect that the transactions so far have on one znode.

    replaced: whatever the snapshot has, it is gone.
    created: what there is where the snapshot has nothing, or nothing any more; None for nothing.
    set_data, acl: what else became of the znode that the snapshot has; None for nothing.
    """

    __slots__ = ("acl", "created", "replaced", "set_data")

    def __init__(self) -> None:
        self.replaced = False
        self.created: NodeData | None = None
        self.set_data: _SetData | None = None
        self.acl: _SetAcl | None = None

    def applied_to(self, node: NodeData) -> NodeData | None:
        """What became of a znode that the snapshot has; None when it is gone."""
        if self.replaced:
            return self.created
        return _with_acl(_with_data(node, self.set_data), self.acl)

    def create(self, node: NodeData) -> None:
        """Add that the znode is created, unless it is there."""
        if self.created is None:
            self.created = node

    def delete(self) -> None:
        """Add that the znode is deleted."""
        self.replaced = True
        self.created = self.set_data = self.acl = None

    def set(self, data: _SetData) -> None:
        """Add that the data of the znode is replaced, if it is there."""
        self.set_data = data
        if self.created is not None:
            self.created = _with_data(self.created, data)

    def set_acl(self, acl: _SetAcl) -> None:
        """Add that the ACL of the znode is replaced, if it is there."""
        self.acl = acl
        if self.created is not None:
            self.created = _with_acl(self.created, acl)


class _SetData(NamedTuple):
    data: bytes
    version: int
    zxid: int
    time: int


class _SetAcl(NamedTuple):
    aversion: int
    zxid: int


class Replay:
    """Takes transactions in order; knows afterwards what they did to the znodes that are wanted.

    ``wanted`` says of a path whether its znode is of interest. Memory is bounded by the paths and data of
    those that the log names, and by the number of sessions that end in it.
    """

    def __init__(self, wanted: Callable[[bytes], bool]) -> None:
        self._wanted = wanted
        self._owned: dict[int, set[bytes]] = {}
        self.changes: dict[bytes, Change] = {}
        """The net effect on each znode that is wanted and was changed, by its path."""
        self.closed: set[int] = set()
        """The sessions that ended: their ephemeral znodes in the snapshot are gone."""

    def apply(self, path: Path, txn: Txn) -> None:
        """Take one transaction; ``path`` is its file. Raises DamagedFile for one that is not understood."""
        try:
            self._apply(txn)
        except (struct.error, _NotUnderstood) as error:
            raise DamagedFile(
                path,
                txn.offset,
                f"transaction 0x{txn.zxid:x} of type {txn.kind} is not understood ({error})",
                remedy="Read the ensemble itself, or snapshots of ZooKeeper 3.4 to 3.9",
            ) from error

    def _apply(self, txn: Txn) -> None:
        if txn.kind == kinds.CLOSE_SESSION:
            self._close(txn.session, _closed_paths(txn.body))
            return
        body = _Body(txn.body)
        if txn.kind == kinds.MULTI:
            parts = [(body.number(), body.buffer()) for _each in range(body.number())]
            # A multi that failed is logged as one error for each of its operations.
            if all(kind != kinds.ERROR for kind, _part in parts):
                for kind, part in parts:
                    self._operation(txn, kind, _Body(part))
        else:
            self._operation(txn, txn.kind, body)
            if txn.kind in kinds.CHANGES_NOTHING:
                return
        body.end()

    def _operation(self, txn: Txn, kind: int, body: _Body) -> None:
        if kind in (kinds.CREATE, kinds.CREATE2, kinds.CREATE_TTL, kinds.CREATE_CONTAINER):
            self._create(txn, kind, body)
        elif kind in (kinds.DELETE, kinds.DELETE_CONTAINER):
            path = body.buffer()
            if self._wanted(path):
                self._change(path).delete()
        elif kind in (kinds.SET_DATA, kinds.RECONFIG):
            path, data, version = body.buffer(), body.buffer(), body.number()
            if self._wanted(path):
                self._change(path).set(_SetData(data, version, txn.zxid, txn.time))
        elif kind == kinds.SET_ACL:
            path = body.buffer()
            body.skip_acl()
            aversion = body.number()
            if self._wanted(path):
                self._change(path).set_acl(_SetAcl(aversion, txn.zxid))
        elif kind not in kinds.CHANGES_NOTHING:
            raise _NotUnderstood(f"type {kind}")

    def _create(self, txn: Txn, kind: int, body: _Body) -> None:
        path, data = body.buffer(), body.buffer()
        body.skip_acl()
        owner = 0
        if kind in (kinds.CREATE, kinds.CREATE2):
            owner = txn.session if body.flag() else 0
        # Before 3.4 it did not tell the version of the parent's children.
        if kind != kinds.CREATE or not body.is_at_end:
            body.number()
        if kind == kinds.CREATE_CONTAINER:
            owner = _CONTAINER
        elif kind == kinds.CREATE_TTL:
            owner = _TTL | body.long_number()
        if not self._wanted(path):
            return
        stored = Stored(_UNKNOWN_ACL, txn.zxid, txn.zxid, txn.time, txn.time, 0, 0, 0, owner, txn.zxid)
        self._change(path).create(NodeData(data, stored.packed()))
        if owner and kind in (kinds.CREATE, kinds.CREATE2):
            self._owned.setdefault(owner, set()).add(path)

    def _close(self, session: int, paths: Iterable[bytes]) -> None:
        """Delete the ephemeral znodes of a session that ends, those that the log created and those it lists.

        Those that only the snapshot has are found by their owner, when the snapshot is read.
        """
        self.closed.add(session)
        for path in paths:
            if self._wanted(path):
                self._change(path).delete()
        for path in self._owned.pop(session, ()):
            node = self.changes[path].created
            if node is not None and node.owner == session:
                self.changes[path].delete()

    def _change(self, path: bytes) -> Change:
        change = self.changes.get(path)
        if change is None:
            change = self.changes[path] = Change()
        return change


def _with_data(node: NodeData, change: _SetData | None) -> NodeData:
    """The znode with the data that was set, unless it has newer data already."""
    stored = Stored.unpacked(node.stored)
    if change is None or stored.mzxid > change.zxid:
        return node
    changed = stored._replace(mzxid=change.zxid, mtime=change.time, version=change.version)
    return NodeData(change.data, changed.packed())


def _with_acl(node: NodeData, acl: _SetAcl | None) -> NodeData:
    """The znode with the ACL that was set, unless it has a newer one, or was created later."""
    stored = Stored.unpacked(node.stored)
    if acl is None or stored.aversion > acl.aversion or stored.czxid > acl.zxid:
        return node
    return NodeData(node.data, stored._replace(aversion=acl.aversion).packed())


def _closed_paths(data: bytes) -> list[bytes]:
    """The ephemeral znodes that go with a session; a server before 3.6, or told not to, lists none."""
    if not data:
        return []
    body = _Body(data)
    try:
        paths = [body.buffer() for _each in range(max(body.number(), 0))]
        body.end()
    except (struct.error, _NotUnderstood):
        if len(data) == DIGEST_SIZE:
            return []
        raise
    return paths


class _NotUnderstood(Exception):
    """Bytes that are not what a transaction of this type has."""


class _Body:
    """Takes the bytes of a transaction apart."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all of it was taken."""
        return self._at == len(self._data)

    def flag(self) -> bool:
        (value,) = _FLAG.unpack_from(self._data, self._at)
        self._at += 1
        return bool(value)

    def number(self) -> int:
        (value,) = _INT.unpack_from(self._data, self._at)
        self._at += 4
        return int(value)

    def long_number(self) -> int:
        (value,) = _LONG.unpack_from(self._data, self._at)
        self._at += 8
        return int(value)

    def buffer(self) -> bytes:
        """Text or data, with its length in front; empty for none."""
        (length,) = _INT.unpack_from(self._data, self._at)
        start = self._at + 4
        self._at = start + max(length, 0)
        if length < -1 or self._at > len(self._data):
            raise _NotUnderstood(f"length {length}")
        return self._data[start : self._at]

    def skip_acl(self) -> None:
        for _entry in range(max(self.number(), 0)):
            self.number()
            self.buffer()
            self.buffer()

    def end(self) -> None:
        """Raise _NotUnderstood where anything but a digest follows."""
        left = len(self._data) - self._at
        if left not in (0, DIGEST_SIZE):
            raise _NotUnderstood(f"{left} bytes more than it has")
