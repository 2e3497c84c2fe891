# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests and answers of ZooKeeper's client protocol, with what Keeper adds, as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_ACL, SET_ACL, GET_CHILDREN, SYNC = range(1, 10)
PING, GET_CHILDREN2, CHECK, MULTI, CREATE2 = 11, 12, 13, 14, 15
MULTI_READ, AUTH, CLOSE = 22, 100, -11
FILTERED_LIST, CHECK_NOT_EXISTS, CREATE_IF_NOT_EXISTS, REMOVE_RECURSIVE = 500, 501, 502, 503

READS = frozenset({EXISTS, GET_DATA, GET_ACL, GET_CHILDREN, GET_CHILDREN2, FILTERED_LIST})
OF_KEEPER = frozenset({FILTERED_LIST, CHECK_NOT_EXISTS, CREATE_IF_NOT_EXISTS, REMOVE_RECURSIVE})

INT = Struct("!i")
_LONG_PAIR = Struct("!iqi")
_HEADER = Struct("!iBi")
_STAT = Struct("!qqqqiiiqiiq")
_END = _HEADER.pack(-1, 1, -1)
_ERROR = -1


class Malformed(Exception):
    """The bytes are no request that this stand-in knows."""


class Access(NamedTuple):
    """One entry of an ACL."""

    permissions: int
    scheme: str
    identity: str


class Request(NamedTuple):
    """One operation; what it does not use has its default."""

    kind: int
    path: str = ""
    data: bytes = b""
    acl: tuple[Access, ...] = ()
    flags: int = 0
    version: int = -1
    watch: bool = False
    filter: int = 0
    limit: int = 0
    parts: tuple[Request, ...] = ()


class Answer(NamedTuple):
    """The answer to one operation: an error code, or a body."""

    error: int
    body: bytes = b""


class Bytes:
    """Takes values from bytes, one after the other. Raises Malformed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def raw(self, size: int) -> bytes:
        """As many bytes."""
        self._at += size
        if size < 0 or self._at > len(self._data):
            raise Malformed
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """A signed number of four bytes."""
        return int.from_bytes(self.raw(4), "big", signed=True)

    def long(self) -> int:
        """A signed number of eight bytes."""
        return int.from_bytes(self.raw(8), "big", signed=True)

    def flag(self) -> bool:
        """One byte."""
        return self.raw(1) != b"\0"

    def data(self) -> bytes:
        """Bytes with their length before them."""
        return self.raw(max(0, self.number()))

    def text(self) -> str:
        """A text with its length before it."""
        return self.data().decode()

    def acl(self) -> tuple[Access, ...]:
        """A list of entries."""
        return tuple(Access(self.number(), self.text(), self.text()) for _each in range(self.number()))

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._data)


def parse(kind: int, body: Bytes) -> Request:
    """Return the request of that type. Raises Malformed."""
    take = _TAKEN.get(kind)
    if take is None:
        raise Malformed
    return take(kind, body)


def _parts(body: Bytes) -> list[Request]:
    parts: list[Request] = []
    while True:
        kind, is_over, _error = body.number(), body.flag(), body.number()
        if is_over:
            return parts
        parts.append(parse(kind, body))


def _creation(kind: int, body: Bytes) -> Request:
    return Request(kind, body.text(), body.data(), body.acl(), body.number())


def _versioned(kind: int, body: Bytes) -> Request:
    return Request(kind, body.text(), version=body.number())


def _watching(kind: int, body: Bytes) -> Request:
    return Request(kind, body.text(), watch=body.flag())


def _plain(kind: int, body: Bytes) -> Request:
    return Request(kind, body.text())


_TAKEN: dict[int, Callable[[int, Bytes], Request]] = {
    **dict.fromkeys((CREATE, CREATE2, CREATE_IF_NOT_EXISTS), _creation),
    **dict.fromkeys((DELETE, CHECK, CHECK_NOT_EXISTS), _versioned),
    **dict.fromkeys((EXISTS, GET_DATA, GET_CHILDREN, GET_CHILDREN2), _watching),
    **dict.fromkeys((SYNC, GET_ACL), _plain),
    **dict.fromkeys((MULTI, MULTI_READ), lambda kind, body: Request(kind, parts=tuple(_parts(body)))),
    SET_DATA: lambda kind, body: Request(kind, body.text(), body.data(), version=body.number()),
    SET_ACL: lambda kind, body: Request(kind, body.text(), acl=body.acl(), version=body.number()),
    FILTERED_LIST: lambda kind, body: Request(kind, body.text(), watch=body.flag(), filter=body.raw(1)[0]),
    REMOVE_RECURSIVE: lambda kind, body: Request(kind, body.text(), limit=body.number()),
}


def text_bytes(text: str) -> bytes:
    """Return a text with its length before it."""
    return data_bytes(text.encode())


def data_bytes(data: bytes) -> bytes:
    """Return bytes with their length before them."""
    return INT.pack(len(data)) + data


def stat_bytes(*fields: int) -> bytes:
    """Return a stat: czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, sizes, and pzxid."""
    return _STAT.pack(*fields)


def acl_bytes(acl: tuple[Access, ...]) -> bytes:
    """Return a list of entries."""
    entries = (
        INT.pack(each.permissions) + text_bytes(each.scheme) + text_bytes(each.identity) for each in acl
    )
    return INT.pack(len(acl)) + b"".join(entries)


def names_bytes(names: list[str]) -> bytes:
    """Return a list of names."""
    return INT.pack(len(names)) + b"".join(map(text_bytes, names))


def multi_bytes(kinds: list[int], answers: Sequence[Answer | None], *, errors_have_a_body: bool) -> bytes:
    """Return the body of the answer to a multi or a multiRead.

    answers: None for an operation of a multi before the one that failed.
    errors_have_a_body: whether an error is an answer of its own type, which Keeper's failed reads are not.
    """
    results: list[bytes] = []
    for kind, answer in zip(kinds, answers, strict=True):
        error = 0 if answer is None else answer.error
        if answer is not None and not error:
            results.append(_HEADER.pack(kind, 0, 0) + answer.body)
        elif errors_have_a_body:
            results.append(_HEADER.pack(_ERROR, 0, error) + INT.pack(error))
        else:
            results.append(_HEADER.pack(kind, 0, error))
    return b"".join(results) + _END


def reply(xid: int, zxid: int, answer: Answer) -> bytes:
    """Return the frame of an answer."""
    content = _LONG_PAIR.pack(xid, zxid, answer.error) + (b"" if answer.error else answer.body)
    return data_bytes(content)


def event(kind: int, path: str) -> bytes:
    """Return the frame of a watch that fires."""
    connected = 3
    return data_bytes(_LONG_PAIR.pack(-1, -1, 0) + INT.pack(kind) + INT.pack(connected) + text_bytes(path))
