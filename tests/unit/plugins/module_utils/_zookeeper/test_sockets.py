# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sockets of kazoo's connection, tested locally."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.sockets import (
    BufferedSocket,
    PendingReply,
    WakeUpPipe,
    select_ready,
)

LONG_SECONDS = 60.0
"""Limit of waits that usually end at once."""


@pytest.fixture
def ends() -> Iterator[tuple[BufferedSocket, socket.socket]]:
    """The end with read-ahead, and the opposite end."""
    near, far = socket.socketpair()
    with closing(near), closing(far):
        buffered = BufferedSocket(near)
        buffered.setblocking(False)
        far.setblocking(True)
        yield buffered, far


@pytest.fixture
def wake_up() -> Iterator[WakeUpPipe]:
    """A pipe without sent bytes."""
    with closing(WakeUpPipe()) as wake_up:
        yield wake_up


def read_as_kazoo_does(connection: BufferedSocket, size: int) -> bytes:
    """Read exactly ``size`` bytes, or fewer at the end of the stream."""
    read = b""
    while len(read) < size:
        if not connection.pending():
            assert select_ready([connection], [], [], LONG_SECONDS) == ([connection], (), ())
        chunk = connection.recv(size - len(read))
        if not chunk:
            break
        read += chunk
    return read


def write_as_kazoo_does(connection: BufferedSocket, data: bytes) -> None:
    """All of it."""
    sent = 0
    while sent < len(data):
        assert select_ready([], [connection], [], LONG_SECONDS) == ((), [connection], ())
        try:
            sent += connection.send(data[sent:])
        except ssl.SSLError as error:
            if error.errno != ssl.SSL_ERROR_WANT_WRITE:
                raise


def fill(connection: BufferedSocket) -> None:
    """Send until the socket takes no more."""
    while True:
        connection.send(b"x" * 10_000)


