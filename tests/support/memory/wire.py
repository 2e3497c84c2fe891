# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers of a member of a memory ensemble, as bytes of the ZooKeeper protocol.

Requests and answers are those that the adapter uses; the tests of the adapter with real servers show that
real servers answer alike.
"""

from __future__ import annotations

from struct import Struct

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Delete,
    Op,
    Outcome,
    Reason,
    Rejected,
    SetData,
    Stat,
    Znode,
)
from support.memory.memory import MemoryStore

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_CHILDREN, SYNC = 1, 2, 3, 4, 5, 8, 9
CHECK, MULTI, MULTI_READ, ERROR = 13, 14, 22, -1
NO_NODE, UNIMPLEMENTED, RUNTIME_INCONSISTENCY = -101, -6, -2

_CODES = {
    Reason.NO_NODE: NO_NODE,
    Reason.BAD_VERSION: -103,
    Reason.NODE_EXISTS: -110,
    Reason.NOT_EMPTY: -111,
}
_INT = Struct("!i")
_STAT = Struct("!qqqqiiiqiiq")
_HEADER = Struct("!iBi")
_END = _HEADER.pack(-1, 1, -1)


class RequestBytes:
    """Takes values from the bytes of a request, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        """A signed number of four bytes."""
        return int(self._struct(_INT)[0])

    def data(self) -> bytes:
        """Bytes with their length before them."""
        size = self.number()
        return self.raw(max(0, size))

    def path(self) -> str:
        """A path."""
        return self.data().decode()

    def raw(self, size: int) -> bytes:
        """As many bytes."""
        self._at += size
        return self._data[self._at - size : self._at]

    def operation(self) -> int | None:
        """The type of the next operation of a multi; None at the end."""
        kind, done, _error = self._struct(_HEADER)
        return None if done else int(kind)

    def _struct(self, struct: Struct) -> tuple[int, ...]:
        self._at += struct.size
        return struct.unpack_from(self._data, self._at - struct.size)


def answer(store: MemoryStore, kind: int, payload: bytes, *, keeper: bool = False) -> tuple[int, bytes]:
    """Return the error code and the body of the answer that the member of the session gives.

    keeper: answer in the forms of ClickHouse Keeper.
    """
    request = RequestBytes(payload)
    if kind == SYNC:
        path = request.path()
        store.sync(path)
        return 0, _string(path.encode())
    if kind == MULTI_READ:
        return 0, b"".join(_results_of_reads(store, request, keeper)) + _END
    if kind == MULTI:
        return 0, _commit(store, request)
    if kind in (EXISTS, GET_DATA, GET_CHILDREN):
        result = _read(store, kind, request.path())
        return (NO_NODE, b"") if result is None else (0, result)
    return UNIMPLEMENTED, b""


def _results_of_reads(store: MemoryStore, request: RequestBytes, keeper: bool) -> list[bytes]:
    results: list[bytes] = []
    while (kind := request.operation()) is not None:
        result = _read(store, kind, request.path())
        request.raw(1)
        missing = _HEADER.pack(kind, 0, NO_NODE) if keeper else _error(NO_NODE)
        results.append(missing if result is None else _HEADER.pack(kind, 0, 0) + result)
    return results


def _read(store: MemoryStore, kind: int, path: str) -> bytes | None:
    if kind == GET_CHILDREN:
        (names,) = store.children([path])
        if names is None:
            return None
        return _INT.pack(len(names)) + b"".join(_string(name.encode()) for name in names)
    (znode,) = store.read([path])
    if znode is None:
        return None
    return _stat(znode) if kind == EXISTS else _string(znode.data) + _stat(znode)


def _commit(store: MemoryStore, request: RequestBytes) -> bytes:
    ops: list[Op] = []
    while (kind := request.operation()) is not None:
        ops.append(_op(kind, request))
    outcome = store.commit_one(tuple(ops))
    return b"".join(_results_of_ops(ops, outcome, store)) + _END


def _op(kind: int, request: RequestBytes) -> Op:
    path = request.path()
    if kind == CREATE:
        data = request.data()
        for _acl in range(request.number()):
            request.raw(4)
            request.data()
            request.data()
        return Create(path, data, ephemeral=bool(request.number()))
    if kind == SET_DATA:
        return SetData(path, request.data(), request.number())
    version = request.number()
    return Delete(path, version) if kind == DELETE else Check(path, version)


def _results_of_ops(ops: list[Op], outcome: Outcome, store: MemoryStore) -> list[bytes]:
    if isinstance(outcome, Rejected):
        code = _CODES.get(outcome.reason, -1)
        later = len(ops) - outcome.op_index - 1
        return [_error(0)] * outcome.op_index + [_error(code)] + [_error(RUNTIME_INCONSISTENCY)] * later
    results: list[bytes] = []
    for op in ops:
        if isinstance(op, Create):
            results.append(_HEADER.pack(CREATE, 0, 0) + _string(op.path.encode()))
        elif isinstance(op, SetData):
            (znode,) = store.ensemble.read([op.path])
            results.append(
                _HEADER.pack(SET_DATA, 0, 0) + (_STAT.pack(*[0] * 11) if znode is None else _stat(znode))
            )
        else:
            results.append(_HEADER.pack(DELETE if isinstance(op, Delete) else CHECK, 0, 0))
    return results


def _error(code: int) -> bytes:
    return _HEADER.pack(ERROR, 0, code) + _INT.pack(code)


def _stat(znode: Znode) -> bytes:
    stat: Stat = znode.stat
    return _STAT.pack(*stat)


def _string(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data
