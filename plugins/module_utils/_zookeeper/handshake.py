# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that ensemble members serve this host, with the standard library only.

A ClickHouse host may lack a ZooKeeper client. A member that grants a session belongs to a quorum.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Sequence
from contextlib import closing
from struct import Struct
from typing import NamedTuple

from .._partmove.errors import EnsembleUnreachable, PartMoveError

# ConnectRequest: protocol version, last zxid, timeout, session id, password, read-only.
NEW_SESSION = Struct("!iiqiqi16s?").pack(45, 0, 0, 10_000, 0, 16, b"", False)
_LENGTH = Struct("!i")
_SESSION = Struct("!iiq")
_REPLY = Struct("!iqi")
_EXISTS, _AUTH, _CLOSE = 3, 100, -11
_AUTH_XID = -4
_SCHEME = b"digest"
"""The scheme of the identity in the configuration of ClickHouse."""
_OK, _NO_NODE, _AUTH_FAILED, _NEEDS_IDENTITY = 0, -101, -115, -124
# Longer answers are not from ZooKeeper.
_MAX_ANSWER = 1024


class MemberAddress(NamedTuple):
    """Address of an ensemble member; ``secure``: TLS."""

    host: str
    port: int
    secure: bool = False

    @property
    def label(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"


class _NotServing(Exception):
    """A member does not serve; the text is a clause."""

    remedy = (
        "Check that each member runs, is reachable from this host and belongs to an ensemble with a majority,"
        " and that root exists there"
    )


class _Unauthorised(_NotServing):
    """A member serves, but not this identity."""

    remedy = (
        "Give as identity a user:password that the members accept, or allow clients without it there"
        " (enforce.auth.enabled, enforce.auth.schemes)"
    )


def check_members(members: Sequence[MemberAddress], root: str, timeout: float, identity: str = "") -> None:
    """Open a session with each member, and check for the znode ``root`` unless empty.

    timeout: seconds for each member.
    identity: ``user:password`` of ClickHouse, which no message shows; empty for none.

    A member that requires client certificates counts as serving, without further checks. So does a member
    with TLS that requires the identity, which only a member without TLS gets. Raises EnsembleUnreachable with
    the failure of every member.
    """
    if not timeout > 0:
        raise PartMoveError(f"member_timeout is {timeout}", remedy="Give a number of seconds greater than 0")
    reasons, remedies = [], []
    for member in members:
        try:
            _check(member, root, timeout, identity)
        except _NotServing as reason:
            reasons.append(f"{member.label} {reason}")
            remedies.append(reason.remedy)
    if reasons:
        raise EnsembleUnreachable(
            f"{len(reasons)} of {len(members)} members do not serve this host: {'; '.join(reasons)}",
            remedy=". ".join(dict.fromkeys(remedies)),
        )


def _check(member: MemberAddress, root: str, timeout: float, identity: str) -> None:
    try:
        with closing(_connect(member, timeout)) as connection:
            _greet(connection)
            # The certificate is not verified here, so a secret would go to anybody.
            if identity and not member.secure:
                _authenticate(connection, identity)
            if root and not _find(connection, root, identity=identity, is_sent=not member.secure):
                return
            connection.sendall(_frame(_LENGTH.pack(2) + _LENGTH.pack(_CLOSE)))
    except TimeoutError as error:
        raise _NotServing(f"gives no answer within {timeout:g} s") from error
    except ssl.SSLError as error:
        if not _wants_certificate(error):
            raise _NotServing(f"does not speak TLS as expected ({error.reason or error})") from error
    except OSError as error:
        raise _NotServing(f"cannot be reached ({error.strerror or error})") from error


def _connect(member: MemberAddress, timeout: float) -> socket.socket:
    connection = socket.create_connection((member.host.strip("[]"), member.port), timeout)
    if not member.secure:
        return connection
    # No certificate verification: ClickHouse has its own trust settings; this is a connection test only.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(connection, server_hostname=member.host.strip("[]"))
    except BaseException:
        connection.close()
        raise


def _greet(connection: socket.socket) -> None:
    connection.sendall(NEW_SESSION)
    try:
        _version, granted, session = _SESSION.unpack_from(_answer(connection))
    except struct.error as error:
        raise _NotServing("does not speak ZooKeeper's protocol") from error
    if granted <= 0:
        raise _NotServing("refuses a session")
    if not session:
        # ClickHouse Keeper grants the timeout and no session, and closes the connection.
        raise _NotServing("grants no session, as a ClickHouse Keeper without a leader does")


def _authenticate(connection: socket.socket, identity: str) -> None:
    header = _LENGTH.pack(_AUTH_XID) + _LENGTH.pack(_AUTH)
    auth_type = _LENGTH.pack(0)
    connection.sendall(_frame(header + auth_type + _frame(_SCHEME) + _frame(identity.encode())))
    status = _status(connection)
    if status == _AUTH_FAILED:
        raise _Unauthorised("refuses the identity")
    if status != _OK:
        raise _NotServing(f"does not answer whether it accepts the identity (error {status})")


def _find(connection: socket.socket, root: str, *, identity: str, is_sent: bool) -> bool:
    """Return whether the member has answered; False for one that waits for the identity."""
    watch = b"\0"
    connection.sendall(_frame(_LENGTH.pack(1) + _LENGTH.pack(_EXISTS) + _frame(root.encode()) + watch))
    status = _status(connection)
    if status == _NO_NODE:
        raise _NotServing(f"has no znode {root}, without which ClickHouse does not start")
    if status in {_NEEDS_IDENTITY, _AUTH_FAILED}:
        if not identity:
            raise _Unauthorised("serves no client without an identity, and none is known here")
        if is_sent:
            raise _Unauthorised("does not accept the identity")
        return False
    if status != _OK:
        raise _NotServing(f"does not answer whether {root} exists (error {status})")
    return True


def _status(connection: socket.socket) -> int:
    """Return the error code of the next reply."""
    try:
        _xid, _zxid, status = _REPLY.unpack_from(_answer(connection))
    except struct.error as error:
        raise _NotServing("does not speak ZooKeeper's protocol") from error
    return int(status)


def _frame(content: bytes) -> bytes:
    return _LENGTH.pack(len(content)) + content


def _answer(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size))
    if not 0 < length <= _MAX_ANSWER:
        raise _NotServing("does not speak ZooKeeper's protocol")
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise _NotServing("closes the connection, as members without a majority do")
        data += chunk
    return data


def _wants_certificate(error: ssl.SSLError) -> bool:
    return any(word in (error.reason or "") for word in ("CERTIFICATE_REQUIRED", "ALERT_BAD_CERTIFICATE"))
