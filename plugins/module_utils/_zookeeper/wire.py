# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests and answers of the ZooKeeper protocol as bytes.

A request provides what kazoo's connection needs: ``type``, ``serialize()``, and ``deserialize()`` for the
answer. Here, ``deserialize`` only stores the bytes, so that decoding does not delay the thread reading the
socket.
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
# Header of each operation in a multi (type, done, error), alone and with the following int.
_HEADER = Struct("!iBi")
_HEADER_INT = Struct("!iBii")
_END = _HEADER.pack(-1, 1, -1)
_NO_WATCH = b"\x00"
# Attribute lookups done once, for decoding millions of znodes.
_unpack_int, _INT_SIZE = _INT.unpack_from, _INT.size
_unpack_stat, _STAT_SIZE = _STAT.unpack_from, _STAT.size
# Creates a named tuple in half the time of a class call.
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
"""Raises the error for an unreadable path, given the ZooKeeper error code."""


class Answer(NamedTuple):
    """Packet of an answer and the offset of its body; or the error code of the request."""

    packet: bytes
    offset: int
    error: int = 0


class Request:
    """A request; subclasses create the payload and decode the answer."""

    type: int

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    @property
    def size(self) -> int:
        """Size of the payload in bytes."""
        return len(self._payload)

    def serialize(self) -> bytes:
        """Return the request without length, xid and type."""
        return self._payload

    def deserialize(self, packet: bytes, offset: int) -> Answer:
        """Store the answer for the caller's thread."""
        return Answer(packet, offset)


class Exists(Request):
    """Checks for a znode; needs no permission."""

    type = _EXISTS

    def __init__(self, path: bytes) -> None:
        super().__init__(_string(path) + _NO_WATCH)


class Sync(Request):
    """Lets the server catch up with the leader."""

    type = _SYNC

    def __init__(self, path: bytes) -> None:
        super().__init__(_string(path))


@dataclass(frozen=True)
class ReadKind(Generic[Found]):
    """Kind of read: the operation type, and the decoder of one result."""

    type: int
    take: Callable[[str, bytes, int], tuple[Found, int]]


class ReadSection(NamedTuple):
    """Consecutive reads of one kind."""

    kind: ReadKind[Any]
    paths: Sequence[str]


class SectionResult(NamedTuple):
    """Results of one section."""

    kind: ReadKind[Any]
    found: list[Any]
    """One result for each path, in order; None for a missing znode."""
    size: int
    """Bytes of the section in the answer."""


class ReadRequest(Request):
    """Reads one or more paths."""

    sections: Sequence[ReadSection]

    @property
    def paths(self) -> int:
        """Number of paths to read."""
        return sum(len(section.paths) for section in self.sections)

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """Return one result for each section of the request."""
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
        """Return one result for each section of the request."""
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
        """Return the result of the path."""
        ((kind, (path,)),) = self.sections
        if answer.error == NO_NODE:
            return [SectionResult(kind, [None], len(answer.packet))]
        if answer.error:
            refuse(path, answer.error)
        found = kind.take(path, answer.packet, answer.offset)[0]
        return [SectionResult(kind, [found], len(answer.packet))]


class MultiWrite(Request):
    """Operations applied atomically.

    kazoo sends requests queued without a connection over the next connection. Therefore ``may_send`` is
    called during serialization: if it returns False, an empty multi without effect is sent instead.
    """

    type = _MULTI

    def __init__(self, payload: bytes, may_send: Callable[[], bool]) -> None:
        super().__init__(payload)
        self._may_send = may_send
        self.sent = False

    def serialize(self) -> bytes:
        """Return the operations, or an empty multi if sending is no longer allowed."""
        self.sent = self._may_send()
        return self._payload if self.sent else _END

    def decode(self, answer: Answer) -> Outcome:
        """Return the outcome of the operations."""
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
            # Operations before the failed one have code 0, later ones "inconsistency".
            if code:
                return Rejected(index, _REASONS.get(code, Reason.OTHER), code)
            offset += _HEADER_INT.size
            index += 1


class MultiEncoder:
    """Encodes multis; all created znodes get the same ACL."""

    def __init__(self, chroot: str, *, authenticated: bool) -> None:
        scheme, user = (b"auth", b"") if authenticated else (b"world", b"anyone")
        acl = _INT.pack(1) + _INT.pack(_ALL_PERMISSIONS) + _string(scheme) + _string(user)
        self._chroot = chroot
        self._create_tails = {False: acl + _INT.pack(_PERSISTENT), True: acl + _INT.pack(_EPHEMERAL)}

    def encode(self, multi: Multi) -> bytes:
        """Return the payload of a multi request.

        Raises:
            PartMoveError: too many operations or bytes for servers.
        """
        if len(multi) > MAX_OPS:
            raise PartMoveError(
                f"A multi of {len(multi)} operations is above the limit of {MAX_OPS}",
                remedy="Split the multi before the commit",
            )
        payload = self._pack(multi)
        if len(payload) > MAX_BYTES:
            raise PartMoveError(
                f"A multi of {len(payload)} bytes is above the limit of {MAX_BYTES}: {multi[0].path}",
                remedy="Split the multi before the commit",
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
    """Encode a path below the chroot.

    Raises:
        PartMoveError: not an absolute path; servers would report a missing znode.
    """
    if path[:1] == "/" and path[-1] != "/" and "//" not in path:
        return (chroot + path).encode()
    if path == "/":
        return (chroot or path).encode()
    raise PartMoveError(f"{path!r} is not an absolute path of a znode", remedy="Write the path as /a/b")


def _string(text: bytes) -> bytes:
    return _INT.pack(len(text)) + text


def _take_all(
    kind: ReadKind[Any], paths: Sequence[str], packet: bytes, offset: int, refuse: Refuse
) -> tuple[list[Any], int]:
    """Decode the multiRead results of the paths from the offset on; return results and end offset."""
    take = kind.take
    results: list[Any] = []
    # Attribute lookups done once, outside of a loop over hundreds of thousands of znodes.
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
    # Znodes created without data have the size -1.
    end = begin + size if size > 0 else begin
    stat = _tuple(Stat, _unpack_stat(packet, end))
    return _tuple(Znode, (path, packet[begin:end], stat)), end + _STAT_SIZE


def _zxid_of(packet: bytes, offset: int) -> int:
    """Return the zxid of an applied multi, from the first stat in its results; 0 without a stat."""
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
    # Codes above -100 are system failures, possibly after the multi was applied; other codes are
    # rejections before it is applied.
    if code > -100 or code in _CAUSES:
        return Unknown(_CAUSES.get(code, f"the server answered with error {code}"))
    return Rejected(0, _REASONS.get(code, Reason.OTHER), code)


DATA: ReadKind[Znode] = ReadKind(_GET_DATA, _take_data)
CHILDREN: ReadKind[tuple[str, ...]] = ReadKind(_GET_CHILDREN, _take_children)
