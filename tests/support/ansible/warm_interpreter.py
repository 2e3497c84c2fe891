# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An interpreter for Ansible that has imported what modules import, which takes most of their time.

Ansible starts a client with what it has packed, in a file or on the standard input. That hands its streams,
folder and environment to a process that waits, a fork of which runs what was packed; its modules come from
there, apart from what was imported already. Tests of the packing use the interpreter itself. This file is the
program of the process that waits as well, on this machine and on the hosts of scenarios.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pkgutil
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TextIO

# It imports nothing that would take as long as what it is for saves.
_CLIENT = """\
#!{python} -IS
import posix, sys

packed = sys.argv[1] if len(sys.argv) == 2 else ""
if sys.argv[1:] and "/AnsiballZ_" not in packed:
    posix.execv({python!r}, [{python!r}, *sys.argv[1:]])

import _socket

streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server = _socket.socket(_socket.AF_UNIX)
try:
    server.connect({address!r})
except OSError:
    posix.execv({python!r}, [{python!r}, *sys.argv[1:]])
server.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
environment = [name + b"=" + value for name, value in posix.environ.items()]
server.sendall(b"\\0".join([packed.encode(), posix.getcwdb(), *environment]))
server.shutdown(_socket.SHUT_WR)
posix._exit(int(server.recv(16) or 1))
"""
_READ = 1 << 16


@cache
def program(collections: Path) -> Path:
    """Return the path of the interpreter; it can be used until this process ends."""
    # The path of a socket has 107 bytes at most, and TMPDIR may be longer than that.
    folder = Path(tempfile.mkdtemp(prefix="interpreter-", dir="/tmp"))
    address, client = folder / "socket", folder / "python3"
    client.write_text(client_text(sys.executable, str(address)))
    client.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        # It ignores no signal, even where the tests do, such as SIGINT in the background of a shell.
        command = [
            "env",
            "--default-signal",
            sys.executable,
            __file__,
            str(listener.fileno()),
            str(collections),
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])
    atexit.register(_end, process, folder)
    return client


def client_text(python: str, address: str) -> str:
    """Return the program that Ansible starts instead of ``python``; it is ``python`` where nobody listens."""
    return _CLIENT.format(python=python, address=address)


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(folder)


def _serve(listener: socket.socket, *ending: TextIO) -> None:
    """Let a fork see to each that connects, until what is ``ending`` ends."""
    awaited: list[socket.socket | TextIO] = [listener, *ending]
    while listener in select.select(awaited, [], [])[0]:
        client, _address = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(client)
            return
        client.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _answer(client: socket.socket) -> None:
    """Run what the client was started with in one more fork, and tell its status when that is known."""
    _dot, streams, _flags, _address = socket.recv_fds(client, 1, 3)
    request = b"".join(iter(lambda: client.recv(_READ), b""))
    child = os.fork()
    if child:
        for each in streams:
            os.close(each)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        client.sendall(str(status if status >= 0 else 128 - status).encode())
        os._exit(0)
    client.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    packed, folder, *environment = map(os.fsdecode, request.split(b"\0"))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(dict(each.split("=", 1) for each in environment))
    tempfile.tempdir = None  # That of the environment.
    sys.argv = [packed]
    if packed:
        sys.path[0] = str(Path(packed).parent)
        runpy.run_path(packed, run_name="__main__")
    else:
        _run_input()


def _run_input() -> None:
    """Run the program on the standard input, as Python itself does."""
    with open(0, "rb", closefd=False) as stream:
        source = stream.read()
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.path[0] = ""
    exec(compile(source, "<stdin>", "exec"), main.__dict__)


def _import_ansible() -> None:
    for name in ("basic", "urls", "_internal._ansiballz._loader"):
        with suppress(ImportError):
            importlib.import_module(f"ansible.module_utils.{name}")


def _import_tasks(collections: str) -> None:
    sys.path.insert(1, collections)
    tasks = importlib.import_module("ansible_collections.olap.partmove.plugins.module_utils._tasks")
    for found in pkgutil.iter_modules(tasks.__path__):
        importlib.import_module(f"{tasks.__name__}.{found.name}")
    sys.path.remove(collections)


def _serve_host(address: str) -> None:
    """Listen until the host ends, for root alone. What is of the collection comes packed from Ansible."""
    _import_ansible()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        os.umask(0o077)
        listener.bind(address)
        os.umask(0o022)
        listener.listen(64)
        _serve(listener)


def _serve_machine(listener: int, collections: str) -> None:
    """Listen until the standard input ends."""
    _import_ansible()
    _import_tasks(collections)
    # Else each fork would look through, and so copy, all of it when it ends.
    gc.freeze()
    _serve(socket.socket(fileno=listener), sys.stdin)


if __name__ == "__main__":
    # Not beside this file.
    sys.path[0] = ""
    if sys.argv[1].startswith("/"):
        _serve_host(sys.argv[1])
    else:
        _serve_machine(int(sys.argv[1]), sys.argv[2])
