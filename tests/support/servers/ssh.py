# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that Ansible reaches over SSH: this one, by a server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncssh

_SECONDS = 30.0
_CHUNK = 1 << 16


class SshServer:
    """Lets the holder of one key run commands and copy files as the user that runs the tests."""

    def __init__(self) -> None:
        """Make the keys, in a folder that nobody else may read."""
        # Of a short name: the sockets of ssh are in it.
        self._files = tempfile.TemporaryDirectory(prefix="ssh-")
        self._folder = Path(self._files.name)
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        client_key = asyncssh.generate_private_key("ssh-ed25519")
        self._key_file = self._folder / "key"
        client_key.write_private_key(str(self._key_file))
        self._key_file.chmod(0o600)
        self._clients = asyncssh.import_authorized_keys(client_key.export_public_key().decode())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncssh.SSHAcceptor | None = None
        self._connections: list[asyncssh.SSHServerConnection] = []
        self.commands: list[str] = []
        """All that clients had it run."""

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
        self._server = listening.result(_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all connections."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._files.cleanup()

    @property
    def variables(self) -> dict[str, Any]:
        """What Ansible has to know of the host."""
        if self._server is None:
            raise RuntimeError("the server does not listen")
        known = self._folder / "known_hosts"
        public = self._host_key.export_public_key().decode().strip()
        known.write_text(f"[127.0.0.1]:{self._server.get_port()} {public}\n")
        return {
            "ansible_connection": "ansible.builtin.ssh",
            "ansible_host": "127.0.0.1",
            "ansible_port": self._server.get_port(),
            "ansible_user": pwd.getpwuid(os.geteuid()).pw_name,
            "ansible_ssh_private_key_file": str(self._key_file),
            # Those of the user who runs the tests say nothing of this host.
            "ansible_ssh_common_args": f"-F /dev/null -o UserKnownHostsFile={known} -o IdentitiesOnly=yes",
            "ansible_control_path_dir": str(self._folder),
        }

    async def _listen(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._host_key],
            authorized_client_keys=self._clients,
            acceptor=self._connections.append,
            process_factory=self._run,
            encoding=None,
            line_editor=False,
            sftp_factory=True,
            allow_scp=True,
        )

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run a command as a login would, and hand its input and output through."""
        command = process.command or ""
        self.commands.append(command)
        child = await asyncio.create_subprocess_shell(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if child.stdin is None or child.stdout is None or child.stderr is None:
            raise RuntimeError("a pipe is missing")
        given = asyncio.create_task(_pump(process.stdin, child.stdin, end=True))
        await asyncio.gather(_pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr))
        process.exit(await child.wait())
        given.cancel()

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        # A client keeps its own for a minute, for commands that may come.
        for connection in self._connections:
            connection.abort()
            await connection.wait_closed()


async def _pump(source: Any, sink: Any, *, end: bool = False) -> None:
    """Hand on what comes until nothing more does; with ``end`` the other side is told so."""
    with suppress(ConnectionError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    if end:
        sink.close()
