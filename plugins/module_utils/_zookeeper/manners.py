# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a member treats clients: sessions that are opened by hand, one connection each, and ended again.

Nothing is written. A member logs the refusal of a client that has seen too much.
"""

from __future__ import annotations

import struct
from contextlib import closing
from struct import Struct
from typing import Any, NamedTuple

from .client import connect_to
from .options import EnsembleOptions

_REQUEST = Struct("!iiqiqi16s?")
_GRANTED = Struct("!iiqi16s")
_LENGTH = Struct("!i")
_CLOSE = struct.pack("!iii", 8, 1, -11)
_SHORT_SECONDS = 4.0
"""Timeout of the sessions that are opened here; that of one that cannot be ended passes soon."""
_MOST_BYTES = 1_024
_NOT_SEEN_YET = 2**62
"""A transaction that no ensemble has reached."""


class Manners(NamedTuple):
    """How one member treats clients.

    keeps_session: whether a client that connects again has the same session. False for ClickHouse Keeper.
    refuses_unseen: whether the member refuses a client that has seen more than the member has. False for
        ClickHouse Keeper before the end of 2025, which lets reads go back.
    session_timeout: seconds that the member grants to a client that asks for the timeout of the options.
    """

    keeps_session: bool
    refuses_unseen: bool
    session_timeout: float


class _Session(NamedTuple):
    number: int
    password: bytes
    seconds: float


_NEW = _Session(0, b"", _SHORT_SECONDS)


def ask_manners(options: EnsembleOptions, host: str, seconds: float) -> Manners | None:
    """Return the manners of a host; None if it grants no session in time."""
    try:
        first = _open(options, host, seconds, _NEW, end=False)
        if first is None:
            return None
        second = _open(options, host, seconds, first)
        unseen = _open(options, host, seconds, _NEW, seen=_NOT_SEEN_YET)
        asked = _open(options, host, seconds, _NEW._replace(seconds=options.session_timeout))
    except (OSError, ValueError, struct.error):
        return None
    is_kept = second is not None and second.number == first.number
    return None if asked is None else Manners(is_kept, unseen is None, asked.seconds)


def _open(
    options: EnsembleOptions, host: str, seconds: float, wanted: _Session, *, seen: int = 0, end: bool = True
) -> _Session | None:
    """Return the session that the host grants; None if it grants none and closes the connection.

    end: end the session, too. Raises OSError.
    """
    with closing(connect_to(options, host, seconds)) as connection:
        connection.settimeout(seconds)
        size, timeout = _REQUEST.size - _LENGTH.size, int(wanted.seconds * 1000)
        connection.sendall(_REQUEST.pack(size, 0, seen, timeout, wanted.number, 16, wanted.password, False))
        answer = _frame(connection)
        if len(answer) < _GRANTED.size:
            return None
        _protocol, granted, number, _size, password = _GRANTED.unpack_from(answer)
        if granted <= 0 or not number:
            return None
        if end:
            connection.sendall(_CLOSE)
            _frame(connection)
        return _Session(number, password, granted / 1000)


def _frame(connection: Any) -> bytes:
    """Return an answer; empty if the connection ends before it, or for another protocol."""
    size = _exactly(connection, _LENGTH.size)
    if len(size) < _LENGTH.size:
        return b""
    (length,) = _LENGTH.unpack(size)
    return _exactly(connection, length) if 0 < length <= _MOST_BYTES else b""


def _exactly(connection: Any, size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            chunk = connection.recv(size - len(data))
        except ConnectionResetError:
            break
        if not chunk:
            break
        data += chunk
    return data
