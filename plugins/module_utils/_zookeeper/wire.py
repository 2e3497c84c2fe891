# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests and answers of the ZooKeeper protocol as bytes; `read_requests` has those that read znodes.

A request provides what kazoo's connection needs: ``type``, ``serialize()``, and ``deserialize()`` for the
answer. Here, ``deserialize`` only stores the bytes, so that decoding does not delay the thread reading the
socket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple, NoReturn

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

_CREATE, _DELETE, _EXISTS, _SET_DATA, _SYNC = 1, 2, 3, 5, 9
_CHECK, _MULTI, ERROR = 13, 14, -1

INT = Struct("!i")
STAT = Struct("!qqqqiiiqiiq")
# Header of each operation in a multi (type, done, error), alone and with the following int.
HEADER = Struct("!iBi")
HEADER_INT = Struct("!iBii")
END = HEADER.pack(-1, 1, -1)
NO_WATCH = b"\x00"

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
    MARSHALLING_ERROR: "the answer is not understood",
    CONNECTION_LOSS: "the connection was lost before the answer",
    OPERATION_TIMEOUT: "no answer within the operation timeout",
    SESSION_EXPIRED: "the session ended before the answer",
    REQUEST_TIMEOUT: "the server gave up before the multi was decided",
}
NOT_SENT = "not sent, because the connection was lost before"

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
    ops: int = 0
    """Operations that count in a `RequestWindow`; 0 for a request that never waits."""

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
        super().__init__(string(path) + NO_WATCH)


class Sync(Request):
    """Lets the server catch up with the leader."""

    type = _SYNC

    def __init__(self, path: bytes) -> None:
        super().__init__(string(path))


class MultiWrite(Request):
    """Operations applied atomically.

    kazoo sends requests queued without a connection over the next connection. Therefore ``may_send`` is
    called during serialization: if it returns False, an empty multi without effect is sent instead.
    """

    type = _MULTI

    def __init__(self, payload: bytes, may_send: Callable[[], bool], ops: int = 0) -> None:
        super().__init__(payload)
        self.ops = ops
        self._may_send = may_send
        self.sent = False

    def serialize(self) -> bytes:
        """Return the operations, or an empty multi if sending is no longer allowed."""
        self.sent = self._may_send()
        return self._payload if self.sent else END

    def decode(self, answer: Answer) -> Outcome:
        """Return the outcome of the operations."""
        if answer.error:
            return _whole_outcome(answer.error)
        if not self.sent:
            return Unknown(NOT_SENT)
        try:
            return _outcome_of(answer.packet, answer.offset)
        except struct.error:
            return Unknown(_CAUSES[MARSHALLING_ERROR])


class MultiEncoder:
    """Encodes multis; all created znodes get the same ACL."""

    def __init__(self, chroot: str, *, authenticated: bool) -> None:
        scheme, user = (b"auth", b"") if authenticated else (b"world", b"anyone")
        acl = INT.pack(1) + INT.pack(_ALL_PERMISSIONS) + string(scheme) + string(user)
        self._chroot = chroot
        self._create_tails = {False: acl + INT.pack(_PERSISTENT), True: acl + INT.pack(_EPHEMERAL)}

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
        header, number, tails = HEADER_INT.pack, INT.pack, self._create_tails
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
        chunks.append(END)
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


def string(text: bytes) -> bytes:
    """Return the text as requests have it, with its length."""
    return INT.pack(len(text)) + text


def _outcome_of(packet: bytes, offset: int) -> Outcome:
    """Return the outcome of a multi from its results; its zxid is of the first stat, 0 without one."""
    zxid = index = 0
    is_failed = False
    while True:
        kind, done, _error = HEADER.unpack_from(packet, offset)
        offset += HEADER.size
        if done or kind not in (ERROR, _CREATE, _DELETE, _SET_DATA, _CHECK):
            break
        if kind == ERROR:
            is_failed = True
            (code,) = INT.unpack_from(packet, offset)
            # Operations before the failed one have code 0, later ones "inconsistency".
            if code:
                return Rejected(index, _REASONS.get(code, Reason.OTHER), code)
            offset += INT.size
        elif kind == _SET_DATA:
            zxid = zxid or int(Stat._make(STAT.unpack_from(packet, offset)).mzxid)
            offset += STAT.size
        elif kind == _CREATE:
            (size,) = INT.unpack_from(packet, offset)
            offset += INT.size + size
        index += 1
    is_whole = done and kind == ERROR and offset == len(packet)
    return Committed(zxid) if is_whole and not is_failed else Unknown(_CAUSES[MARSHALLING_ERROR])


def _whole_outcome(code: int) -> Outcome:
    # Codes above -100 are system failures, possibly after the multi was applied; other codes are
    # rejections before it is applied.
    if code > -100 or code in _CAUSES:
        return Unknown(_CAUSES.get(code, f"the server answered with error {code}"))
    return Rejected(0, _REASONS.get(code, Reason.OTHER), code)
