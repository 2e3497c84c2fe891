# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What kazoo's connection reads, writes and waits by, in as few system calls as it takes.

For an answer kazoo waits three times and reads twice, for a request it waits twice and is woken by a byte
that one thread writes and another one reads. Around each of these calls its thread gives the interpreter
away, and then waits while others compute. Here what has come is read at once, and nobody waits for what is
there.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_READ_AHEAD_BYTES = 64 * 1024
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class BufferedSocket:
    """A connected socket, with TLS or without, that reads ahead; for one thread."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._below = connected.pending if isinstance(connected, ssl.SSLSocket) else None
        self._buffer = bytearray(_READ_AHEAD_BYTES)
        self._begin = self._end = 0
        self._is_full = False
        """Whether the last `send` could not take all."""

    def is_ready(self) -> bool:
        """Whether there is something to read of which the system does not know any more."""
        return self._begin < self._end or (self._below is not None and self._below() > 0)

    def pending(self) -> int:
        """How many bytes `recv` gives without waiting; kazoo waits only where it is none.

        Raises OSError.
        """
        if self._begin == self._end:
            try:
                self._end = self._socket.recv_into(self._buffer)
            except _WOULD_BLOCK:
                self._end = self._begin = 0
                return 0
            self._begin = 0
            # At the end of the stream `recv` tells so at once.
            return self._end or 1
        return self._end - self._begin

    def recv(self, size: int) -> bytes:
        """At most so many bytes, none at the end of the stream. Raises as the socket does."""
        begin = self._begin
        if begin == self._end:
            return self._socket.recv(size)
        self._begin = min(self._end, begin + size)
        return bytes(self._buffer[begin : self._begin])

    def wait_to_recv(self, seconds: float) -> bool:
        """Whether there is something to read within so many seconds."""
        return self.is_ready() or self._wait(select.POLLIN, seconds)

    def send(self, data: bytes) -> int:
        """How many of the bytes were taken. Raises SSLWantWriteError, also without TLS, where none is."""
        self._is_full = True
        try:
            sent = self._socket.send(data)
        except BlockingIOError as error:
            # With TLS it is what a socket raises, and kazoo tries again once there is room.
            raise ssl.SSLWantWriteError(ssl.SSL_ERROR_WANT_WRITE, str(error)) from error
        self._is_full = sent < len(data)
        return sent

    def wait_to_send(self, seconds: float) -> bool:
        """Whether there may be room within so many seconds; at once, unless it was seen to be full."""
        return not self._is_full or self._wait(select.POLLOUT, seconds)

    def fileno(self) -> int:
        """As the socket has it."""
        return self._socket.fileno()

    def setblocking(self, flag: bool) -> None:
        """As the socket does."""
        self._socket.setblocking(flag)

    def close(self) -> None:
        """As the socket does."""
        self._socket.close()

    def _wait(self, event: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(seconds * 1000))


class WakeUpPipe:
    """Both ends of what wakes kazoo's thread: any thread sends a byte, and that one receives it.

    A byte goes through the system only while that thread waits.
    """

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._sent: deque[bytes] = deque()
        self._is_awaited = self._is_closed = False

    def is_ready(self) -> bool:
        """Whether a byte was sent that was not received."""
        return bool(self._sent)

    def send(self, data: bytes) -> int:
        """Send one byte. Raises OSError where nobody will ever receive it."""
        if self._is_closed:
            raise OSError(errno.EBADF, "the connection was closed")
        # In this order: whoever begins to wait looks for bytes after it says so.
        self._sent.append(data)
        if self._is_awaited:
            # Where it is full it wakes the thread as it is.
            with suppress(BlockingIOError):
                self._far.send(data)
        return len(data)

    def recv(self, _size: int) -> bytes:
        """Receive one byte. Raises BlockingIOError where there is none."""
        try:
            return self._sent.popleft()
        except IndexError as error:
            raise BlockingIOError("nothing was sent") from error

    def wait(self, other: BufferedSocket, seconds: float) -> bool:
        """Wait until a byte is sent, or the other one can be read from, which this tells.

        It may return too early: the byte that came through the system may have been received before.
        """
        near, poll = self._near.fileno(), select.poll()
        poll.register(near, select.POLLIN)
        poll.register(other.fileno(), select.POLLIN)
        self._is_awaited = True
        try:
            found = [number for number, _event in poll.poll(0 if self._sent else seconds * 1000)]
        finally:
            self._is_awaited = False
        if near in found:
            self._near.recv(_READ_AHEAD_BYTES)
        return other.fileno() in found

    def close(self) -> None:
        """Close both ends; may be called for each."""
        self._is_closed = True
        self._near.close()
        self._far.close()


class PendingReply:
    """Implements what kazoo and `Session` need of an AsyncResult, by a lock alone."""

    def __init__(self) -> None:
        self.value: object = None
        self.exception: BaseException | None = None
        self._came = threading.Lock()
        self._came.acquire()

    def set(self, value: object = None) -> None:
        """Keep the answer. To be called once, or `set_exception`."""
        self.value = value
        self._came.release()

    def set_exception(self, exception: BaseException) -> None:
        """Keep the error."""
        self.exception = exception
        self._came.release()

    def wait(self, timeout: float) -> bool:
        """Whether one of both came within so many seconds; for any number of threads."""
        if not self._came.acquire(timeout=timeout):
            return False
        self._came.release()
        return True


def select_ready(
    readers: Sequence[Any], writers: Sequence[BufferedSocket], _others: object, timeout: float
) -> tuple[Sequence[Any], Sequence[BufferedSocket], Sequence[BufferedSocket]]:
    """Do what ``select.select`` does for kazoo, for at most so many seconds.

    It waits to write, or to read, or, while it has nothing to do, for a socket and a bell.
    """
    if writers:
        return (), writers if writers[0].wait_to_send(timeout) else (), ()
    if len(readers) == 1:
        return readers if readers[0].wait_to_recv(timeout) else (), (), ()
    connection, bell = readers
    deadline = time.monotonic() + timeout
    ready = [each for each in readers if each.is_ready()]
    # To kazoo nothing ready is a timeout, so it is told that only when it is one.
    while not ready and timeout > 0:
        is_readable = bell.wait(connection, timeout)
        ready = [each for each in readers if each.is_ready() or (is_readable and each is connection)]
        timeout = deadline - time.monotonic()
    return ready, (), ()
