# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sockets for kazoo's connection with few system calls.

For an answer, kazoo waits three times and reads twice; for a request, it waits twice and is woken through a
byte from another thread. Each of these calls releases the interpreter lock, and the thread then waits for
other threads. These classes read available data at once, and skip waits for available data.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_READ_AHEAD_BYTES = 64 * 1024
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class BufferedSocket:
    """A connected socket with read-ahead, with or without TLS; for one thread."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._below = connected.pending if isinstance(connected, ssl.SSLSocket) else None
        self._buffer = bytearray(_READ_AHEAD_BYTES)
        self._begin = self._end = 0
        self._is_full = False
        """Whether the last `send` was incomplete."""

    def is_ready(self) -> bool:
        """Return whether unread data is buffered, invisible to the operating system."""
        return self._begin < self._end or (self._below is not None and self._below() > 0)

    def pending(self) -> int:
        """Return the number of bytes available without waiting; kazoo waits only for 0.

        Raises OSError.
        """
        if self._begin == self._end:
            try:
                self._end = self._socket.recv_into(self._buffer)
            except _WOULD_BLOCK:
                self._end = self._begin = 0
                return 0
            self._begin = 0
            # At the end of the stream, `recv` returns at once.
            return self._end or 1
        return self._end - self._begin

    def recv(self, size: int) -> bytes:
        """Return at most ``size`` bytes, none at the end of the stream. Raises as the socket does."""
        begin = self._begin
        if begin == self._end:
            return self._socket.recv(size)
        self._begin = min(self._end, begin + size)
        return bytes(self._buffer[begin : self._begin])

    def wait_to_recv(self, seconds: float) -> bool:
        """Wait for data; return whether there is any within ``seconds``."""
        return self.is_ready() or self._wait(select.POLLIN, seconds)

    def send(self, data: bytes) -> int:
        """Send; return the number of accepted bytes. Raises SSLWantWriteError for none, also without TLS."""
        self._is_full = True
        try:
            sent = self._socket.send(data)
        except BlockingIOError as error:
            # TLS sockets raise this error, and kazoo retries after it.
            raise ssl.SSLWantWriteError(ssl.SSL_ERROR_WANT_WRITE, str(error)) from error
        self._is_full = sent < len(data)
        return sent

    def wait_to_send(self, seconds: float) -> bool:
        """Wait for space; return whether sending may succeed within ``seconds``.

        Returns at once unless the last `send` was incomplete.
        """
        return not self._is_full or self._wait(select.POLLOUT, seconds)

    def fileno(self) -> int:
        """Return the file descriptor of the socket."""
        return self._socket.fileno()

    def setblocking(self, flag: bool) -> None:
        """Set the blocking mode of the socket."""
        self._socket.setblocking(flag)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _wait(self, event: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(seconds * 1000))


class WakeUpPipe:
    """Both ends of the pipe that wakes kazoo's thread: other threads send bytes, kazoo's thread receives.

    Bytes pass through the operating system only while kazoo's thread waits.
    """

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._sent: deque[bytes] = deque()
        self._is_awaited = self._is_closed = False

    def is_ready(self) -> bool:
        """Return whether there are unreceived bytes."""
        return bool(self._sent)

    def send(self, data: bytes) -> int:
        """Send one byte. Raises OSError after `close`."""
        if self._is_closed:
            raise OSError(errno.EBADF, "the connection was closed")
        # Append first: `wait` sets _is_awaited before it checks for bytes.
        self._sent.append(data)
        if self._is_awaited:
            # A full pipe wakes the thread anyway.
            with suppress(BlockingIOError):
                self._far.send(data)
        return len(data)

    def recv(self, _size: int) -> bytes:
        """Receive one byte. Raises BlockingIOError for none."""
        try:
            return self._sent.popleft()
        except IndexError as error:
            raise BlockingIOError("nothing was sent") from error

    def wait(self, other: BufferedSocket, seconds: float) -> bool:
        """Wait for a byte or for data in ``other``; return whether ``other`` has data.

        May return early: a byte received before may still be in the operating system.
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
        """Close both ends; may be called repeatedly."""
        self._is_closed = True
        self._near.close()
        self._far.close()


class PendingReply:
    """Implements the parts of AsyncResult used by kazoo and `Session`, with one lock."""

    def __init__(self, connection: Callable[[], int], done: Callable[[], object] | None = None) -> None:
        """Wait for the reply.

        connection: returns the number of kazoo's connection. done: called once there is an answer or an
        error. Both are called by kazoo's thread.
        """
        self.value: object = None
        self.exception: BaseException | None = None
        self.connection = -1
        """Number of the connection of the answer, which is that of the request; -1 without an answer."""
        self._connection_now = connection
        self._done = done
        self._came = threading.Lock()
        self._came.acquire()

    def set(self, value: object = None) -> None:
        """Store the answer. Exactly one call of `set` or `set_exception`."""
        self.value = value
        self._finish()

    def set_exception(self, exception: BaseException) -> None:
        """Store the error: of the server, or of a lost connection."""
        self.exception = exception
        self._finish()

    def _finish(self) -> None:
        # Only kazoo's thread replaces the connection, so the number is exact here, and nowhere else.
        self.connection = self._connection_now()
        self._came.release()
        if self._done is not None:
            self._done()

    def wait(self, timeout: float) -> bool:
        """Wait for answer or error; return whether one came within ``timeout``. Thread-safe."""
        if not self._came.acquire(timeout=timeout):
            return False
        self._came.release()
        return True


def select_ready(
    readers: Sequence[Any], writers: Sequence[BufferedSocket], _others: object, timeout: float
) -> tuple[Sequence[Any], Sequence[BufferedSocket], Sequence[BufferedSocket]]:
    """Replace ``select.select`` for kazoo, for at most ``timeout`` seconds.

    Kazoo waits to write, to read, or, while idle, for a socket and a WakeUpPipe.
    """
    if writers:
        return (), writers if writers[0].wait_to_send(timeout) else (), ()
    if len(readers) == 1:
        return readers if readers[0].wait_to_recv(timeout) else (), (), ()
    connection, wake_up = readers
    deadline = time.monotonic() + timeout
    ready = [each for each in readers if each.is_ready()]
    # An empty result means a timeout to kazoo: return it only at the deadline.
    while not ready and timeout > 0:
        is_readable = wake_up.wait(connection, timeout)
        ready = [each for each in readers if each.is_ready() or (is_readable and each is connection)]
        timeout = deadline - time.monotonic()
    return ready, (), ()
