# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Net effect of logged transactions on znodes.

Snapshots are fuzzy: a snapshot may already contain changes of transactions logged after its zxid. As in
ZooKeeper, every change is therefore idempotent: creating an existing znode, and deleting or setting a missing
znode, does nothing.

Idempotency holds for each znode separately, because no log ends with a znode whose parent is deleted. So the
net effect on a znode is kept apart from the snapshot and applied when its record is read.

Not tracked, because unused here: cversion, pzxid, ACLs, watches, quotas.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from . import txn_kinds as kinds
from .damage import DamagedFile
from .evidence import Parents
from .log_records import DIGEST_SIZE, Txn
from .nodes import StoredStat

_FLAG = struct.Struct(">?")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
# ephemeralOwner of containers, and of TTL znodes (time to live in the lower bytes).
_CONTAINER = -(2**63)
_TTL = -(2**56)
_UNKNOWN_ACL = 0


class ZnodeData(NamedTuple):
    """Data of a znode, and its ACL id and stat as packed in a snapshot record."""

    data: bytes
    stored: bytes

    @property
    def owner(self) -> int:
        """Session of an ephemeral znode; 0 for persistent znodes, negative for containers and TTL znodes."""
        return StoredStat.unpacked(self.stored).ephemeral_owner


class ZnodeChange:
    """Net effect of the replayed transactions on one znode.

    replaced: the znode of the snapshot was deleted.
    created: the created znode, where the snapshot has none or was replaced; None without creation.
    set_data, acl: the last change of data and ACL of the znode in the snapshot; None without change.
    """

    __slots__ = ("acl", "created", "replaced", "set_data")

    def __init__(self) -> None:
        self.replaced = False
        self.created: ZnodeData | None = None
        self.set_data: _SetData | None = None
        self.acl: _SetAcl | None = None

    def applied_to(self, node: ZnodeData) -> ZnodeData | None:
        """Return the current state of a znode of the snapshot; None if it was deleted."""
        if self.replaced:
            return self.created
        return _with_acl(_with_data(node, self.set_data), self.acl)

    def create(self, node: ZnodeData) -> None:
        """Record a creation; no effect if the znode was created already."""
        if self.created is None:
            self.created = node

    def delete(self) -> None:
        """Record a deletion."""
        self.replaced = True
        self.created = self.set_data = self.acl = None

    def set(self, data: _SetData) -> None:
        """Record a change of data."""
        self.set_data = data
        if self.created is not None:
            self.created = _with_data(self.created, data)

    def set_acl(self, acl: _SetAcl) -> None:
        """Record a change of the ACL."""
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


