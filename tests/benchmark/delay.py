# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that are far away: a gateway that holds each packet for some time, and the flow is as fast."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 64 * 1024


@contextmanager
def delayed(target: str, seconds: float) -> Iterator[str]:
    """Give an address that leads to ``host:port``; what goes there or comes back arrives so much later."""
    gateway = _Gateway(target, seconds)
    thread = threading.Thread(target=gateway.run, daemon=True)
    thread.start()
    try:
        yield gateway.address()
    finally:
        gateway.stop()
        thread.join()


class _Gateway:
    def __init__(self, target: str, seconds: float) -> None:
        host, _colon, port = target.rpartition(":")
        self._target = host, int(port)
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._ended = asyncio.Event()
        self._port = 0

    def run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    def address(self) -> str:
        self._listening.wait()
        return f"127.0.0.1:{self._port}"

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._ended.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._target)
        ways = self._pass_on(reader, back), self._pass_on(there, writer)
        await asyncio.gather(*ways, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Write each chunk when its time has come, in order."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while True:
                due, chunk = await chunks.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                if not chunk:
                    return
                writer.write(chunk)
                await writer.drain()

        writing = asyncio.ensure_future(write())
        try:
            chunk = b"more"
            while chunk:
                chunk = await reader.read(_CHUNK)
                chunks.put_nowait((self._loop.time() + self._seconds, chunk))
            await writing
        finally:
            writing.cancel()
            with suppress(OSError):
                writer.close()