class TestReading:
    def test_data_received_together_needs_one_system_call(
        self, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, far = ends
        far.sendall(b"headbody-of-the-answer")
        assert read_as_kazoo_does(near, 4) == b"head"
        far.close()
        assert near.is_ready()
        assert near.pending() == len(b"body-of-the-answer")
        assert read_as_kazoo_does(near, 18) == b"body-of-the-answer"
        assert not near.is_ready()

    def test_no_data_before_it_arrives(self, ends: tuple[BufferedSocket, socket.socket]) -> None:
        near, far = ends
        assert near.pending() == 0
        assert select_ready([near], [], [], 0.01) == ((), (), ())
        far.sendall(b"x")
        assert select_ready([near], [], [], LONG_SECONDS) == ([near], (), ())
        assert near.recv(1) == b"x"

    def test_end_of_stream_follows_all_data(self, ends: tuple[BufferedSocket, socket.socket]) -> None:
        near, far = ends
        far.sendall(b"last")
        far.close()
        assert read_as_kazoo_does(near, 4) == b"last"
        assert near.pending() == 1
        assert near.recv(4) == b""
        assert read_as_kazoo_does(near, 4) == b""

    def test_broken_connection_raises(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = BufferedSocket(socket.create_connection(server.getsockname()))
            far = server.accept()[0]
        with closing(near):
            # So that closing resets the connection.
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            far.close()
            with pytest.raises(ConnectionResetError):
                near.pending()

    def test_more_data_than_the_buffer_arrives_complete_and_in_order(
        self, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, far = ends
        sizes = [4, 70_000, 4, 300_000, 1, 65_536, 4, 131_072]
        data = os.urandom(sum(sizes))
        sender = threading.Thread(target=far.sendall, args=(data,))
        sender.start()
        read = [read_as_kazoo_does(near, size) for size in sizes]
        sender.join()
        assert [len(each) for each in read] == sizes
        assert b"".join(read) == data


class TestWriting:
    def test_data_above_the_capacity_waits_for_space(
        self, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, far = ends
        data = os.urandom(8_000_000)
        received: list[bytes] = []

        def receive() -> None:
            while sum(map(len, received)) < len(data):
                received.append(far.recv(100_000))

        receiver = threading.Thread(target=receive)
        receiver.start()
        write_as_kazoo_does(near, data)
        receiver.join()
        assert b"".join(received) == data

    def test_full_socket_has_no_space_until_data_is_read(
        self, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, far = ends
        with pytest.raises(ssl.SSLWantWriteError):
            fill(near)
        assert select_ready([], [near], [], 0.01) == ((), (), ())
        while select_ready([], [near], [], 0) == ((), (), ()):
            far.recv(1_000_000)
        assert near.send(b"x") == 1


class TestBell:
    def test_each_byte_is_received_once(self, wake_up: WakeUpPipe) -> None:
        assert wake_up.send(b"\0") == 1
        assert wake_up.send(b"\0") == 1
        assert wake_up.is_ready()
        assert [wake_up.recv(1), wake_up.recv(1)] == [b"\0", b"\0"]
        assert not wake_up.is_ready()
        with pytest.raises(BlockingIOError):
            wake_up.recv(1)

    def test_sent_byte_wakes_the_waiting_thread(
        self, wake_up: WakeUpPipe, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, _far = ends
        later = threading.Timer(0.2, wake_up.send, [b"\0"])
        later.start()
        assert select_ready([near, wake_up], [], [], LONG_SECONDS) == ([wake_up], (), ())
        later.join()

    def test_received_byte_does_not_wake_forever(
        self, wake_up: WakeUpPipe, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        """Sent while the thread was about to end its wait, and received before it waits again."""
        near, far = ends
        wake_up._is_awaited = True
        wake_up.send(b"\0")
        wake_up.recv(1)
        begin = time.monotonic()
        assert select_ready([near, wake_up], [], [], 0.2) == ([], (), ())
        assert time.monotonic() - begin >= 0.2
        wake_up._is_awaited = True
        wake_up.send(b"\0")
        wake_up.recv(1)
        later = threading.Timer(0.2, far.sendall, [b"x"])
        later.start()
        assert select_ready([near, wake_up], [], [], LONG_SECONDS) == ([near], (), ())
        later.join()

    def test_socket_and_pipe_are_reported_together(
        self, wake_up: WakeUpPipe, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        near, far = ends
        far.sendall(b"xy")
        assert read_as_kazoo_does(near, 1) == b"x"
        wake_up.send(b"\0")
        assert select_ready([near, wake_up], [], [], LONG_SECONDS) == ([near, wake_up], (), ())

    def test_no_byte_of_many_threads_is_lost(
        self, wake_up: WakeUpPipe, ends: tuple[BufferedSocket, socket.socket]
    ) -> None:
        """A lost byte would keep the reader waiting until the opposite end is closed."""
        near, far = ends
        each, threads = 2_000, 4
        deadline = threading.Timer(LONG_SECONDS, far.close)
        deadline.start()
        senders = [threading.Thread(target=self._send, args=(wake_up, each)) for _thread in range(threads)]
        for sender in senders:
            sender.start()
        for _byte in range(each * threads):
            ready, _writers, _others = select_ready([near, wake_up], [], [], LONG_SECONDS)
            assert ready == [wake_up]
            wake_up.recv(1)
        deadline.cancel()
        for sender in senders:
            sender.join()
        assert not wake_up.is_ready()

    def test_send_never_blocks(self, wake_up: WakeUpPipe, ends: tuple[BufferedSocket, socket.socket]) -> None:
        """The thread does not receive while it searches for a server."""
        wake_up._is_awaited = True
        for _byte in range(100_000):
            wake_up.send(b"\0")
        assert select_ready([ends[0], wake_up], [], [], 0)[0] == [wake_up]

    def test_send_after_close_is_an_error(self, wake_up: WakeUpPipe) -> None:
        """Otherwise a caller would wait for the answer to an unsent request."""
        wake_up.close()
        with pytest.raises(OSError, match="closed"):
            wake_up.send(b"\0")
        wake_up.close()

    @staticmethod
    def _send(wake_up: WakeUpPipe, times: int) -> None:
        for _byte in range(times):
            wake_up.send(b"\0")


class TestReply:
    def test_an_answer(self) -> None:
        reply = PendingReply(int)
        assert not reply.wait(0.0)
        reply.set("answer")
        assert reply.wait(0.0)
        assert reply.wait(0.0)
        assert (reply.value, reply.exception) == ("answer", None)

    def test_an_error(self) -> None:
        reply, error = PendingReply(int), ValueError("lost")
        reply.set_exception(error)
        assert reply.wait(0.0)
        assert (reply.value, reply.exception) == (None, error)

    def test_reply_wakes_all_waiting_threads(self) -> None:
        reply = PendingReply(int)
        replies: list[bool] = []
        waiting = [
            threading.Thread(target=lambda: replies.append(reply.wait(LONG_SECONDS))) for _thread in range(8)
        ]
        for thread in waiting:
            thread.start()
        reply.set()
        for thread in waiting:
            thread.join()
        assert replies == [True] * 8
