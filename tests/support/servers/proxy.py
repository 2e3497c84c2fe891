# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proxy in front of one ZooKeeper member that breaks connections at chosen moments."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

from support.servers.ports import ReservedPorts

MULTI = 14
WRITES = frozenset({1, 2, 5, 7, 13, MULTI, 15, 19, 20, 21})
"""Operation codes of create, delete, setData, setACL, check, multi, create2, container and TTL nodes."""
LISTS = frozenset({8, 12})
"""Those of getChildren and getChildren2."""

_INT = 4
_CALL_SECONDS = 60.0

Matches = Callable[[bytes], bool]


def operation(request: bytes) -> int:
    """Return the operation code of a request (xid, operation code, body)."""
    return int.from_bytes(request[_INT : 2 * _INT], "big", signed=True)


def writes(text: bytes) -> Matches:
    """Match requests that write and whose bytes (paths and data) contain `text`."""
    return lambda request: operation(request) in WRITES and text in request


class Action(Enum):
    """What happens to the request that a trap matches."""

    HOLD = "forwarded only after release()"
    LOSE_REQUEST = "never forwarded; its connection is cut"
    HOLD_REPLY = "forwarded; the reply is handed back only after release()"
    LOSE_REPLY = "forwarded; its connection is cut instead of handing back the reply"


class Trap:
    """Waits for the first matching request, acts once, and is gone then."""

    def __init__(self, matches: Matches, action: Action) -> None:
        """Describe the trap; `ZooKeeperProxy.trap` sets it."""
        self.matches = matches
        self.action = action
        self._sprung = threading.Event()
        self._released = threading.Event()

    def wait(self, seconds: float) -> None:
        """Wait until the action has happened (for HOLD: until the request is being held back; so the reply).

        Raises:
            TimeoutError: no request matched in time.
        """
        if not self._sprung.wait(seconds):
            raise TimeoutError(f"no request sprang the trap ({self.action.value}) within {seconds:g} s")

    @property
    def sprung(self) -> bool:
        """Whether the action has happened."""
        return self._sprung.is_set()

    def release(self) -> None:
        """Let a held request, or reply, go on."""
        self._released.set()

    def spring(self) -> None:
        """Note that the action has happened."""
        self._sprung.set()

    async def held(self) -> None:
        """Return when what is held may go on."""
        while not self._released.is_set():
            await asyncio.sleep(0.005)


