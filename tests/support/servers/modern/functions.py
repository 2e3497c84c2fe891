# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The functions of the engine that take it for no server, and how they are changed in memory.

A ClickHouse server is told when it starts where other replicas find it. Nobody tells an engine inside another
process, so its replicated tables stay read-only. Nor does it have the system tables about ZooKeeper. `search`
says how the functions are found.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from pathlib import Path
from typing import NamedTuple

_CREDENTIALS_BYTES = 1024
"""More than an object of credentials has; all zero, it has neither user nor password."""

_PAGE = mmap.PAGESIZE


class FunctionsNotFound(Exception):
    """The library is built otherwise than the one that this is for."""


class Function(NamedTuple):
    """A function: its distance from the beginning of the loaded library, and the bytes up to the next one."""

    start: int
    size: int


class Functions(NamedTuple):
    """Three neighbours among the methods of Context, and an instruction of attachSystemTablesServer.

    credentials: getInterserverCredentials gives a shared_ptr, in two registers.
    address: getInterserverIOAddress gives a pair of a string and a port.
    scheme: getInterserverScheme gives a string.
    has_zookeeper: the instruction that keeps the argument of this name for later, `KEEPS_HAS_ZOOKEEPER`.
    """

    credentials: Function
    address: Function
    scheme: Function
    has_zookeeper: Function


KEEPS_HAS_ZOOKEEPER = b"\x41\x89\xcc"
"""Machine code: r12d is the fourth argument."""
_HAS_ZOOKEEPER = b"\x41\xb4\x01"
"""Machine code: the last byte of r12d is 1."""


def replace_functions(library: Path, functions: Functions, host: str, port: int) -> None:
    """Let other replicas find this process at `host`, a short name or address, and `port`, with plain HTTP.

    The library is loaded, and nothing of it was called yet.

    Raises:
        FunctionsNotFound: a function is too small for what replaces it.
    """
    base = _loaded_at(library)
    _write(base, functions.credentials, give_zeros())
    _write(base, functions.address, give_string(host, port))
    _write(base, functions.scheme, give_string("http"))
    _write(base, functions.has_zookeeper, _HAS_ZOOKEEPER)


def overwrite(start: int, code: bytes) -> None:
    """Put other machine code at an address of this process."""
    page = start & -_PAGE
    size = start + len(code) - page
    _protect(page, size, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    ctypes.memmove(start, code, len(code))
    _protect(page, size, mmap.PROT_READ | mmap.PROT_EXEC)


_KEPT: list[object] = []
"""For as long as the process lives: what a function gives away is never given back."""


def give_zeros() -> bytes:
    """Machine code: rax points to credentials of nobody, rdx, where the control block would be, is zero."""
    nothing = ctypes.create_string_buffer(_CREDENTIALS_BYTES)
    _KEPT.append(nothing)
    return b"\x48\xb8" + struct.pack("<Q", ctypes.addressof(nothing)) + b"\x31\xd2\xc3"


def give_string(text: str, port: int | None = None) -> bytes:
    """Machine code: fill in the string that rdi points to, and the port after it, and give rdi back.

    The characters are in the string itself, up to 22; its last byte is their number.
    """
    characters = text.encode()
    if len(characters) > 22:
        raise ValueError(f"{text} is longer than a string without memory of its own")
    words = struct.unpack("<3Q", characters.ljust(23, b"\0") + bytes([len(characters)]))
    code = b"".join(
        b"\x48\xb8" + struct.pack("<Q", word) + b"\x48\x89\x47" + bytes([8 * number])
        for number, word in enumerate(words)
    )
    if port is not None:
        code += b"\x66\xc7\x47\x18" + struct.pack("<H", port)
    return code + b"\x48\x89\xf8\xc3"


def _loaded_at(library: Path) -> int:
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, _rights, offset, _device, _inode, *path = line.split(maxsplit=5)
        if path == [str(library)] and int(offset, 16) == 0:
            return int(place.partition("-")[0], 16)
    raise FunctionsNotFound(f"{library} is not loaded into this process")


def _write(base: int, function: Function, code: bytes) -> None:
    if len(code) > function.size:
        raise FunctionsNotFound(
            f"the function at {function.start:#x} has {function.size} bytes, not {len(code)}"
        )
    overwrite(base + function.start, code)


def _protect(page: int, size: int, rights: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(size), rights):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
