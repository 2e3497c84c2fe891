# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ansible-playbook in forks of a process that has imported Ansible: half of the work of a short run.

What Ansible imports reads its settings. So there is one such process for each environment and folder that
runs are started in, made when the first of these comes. A run is a process of its own, with the streams, the
folder, the environment and the arguments of the client that it was started as; the client ends as the run
does, and the run is ended where the client was killed. No garbage is looked for among what was imported, as
the process of each task would copy that. This file is the program of the process that waits as well, and
loads with every Python that Ansible does.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

# It imports nothing that would take as long as what it is for saves.
_CLIENT = """\
#!{python} -IS
import posix, sys

import _socket

server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
arguments = [each.encode(sys.getfilesystemencoding(), "surrogateescape") for each in sys.argv]
environment = [name + b"=" + value for name, value in posix.environ.items()]
counted = str(len(arguments)).encode()
server.sendall(b"\\0".join([counted, *arguments, posix.getcwdb(), *environment]))
server.shutdown(_socket.SHUT_WR)
status = int(server.recv(16) or 1)
if status < 0:
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""
CONFIG = Path(__file__).with_name("quick.cfg")
"""What a run is configured with whose environment does not say."""
_READ = 1 << 16
_MOST = 1 << 20
"""Bytes of a request; more than an environment has."""
_GARBAGE = 50_000
"""Objects that are made before garbage is looked for; 700 by default, more than a hundred times in a run."""
_KEPT = 4
"""Processes that wait; of runs that had one environment after the other, the oldest are given up."""
_OF_ONE_RUN = ("PYTEST_CURRENT_TEST", "TMPDIR", "_")
"""Variables that nothing reads while Ansible is imported."""
# What a run loads besides, in any case.
_PLUGINS = (
    "callback.default",
    "connection.local",
    "shell.sh",
    "strategy.linear",
    "action.normal",
    "inventory.auto",
    "inventory.host_list",
    "inventory.yaml",
    "vars.host_group_vars",
    "filter.core",
    "filter.mathstuff",
    "filter.urls",
    "filter.urlsplit",
    "filter.encryption",
    "test.core",
    "test.files",
    "test.mathstuff",
    "test.uri",
)


class _Request(NamedTuple):
    """What a client was started with."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]

    @property
    def settings(self) -> tuple[str, frozenset[tuple[str, str]], bytes]:
        """All that Ansible may read while it is imported; the file with settings may be written anew."""
        lasting = {name: value for name, value in self.environment.items() if name not in _OF_ONE_RUN}
        config = Path(self.folder, self.environment["ANSIBLE_CONFIG"])
        return self.folder, frozenset(lasting.items()), config.read_bytes() if config.is_file() else b""


def client_text(python: str, address: str) -> str:
    """Return the program that stands for ansible-playbook, for the process that listens at the address."""
    return _CLIENT.format(python=python, address=address)


def serve(listener: socket.socket, packed: str) -> None:
    """Hand each client to the process for its environment, until the standard input ends."""
    waiting: dict[object, socket.socket] = {}
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        client, _address = listener.accept()
        _dot, streams, _flags, _address = socket.recv_fds(client, 1, 3)
        asked = _received(client)
        request = _parsed(asked)
        channel = waiting.pop(request.settings, None)
        if channel is None:
            if len(waiting) == _KEPT:
                waiting.pop(next(iter(waiting))).close()
            channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if os.fork() == 0:
                for each in (listener, client, channel, *waiting.values()):
                    each.close()
                for stream in streams:
                    os.close(stream)
                _Waiting(other, request, packed).serve()
                os._exit(0)
            other.close()
        waiting[request.settings] = channel
        socket.send_fds(channel, [asked], [client.fileno(), *streams])
        client.close()
        for stream in streams:
            os.close(stream)
    for channel in waiting.values():
        channel.close()
    with suppress(ChildProcessError):
        while os.wait():
            pass


def _received(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(_READ), b""))