@dataclass(eq=False)
class _Link:
    """One client's connection and its way to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    awaiting: Trap | None = None
    """A trap whose action is about a reply, and the request that it answers."""
    awaited_xid: bytes = field(default=b"")

    def abort(self) -> None:
        self.client.close()
        # A plain close sends what was forwarded before it: the server still gets those requests.
        self.server.close()


class ZooKeeperProxy:
    """Forwards the ZooKeeper client protocol and four-letter commands from `address` to `target`; not TLS.

    It passes everything on until `cut`, `pause`, `slow`, `drop_replies` or a trap says otherwise;
    `restore` leads back to that state from every other.
    """

    def __init__(self, target: str, *, answers_words: bool = True) -> None:
        """Remember `target` (host:port) and reserve a port. `answers_words`: forward four-letter commands."""
        self._answers_words = answers_words
        host, _colon, port = target.rpartition(":")
        self._target = (host, int(port))
        self._reserved = ReservedPorts()
        self._port = self._reserved.take()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._traps: list[Trap] = []
        self._passing = asyncio.Event()
        self._passing.set()
        self._accepting = True
        self._replying = True
        self._hidden = b""
        self._seconds = 0.0

    def __enter__(self) -> Self:
        """Start to listen."""
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop all connections and stop to listen."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_SECONDS)
        self._loop.close()
        self._reserved.release()

    @property
    def address(self) -> str:
        """Where clients connect, as 127.0.0.1:port."""
        return f"127.0.0.1:{self._port}"

    def disconnect(self) -> None:
        """Drop all connections; clients may connect again at once."""
        self._run(self._set(disconnect=True))

    def cut(self) -> None:
        """Drop all connections and every new one."""
        self._run(self._set(accepting=False, disconnect=True))

    def pause(self) -> None:
        """Hold back everything in both directions; connections stay open."""
        self._run(self._set(passing=False))

    def slow(self, seconds: float) -> None:
        """Let each reply of a connection take so long, one after the other."""
        self._seconds = seconds

    def drop_replies(self) -> None:
        """Forward requests and swallow all that the server answers; follow it with `cut` or `restore`."""
        self._run(self._set(replying=False))

    def restore(self) -> None:
        """Pass everything on again; a connection whose replies were swallowed is dropped."""
        self._seconds = 0.0
        self._run(self._set(passing=True, accepting=True, replying=True, disconnect=not self._replying))

    def hide(self, path: str) -> None:
        """From now on clients ask in vain for the znode: another name of the same length takes its place."""
        self._hidden = path.encode()

    def trap(self, matches: Matches, action: Action) -> Trap:
        """Set a trap for the first request from now on for which `matches` says yes."""
        trap = Trap(matches, action)
        self._run(self._add(trap))
        return trap

    def clear(self) -> None:
        """Take away the traps that nothing has sprung."""
        self._loop.call_soon_threadsafe(self._traps.clear)

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_CALL_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)

    async def _close(self) -> None:
        # asyncio leaves a connection open that is just being accepted when the server closes.
        while accepting := asyncio.all_tasks() - self._tasks - {asyncio.current_task()}:
            await asyncio.wait(accepting)
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Also those whose task never began, and those that still have something to send.
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _add(self, trap: Trap) -> None:
        self._traps.append(trap)

    async def _set(
        self,
        passing: bool | None = None,
        accepting: bool | None = None,
        replying: bool | None = None,
        disconnect: bool = False,
    ) -> None:
        if accepting is not None:
            self._accepting = accepting
        if replying is not None:
            self._replying = replying
        if disconnect:
            for link in self._links:
                link.abort()
        if passing is not None:
            (self._passing.set if passing else self._passing.clear)()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._begin(self._serve(reader, writer))

    def _begin(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._accepting:
                await self._forward(await reader.readexactly(_INT), reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The member is down, or the proxy is being closed: the client sees a closed connection.
            pass
        finally:
            writer.close()

    async def _forward(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward a connection that begins with these bytes: a four-letter command, or a size."""
        from_server, to_server = await asyncio.open_connection(*self._target)
        self._writers.add(to_server)
        if first.isalpha():
            await self._passing.wait()
            if self._answers_words:
                to_server.write(first)
                writer.write(await from_server.read(-1))
            return
        link = _Link(writer, to_server)
        self._links.add(link)
        ways = [
            self._begin(self._requests(first, reader, link)),
            self._begin(self._replies(from_server, link)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(link)
            link.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _requests(self, size: bytes, reader: asyncio.StreamReader, link: _Link) -> None:
        handshake = await reader.readexactly(int.from_bytes(size, "big"))
        await self._passing.wait()
        await _send(link.server, handshake)
        async for frame in _frames(reader):
            await self._passing.wait()
            trap = self._matching(frame)
            if trap is not None and trap.action is Action.LOSE_REQUEST:
                trap.spring()
                return
            if trap is not None and trap.action is Action.HOLD:
                trap.spring()
                await trap.held()
            if trap is not None and trap.action in {Action.HOLD_REPLY, Action.LOSE_REPLY}:
                link.awaiting, link.awaited_xid = trap, frame[:_INT]
            await _send(link.server, self._with_hidden(frame))

    def _with_hidden(self, frame: bytes) -> bytes:
        return frame.replace(self._hidden, self._hidden[:-1] + b"_") if self._hidden else frame

    async def _replies(self, reader: asyncio.StreamReader, link: _Link) -> None:
        async for frame in _frames(reader):
            await self._passing.wait()
            await asyncio.sleep(self._seconds)
            trap = link.awaiting
            if trap is not None and frame[:_INT] == link.awaited_xid:
                trap.spring()
                if trap.action is Action.LOSE_REPLY:
                    return
                await trap.held()
                link.awaiting = trap = None
            if self._replying and (trap is None or trap.action is Action.HOLD_REPLY):
                await _send(link.client, frame)

    def _matching(self, request: bytes) -> Trap | None:
        for trap in self._traps:
            if trap.matches(request):
                self._traps.remove(trap)
                return trap
        return None


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            length = int.from_bytes(await reader.readexactly(_INT), "big")
            yield await reader.readexactly(length)


async def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(_INT, "big") + frame)
    await writer.drain()
