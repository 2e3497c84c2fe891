# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests and answers of the ZooKeeper protocol as bytes.

A request is what kazoo's connection needs of one: its ``type``, ``serialize()``, and
``deserialize()`` of the answer. Here ``deserialize`` keeps the bytes only, so that the thread that
reads the socket is not held up by the decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from .._partmove.errors import PartMoveError
from .._partmove.tree.multi_batches import MAX_BYTES, MAX_OPS
from .._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Outcome,
    Reason,
    Rejected,
    Stat,
    Unknown,
    Znode,
)

CONNECTION_LOSS = -4
MARSHALLING_ERROR = -5
UNIMPLEMENTED = -6
OPERATION_TIMEOUT = -7
BAD_ARGUMENTS = -8
NO_NODE = -101
NO_AUTH = -102
SESSION_EXPIRED = -112
AUTH_FAILED = -115
SESSION_MOVED = -118
REQUEST_TIMEOUT = -122

_CREATE, _DELETE, _EXISTS, _GET_DATA, _SET_DATA, _GET_CHILDREN, _SYNC = 1, 2, 3, 4, 5, 8, 9
_CHECK, _MULTI, _MULTI_READ, _ERROR = 13, 14, 22, -1

_INT = Struct("!i")
_STAT = Struct("!qqqqiiiqiiq")
# The header of each operation in a multi (type, done, error), alone and with the int that follows.
_HEADER = Struct("!iBi")
_HEADER_INT = Struct("!iBii")
_END = _HEADER.pack(-1, 1, -1)
_NO_WATCH = b"\x00"
# Looked up once, as millions of znodes may be taken apart.
_unpack_int, _INT_SIZE = _INT.unpack_from, _INT.size
_unpack_stat, _STAT_SIZE = _STAT.unpack_from, _STAT.size
# Makes a named tuple in half the time of calling its class, for what is read in large numbers.
_tuple = tuple.__new__

_PERSISTENT, _EPHEMERAL = 0, 1
_ALL_PERMISSIONS = 31

_REASONS = {
    NO_NODE: Reason.NO_NODE,
    NO_AUTH: Reason.NO_AUTH,
    -103: Reason.BAD_VERSION,
    -110: Reason.NODE_EXISTS,
    -111: Reason.NOT_EMPTY,
    -119: Reason.READ_ONLY,
}

_CAUSES = {
    CONNECTION_LOSS: "the connection was lost before the answer",
    OPERATION_TIMEOUT: "no answer within the operation timeout",
    SESSION_EXPIRED: "the session ended before the answer",
    REQUEST_TIMEOUT: "the server gave up before the multi was decided",
}
NOT_SENT = "not sent, because the connection was lost before"

Found = TypeVar("Found")
Refuse = Callable[[str, int], NoReturn]
"""Raises for a path that could not be read, given the ZooKeeper error code."""


class Answer(NamedTuple):
    """The packet of an answer and where its body begins; or the error code of the whole request."""

    packet: bytes
    offset: int
    error: int = 0


class Request:
    """One request; subclasses give the payload and decode the answer."""

    type: int

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    @property
    def size(self) -> int:
        """How many bytes the payload has."""
        return len(self._payload)

    def serialize(self) -> bytes:
        """The request without its length, xid and type."""
        return self._payload

    def deserialize(self, packet: bytes, offset: int) -> Answer:
        """Keep the answer for the caller's thread."""
        return Answer(packet, offset)


class Exists(Request):
    """Asks whether there is a znode, for which no permission is needed."""

    type = _EXISTS

    def __init__(self, path: bytes) -> None:
        super().__init__(_string(path) + _NO_WATCH)


class Sync(Request):
    """Let the server catch up with the leader."""

    type = _SYNC

    def __init__(self, path: bytes) -> None:
        super().__init__(_string(path))


@dataclass(frozen=True)
class ReadKind(Generic[Found]):
    """What is read of a znode: the operation, and how to take one result out of an answer."""

    type: int
    take: Callable[[str, bytes, int], tuple[Found, int]]


class ReadSection(NamedTuple):
    """What is read of some paths in a row."""

    kind: ReadKind[Any]
    paths: Sequence[str]


class SectionResult(NamedTuple):
    """What an answer has for one section."""

    kind: ReadKind[Any]
    found: list[Any]
    """One for each path, in order; None where there is no znode."""
    size: int
    """How many bytes of the answer that took."""