def _parsed(asked: bytes) -> _Request:
    counted, *others = map(os.fsdecode, asked.split(b"\0"))
    count = int(counted)
    environment = {"ANSIBLE_CONFIG": str(CONFIG)}
    environment |= dict(each.split("=", 1) for each in others[count + 1 :])
    return _Request(others[:count], others[count], environment)


class _Waiting:
    """A process that has imported Ansible with the settings of its first request, and runs that go on."""

    def __init__(self, channel: socket.socket, first: _Request, packed: str) -> None:
        _become(first)
        self._local = _import_ansible()
        self._packed = packed
        self._channel = channel
        self._clients: dict[int, tuple[int, socket.socket]] = {}
        """Descriptor of a client → process of the run, and the client."""
        self._ended: dict[int, int] = {}
        """Descriptor that tells of the end of a run → that of the client."""
        self._events = select.poll()

    def serve(self) -> None:
        """Begin runs, and tell their clients how they ended, until no more can come."""
        self._events.register(self._channel, select.POLLIN)
        while True:
            number, _event = self._events.poll()[0]
            if number in self._ended:
                self._tell_end(number)
            elif number in self._clients:
                # It was killed.
                self._events.unregister(number)
                os.kill(self._clients[number][0], signal.SIGTERM)
            elif not self._begin():
                return

    def _begin(self) -> bool:
        asked, given, _flags, _address = socket.recv_fds(self._channel, _MOST, 4)
        if not asked:
            return False
        client, *streams = given
        child = os.fork()
        if child == 0:
            os.close(client)
            self._channel.close()
            for target, stream in enumerate(streams):
                os.dup2(stream, target)
                os.close(stream)
            _run(_parsed(asked), self._packed, self._local)
        for stream in streams:
            os.close(stream)
        end = os.pidfd_open(child)
        self._ended[end] = client
        self._clients[client] = child, socket.socket(fileno=client)
        self._events.register(end, select.POLLIN)
        # That it hangs up is told in any case.
        self._events.register(client, 0)
        return True

    def _tell_end(self, number: int) -> None:
        child, client = self._clients.pop(self._ended.pop(number))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for each in (number, client.fileno()):
            with suppress(KeyError):
                self._events.unregister(each)
        os.close(number)
        with suppress(OSError):
            client.sendall(str(status).encode())
        client.close()


def _become(request: _Request) -> None:
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    tempfile.tempdir = None  # That of the environment.
    sys.argv = list(request.arguments)


def _import_ansible() -> Path:
    """Import what a run does, look for no garbage in it, and return the folder of folders for local files."""
    gc.disable()
    # It is the program's own folder there, where nothing is to be imported.
    del sys.path[0]
    importlib.import_module("ansible.cli.playbook")
    for name in _PLUGINS:
        importlib.import_module(f"ansible.plugins.{name}")
    constants = importlib.import_module("ansible.constants")
    cleanup = importlib.import_module("ansible.utils.path").cleanup_tmp_file
    # Each run has a folder of its own, as the process of a run has otherwise.
    atexit.unregister(cleanup)
    cleanup(constants.DEFAULT_LOCAL_TMP)
    gc.freeze()
    return Path(constants.DEFAULT_LOCAL_TMP).parent


def _run(request: _Request, packed: str, local: Path) -> NoReturn:
    """Be ansible-playbook, which finds what other runs have packed, and leaves there what it packs."""
    _become(request)
    constants = importlib.import_module("ansible.constants")
    cleanup = importlib.import_module("ansible.utils.path").cleanup_tmp_file
    local.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=local)
    vars(constants)["DEFAULT_LOCAL_TMP"] = folder
    atexit.register(cleanup, folder, warn=True)
    Path(packed).mkdir(parents=True, exist_ok=True)
    # Ansible removes its folder at the end, and of this the link.
    Path(folder, "ansiballz_cache").symlink_to(packed)
    gc.set_threshold(_GARBAGE)
    gc.enable()
    sys.exit(importlib.import_module("ansible.cli.playbook").main())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