class LogReplay:
    """Replays transactions in order and keeps the net effect on relevant znodes.

    is_relevant: selects paths. Memory: paths and data of these in the log, ids of closed sessions.
    parents: receives every created and deleted path, relevant or not.
    """

    def __init__(self, is_relevant: Callable[[bytes], bool], parents: Parents | None = None) -> None:
        self._is_relevant = is_relevant
        self._parents = parents
        self._ephemerals: dict[int, set[bytes]] = {}
        self.changes: dict[bytes, ZnodeChange] = {}
        """Net effect on each changed relevant znode, by path."""
        self.closed_sessions: set[int] = set()
        """Closed sessions: their ephemeral znodes in the snapshot are deleted."""

    def apply(self, path: Path, txn: Txn) -> None:
        """Replay one transaction of the file ``path``. Raises DamagedFile for an unknown transaction."""
        try:
            self._apply(txn)
        except (struct.error, _UnknownTxn) as error:
            raise DamagedFile(
                path,
                txn.offset,
                f"transaction 0x{txn.zxid:x} of type {txn.kind} cannot be parsed ({error})",
                remedy="Read the running ensemble, or snapshots of ZooKeeper 3.4 to 3.9",
            ) from error

    def _apply(self, txn: Txn) -> None:
        if txn.kind == kinds.CLOSE_SESSION:
            self._close(txn.session, _ephemeral_paths(txn.body))
            return
        body = _TxnBody(txn.body)
        if txn.kind == kinds.MULTI:
            parts = [(body.number(), body.buffer()) for _each in range(body.number())]
            # A failed multi is logged as one error for each of its operations.
            if all(kind != kinds.ERROR for kind, _part in parts):
                for kind, part in parts:
                    self._operation(txn, kind, _TxnBody(part))
        else:
            self._operation(txn, txn.kind, body)
            if txn.kind in kinds.CHANGES_NOTHING:
                return
        body.end()

    def _operation(self, txn: Txn, kind: int, body: _TxnBody) -> None:
        if kind in (kinds.CREATE, kinds.CREATE2, kinds.CREATE_TTL, kinds.CREATE_CONTAINER):
            self._create(txn, kind, body)
        elif kind in (kinds.DELETE, kinds.DELETE_CONTAINER):
            path = body.buffer()
            if self._parents is not None:
                self._parents.deleted(path, txn.zxid)
            if self._is_relevant(path):
                self._change(path).delete()
        elif kind in (kinds.SET_DATA, kinds.RECONFIG):
            path, data, version = body.buffer(), body.buffer(), body.number()
            if self._is_relevant(path):
                self._change(path).set(_SetData(data, version, txn.zxid, txn.time))
        elif kind == kinds.SET_ACL:
            path = body.buffer()
            body.skip_acl()
            aversion = body.number()
            if self._is_relevant(path):
                self._change(path).set_acl(_SetAcl(aversion, txn.zxid))
        elif kind not in kinds.CHANGES_NOTHING:
            raise _UnknownTxn(f"type {kind}")

    def _create(self, txn: Txn, kind: int, body: _TxnBody) -> None:
        path, data = body.buffer(), body.buffer()
        body.skip_acl()
        owner = 0
        if kind in (kinds.CREATE, kinds.CREATE2):
            owner = txn.session if body.flag() else 0
        # Before 3.4, a create had no field with the parent's cversion.
        if kind != kinds.CREATE or not body.is_at_end:
            body.number()
        if kind == kinds.CREATE_CONTAINER:
            owner = _CONTAINER
        elif kind == kinds.CREATE_TTL:
            owner = _TTL | body.long_number()
        if self._parents is not None:
            self._parents.created(path, txn.zxid)
        if not self._is_relevant(path):
            return
        stored = StoredStat(_UNKNOWN_ACL, txn.zxid, txn.zxid, txn.time, txn.time, 0, 0, 0, owner, txn.zxid)
        self._change(path).create(ZnodeData(data, stored.packed()))
        if owner and kind in (kinds.CREATE, kinds.CREATE2):
            self._ephemerals.setdefault(owner, set()).add(path)

    def _close(self, session: int, paths: Iterable[bytes]) -> None:
        """Delete ephemeral znodes of a closed session: those the log created, and the listed ``paths``.

        Ephemeral znodes of the snapshot are matched by owner while the snapshot is read.
        """
        self.closed_sessions.add(session)
        for path in paths:
            if self._is_relevant(path):
                self._change(path).delete()
        for path in self._ephemerals.pop(session, ()):
            node = self.changes[path].created
            if node is not None and node.owner == session:
                self.changes[path].delete()

    def _change(self, path: bytes) -> ZnodeChange:
        change = self.changes.get(path)
        if change is None:
            change = self.changes[path] = ZnodeChange()
        return change


def _with_data(node: ZnodeData, change: _SetData | None) -> ZnodeData:
    """Return the znode with the data set, unless the znode has newer data."""
    stored = StoredStat.unpacked(node.stored)
    if change is None or stored.mzxid > change.zxid:
        return node
    changed = stored._replace(mzxid=change.zxid, mtime=change.time, version=change.version)
    return ZnodeData(change.data, changed.packed())


def _with_acl(node: ZnodeData, acl: _SetAcl | None) -> ZnodeData:
    """Return the znode with the ACL version set, unless the znode has a newer ACL or was created later."""
    stored = StoredStat.unpacked(node.stored)
    if acl is None or stored.aversion > acl.aversion or stored.czxid > acl.zxid:
        return node
    return ZnodeData(node.data, stored._replace(aversion=acl.aversion).packed())


def _ephemeral_paths(data: bytes) -> list[bytes]:
    """Return the ephemeral znodes listed in a closeSession; older or configured servers list none (3.6)."""
    if not data:
        return []
    body = _TxnBody(data)
    try:
        paths = [body.buffer() for _each in range(max(body.number(), 0))]
        body.end()
    except (struct.error, _UnknownTxn):
        if len(data) == DIGEST_SIZE:
            return []
        raise
    return paths


class _UnknownTxn(Exception):
    """Bytes that do not match the format of the transaction type."""


class _TxnBody:
    """Parses the bytes of a transaction."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes were consumed."""
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
        """Return the next length-prefixed text or data; ``b""`` for null."""
        (length,) = _INT.unpack_from(self._data, self._at)
        start = self._at + 4
        self._at = start + max(length, 0)
        if length < -1 or self._at > len(self._data):
            raise _UnknownTxn(f"length {length}")
        return self._data[start : self._at]

    def skip_acl(self) -> None:
        for _entry in range(max(self.number(), 0)):
            self.number()
            self.buffer()
            self.buffer()

    def end(self) -> None:
        """Raise _UnknownTxn unless the remaining bytes are none or a digest."""
        left = len(self._data) - self._at
        if left not in (0, DIGEST_SIZE):
            raise _UnknownTxn(f"{left} unexpected bytes at the end")