class ReadRequest(Request):
    """Reads one or more paths."""

    sections: Sequence[ReadSection]

    @property
    def paths(self) -> int:
        """How many paths are read."""
        return sum(len(section.paths) for section in self.sections)

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """What was found, a section of the request each."""
        raise NotImplementedError


class MultiRead(ReadRequest):
    """Reads many paths in one request, in order; ZooKeeper 3.6 and later."""

    type = _MULTI_READ

    def __init__(self, chroot: str, sections: Sequence[ReadSection]) -> None:
        self.sections = sections
        chunks: list[bytes] = []
        for kind, paths in sections:
            for path in paths:
                name = wire_path(chroot, path)
                chunks += (_HEADER_INT.pack(kind.type, 0, -1, len(name)), name, _NO_WATCH)
        chunks.append(_END)
        super().__init__(b"".join(chunks))

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """What was found, a section of the request each."""
        packet, offset, error = answer
        if error:
            refuse(self.sections[0].paths[0], error)
        sections: list[SectionResult] = []
        for kind, paths in self.sections:
            found, end = _take_all(kind, paths, packet, offset, refuse)
            sections.append(SectionResult(kind, found, end - offset))
            offset = end
        return sections


class SingleRead(ReadRequest):
    """Reads one path, for servers without MultiRead."""

    def __init__(self, kind: ReadKind[Any], chroot: str, path: str) -> None:
        super().__init__(_string(wire_path(chroot, path)) + _NO_WATCH)
        self.sections = (ReadSection(kind, (path,)),)
        self.type = kind.type

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """What was found at the path."""
        ((kind, (path,)),) = self.sections
        if answer.error == NO_NODE:
            return [SectionResult(kind, [None], len(answer.packet))]
        if answer.error:
            refuse(path, answer.error)
        found = kind.take(path, answer.packet, answer.offset)[0]
        return [SectionResult(kind, [found], len(answer.packet))]


class MultiWrite(Request):
    """Operations that are applied all together or not at all.

    ``may_send`` is asked when the request goes onto the wire. kazoo puts a request that is queued
    while the connection is down onto the next connection; when the answer is no by then, an empty
    multi is sent in its place, which does nothing.
    """

    type = _MULTI

    def __init__(self, payload: bytes, may_send: Callable[[], bool]) -> None:
        super().__init__(payload)
        self._may_send = may_send
        self.sent = False

    def serialize(self) -> bytes:
        """The operations, or none when they may not be sent any more."""
        self.sent = self._may_send()
        return self._payload if self.sent else _END

    def decode(self, answer: Answer) -> Outcome:
        """Tell what became of the operations."""
        packet, offset, error = answer
        if error:
            return _whole_outcome(error)
        if not self.sent:
            return Unknown(NOT_SENT)
        index = 0
        while True:
            kind, done, _error = _HEADER.unpack_from(packet, offset)
            if kind != _ERROR or done:
                return Committed(_zxid_of(packet, offset))
            (code,) = _INT.unpack_from(packet, offset + _HEADER.size)
            # The operations before the one that failed have code 0, those after it "inconsistency".
            if code:
                return Rejected(index, _REASONS.get(code, Reason.OTHER), code)
            offset += _HEADER_INT.size
            index += 1


