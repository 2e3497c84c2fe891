# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One connection of a client with a member, and its session."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from struct import Struct
from typing import Protocol

from support.servers.keeper.messages import (
    AUTH,
    CLOSE,
    INT,
    MULTI_READ,
    OF_KEEPER,
    PING,
    READS,
    SYNC,
    Answer,
    Bytes,
    Malformed,
    Request,
    data_bytes,
    multi_bytes,
    parse,
    reply,
)
from support.servers.keeper.znode import UNIMPLEMENTED, Identities

_CONNECT = Struct("!iqiq")
_ACCEPTED = Struct("!iiqi")
_PASSWORD_BYTES = 16
_WITH_READ_ONLY = 45
_NO_LEADER = 42
"""The protocol version with which Keeper refuses a client while it has no leader."""


class Session:
    """A session of the ensemble.

    timeout: seconds. seen: when the ensemble heard of it last, by the clock of the loop.
    """

    def __init__(self, number: int, timeout: float, seen: float) -> None:
        self.number = number
        self.timeout = timeout
        self.seen = seen
        self.identities: Identities = ()
        self.connection: Connection | None = None


class Serving(Protocol):
    """The member of a connection."""

    paused: bool

    def open_session(self, session_id: int, password: bytes, timeout: float) -> Session | None:
        """Return the session for a client that brings this id, 0 for none; None if it has ended."""

    def refuses(self, seen: int) -> bool:
        """Whether the client may not connect, because it has seen more than the member has."""

    def has_leader(self) -> bool:
        """Whether a majority of the members runs."""

    def without_leader(self, connection: Connection) -> Answer:
        """Answer a request, or end the connection."""

    def write(self, connection: Connection, request: Request) -> Answer:
        """Answer a write or a sync, which all members apply in the same order."""

    def read(self, connection: Connection, request: Request) -> Answer:
        """Answer a read from what this member has applied."""

    def end_session(self, session: Session) -> None:
        """End the session and delete its ephemeral znodes."""

    def forget(self, connection: Connection) -> None:
        """The connection is lost."""

    def four_letter(self, word: str) -> str | None:
        """Answer a four-letter command; None for something else."""

    def password(self, session_id: int) -> bytes:
        """Return what a client proves with that the session is its own."""

    @property
    def zxid(self) -> int:
        """The number of the last transaction that the member has applied."""

    @property
    def is_keeper(self) -> bool:
        """Whether the manners are those of Keeper."""

    @property
    def multi_read(self) -> bool:
        """Whether there is multiRead."""


class Connection(asyncio.Protocol):
    """Takes the requests of a client in their order, and answers each before the next one."""

    def __init__(self, member: Serving) -> None:
        self._member = member
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self.session: Session | None = None

    @property
    def identities(self) -> Identities:
        """Those of the session."""
        return () if self.session is None else self.session.identities

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where answers go."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what has come; a paused member answers later."""
        self._buffer += data
        if not self._member.paused:
            self.take()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the member, which keeps the session until its timeout."""
        self._transport = None
        self._member.forget(self)

    def take(self) -> None:
        """Answer all requests that are there as a whole."""
        while self._transport is not None and len(self._buffer) >= INT.size:
            if self.session is None and self._is_four_letter():
                return
            (size,) = INT.unpack_from(self._buffer)
            if len(self._buffer) < INT.size + size:
                return
            frame = bytes(self._buffer[INT.size : INT.size + size])
            del self._buffer[: INT.size + size]
            try:
                self._answer(frame)
            except Malformed:
                self.close()

    def send(self, frame: bytes) -> None:
        """Send a frame, in order with those before it."""
        if self._transport is not None:
            self._transport.write(frame)

    def close(self) -> None:
        """End the connection, not the session."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
            self._member.forget(self)

    def _is_four_letter(self) -> bool:
        text = self._member.four_letter(self._buffer[:4].decode(errors="replace"))
        if text is None:
            return False
        self.send(text.encode())
        self.close()
        return True

    def _answer(self, frame: bytes) -> None:
        if self.session is None:
            self._greet(frame)
            return
        self.session.seen = self._loop.time()
        body = Bytes(frame)
        xid, kind = body.number(), body.number()
        if kind == PING:
            self._reply(xid, Answer(0))
        elif kind == AUTH:
            self._authenticate(xid, body)
        elif kind == CLOSE:
            self._member.end_session(self.session)
            self._reply(xid, Answer(0))
            self.close()
        else:
            self._reply(xid, self._answer_of(kind, body))

    def _answer_of(self, kind: int, body: Bytes) -> Answer:
        member = self._member
        unknown = set() if member.is_keeper else set(OF_KEEPER)
        unknown |= set() if member.multi_read else {MULTI_READ}
        try:
            request = parse(-1 if kind in unknown else kind, body)
        except Malformed:
            if member.is_keeper:
                raise
            return Answer(UNIMPLEMENTED)
        if not member.has_leader():
            return member.without_leader(self)
        if kind == MULTI_READ:
            answers = [member.read(self, part) for part in request.parts]
            kinds = [part.kind for part in request.parts]
            return Answer(0, multi_bytes(kinds, answers, errors_have_a_body=not member.is_keeper))
        if kind in READS:
            return member.read(self, request)
        answer = member.write(self, request)
        return Answer(answer.error, data_bytes(request.path.encode())) if kind == SYNC else answer

    def _greet(self, frame: bytes) -> None:
        if len(frame) < _CONNECT.size:
            raise Malformed
        _protocol, seen, timeout, session_id = _CONNECT.unpack_from(frame)
        password = frame[_CONNECT.size + INT.size :][:_PASSWORD_BYTES]
        member = self._member
        if not member.has_leader():
            if member.is_keeper:
                self._accept(frame, _NO_LEADER, timeout, 0)
            self.close()
        elif member.refuses(seen):
            self.close()
        else:
            self.session = member.open_session(session_id, password, timeout / 1000)
            if self.session is None:
                self._accept(frame, 0, 0, 0)
                self.close()
                return
            former, self.session.connection = self.session.connection, self
            if former is not None:
                former.close()
            self._accept(frame, 0, int(self.session.timeout * 1000), self.session.number)

    def _accept(self, frame: bytes, protocol: int, timeout: int, session_id: int) -> None:
        accepted = _ACCEPTED.pack(protocol, timeout, session_id, _PASSWORD_BYTES)
        content = accepted + self._member.password(session_id)
        self.send(data_bytes(content + (b"\0" if len(frame) >= _WITH_READ_ONLY else b"")))

    def _authenticate(self, xid: int, body: Bytes) -> None:
        assert self.session is not None
        _kind, scheme, credential = body.number(), body.text(), body.data()
        if scheme == "digest":
            user = credential.decode().partition(":")[0]
            digest = base64.b64encode(hashlib.sha1(credential).digest()).decode()
            self.session.identities += (("digest", f"{user}:{digest}"),)
            self._reply(xid, Answer(0))
        else:
            auth_failed = -115
            self._reply(xid, Answer(auth_failed))
            self.close()

    def _reply(self, xid: int, answer: Answer) -> None:
        self.send(reply(xid, self._member.zxid, answer))