class MultiEncoder:
    """Packs multis; every znode they create gets the same ACL."""

    def __init__(self, chroot: str, *, authenticated: bool) -> None:
        scheme, user = (b"auth", b"") if authenticated else (b"world", b"anyone")
        acl = _INT.pack(1) + _INT.pack(_ALL_PERMISSIONS) + _string(scheme) + _string(user)
        self._chroot = chroot
        self._create_tails = {False: acl + _INT.pack(_PERSISTENT), True: acl + _INT.pack(_EPHEMERAL)}

    def encode(self, multi: Multi) -> bytes:
        """The payload of a multi request.

        Raises:
            PartMoveError: more operations or bytes than servers accept.
        """
        if len(multi) > MAX_OPS:
            raise PartMoveError(
                f"A multi of {len(multi)} operations is above the limit of {MAX_OPS}",
                remedy="Split it before it is committed",
            )
        payload = self._pack(multi)
        if len(payload) > MAX_BYTES:
            raise PartMoveError(
                f"A multi of {len(payload)} bytes is above the limit of {MAX_BYTES}: {multi[0].path}",
                remedy="Split it before it is committed",
            )
        return payload

    def _pack(self, multi: Multi) -> bytes:
        header, number, tails = _HEADER_INT.pack, _INT.pack, self._create_tails
        chunks: list[bytes] = []
        for op in multi:
            name = wire_path(self._chroot, op.path)
            if isinstance(op, Create):
                tail = tails[op.ephemeral]
                chunks += (header(_CREATE, 0, -1, len(name)), name, number(len(op.data)), op.data, tail)
            elif isinstance(op, Delete):
                chunks += (header(_DELETE, 0, -1, len(name)), name, number(op.version))
            elif isinstance(op, Check):
                chunks += (header(_CHECK, 0, -1, len(name)), name, number(op.version))
            else:
                size, version = number(len(op.data)), number(op.version)
                chunks += (header(_SET_DATA, 0, -1, len(name)), name, size, op.data, version)
        chunks.append(_END)
        return b"".join(chunks)


def wire_path(chroot: str, path: str) -> bytes:
    """The bytes of a path below the chroot.

    Raises:
        PartMoveError: not an absolute path; the server would take it for a znode that does not exist.
    """
    if path[:1] == "/" and path[-1] != "/" and "//" not in path:
        return (chroot + path).encode()
    if path == "/":
        return (chroot or path).encode()
    raise PartMoveError(f"{path!r} is not an absolute path of a znode", remedy="Write it as /a/b")


def _string(text: bytes) -> bytes:
    return _INT.pack(len(text)) + text


def _take_all(
    kind: ReadKind[Any], paths: Sequence[str], packet: bytes, offset: int, refuse: Refuse
) -> tuple[list[Any], int]:
    """What a multiRead found at each path from the offset on, and where it ends."""
    take = kind.take
    results: list[Any] = []
    # A run reads hundreds of thousands of znodes: what the loop needs is looked up once.
    unpack, header, with_code = _HEADER_INT.unpack_from, _HEADER.size, _HEADER_INT.size
    for path in paths:
        result, _done, _error, code = unpack(packet, offset)
        if result == _ERROR:
            offset += with_code
            if code != NO_NODE:
                refuse(path, code)
            results.append(None)
        else:
            found, offset = take(path, packet, offset + header)
            results.append(found)
    return results, offset


def _take_data(path: str, packet: bytes, offset: int) -> tuple[Znode, int]:
    (size,) = _unpack_int(packet, offset)
    begin = offset + _INT_SIZE
    # The size of a znode that was created without data is -1.
    end = begin + size if size > 0 else begin
    stat = _tuple(Stat, _unpack_stat(packet, end))
    return _tuple(Znode, (path, packet[begin:end], stat)), end + _STAT_SIZE


def _zxid_of(packet: bytes, offset: int) -> int:
    """The transaction of a multi that was applied, from the first stat in its results; 0 if there is none."""
    while True:
        kind, done, _error = _HEADER.unpack_from(packet, offset)
        offset += _HEADER.size
        if done:
            return 0
        if kind == _SET_DATA:
            return int(Stat._make(_STAT.unpack_from(packet, offset)).mzxid)
        if kind == _CREATE:
            (size,) = _INT.unpack_from(packet, offset)
            offset += _INT.size + size


def _take_children(_path: str, packet: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    unpack, width = _INT.unpack_from, _INT.size
    (count,) = unpack(packet, offset)
    offset += width
    names: list[str] = []
    for _each in range(count):
        begin = offset + width
        offset = begin + unpack(packet, offset)[0]
        names.append(packet[begin:offset].decode())
    if count > 1:
        names.sort()
    return tuple(names), offset


def _whole_outcome(code: int) -> Outcome:
    # Codes above -100 are failures of the system, which may come after the multi was applied;
    # the others are decided before it.
    if code > -100 or code in _CAUSES:
        return Unknown(_CAUSES.get(code, f"the server answered with error {code}"))
    return Rejected(0, _REASONS.get(code, Reason.OTHER), code)


DATA: ReadKind[Znode] = ReadKind(_GET_DATA, _take_data)
CHILDREN: ReadKind[tuple[str, ...]] = ReadKind(_GET_CHILDREN, _take_children)
