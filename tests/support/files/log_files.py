# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes transaction logs as ZooKeeper 3.4 to 3.9 do, one record for each call."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CREATE, DELETE, SET_DATA, SET_ACL, CHECK, MULTI = 1, 2, 5, 7, 13, 14
CREATE2, RECONFIG, CREATE_CONTAINER, DELETE_CONTAINER, CREATE_TTL = 15, 16, 19, 20, 21
CREATE_SESSION, CLOSE_SESSION, ERROR = -10, -11, -1
HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
TIME = 1_763_500_000_000
"""Of the transaction with the zxid 0; each later one is a second later."""

_ACL = struct.pack(">ii", 1, 31) + b"\0\0\0\x05world" + b"\0\0\0\x06anyone"


@dataclass
class LogWriter:
    """The content of a log file that begins with the transaction ``zxid``.

    digest: each record ends with a digest of the tree, as from 3.6 on.
    tree: that digest.
    session: whose transactions these are, unless told otherwise.
    """

    zxid: int
    digest: bool = False
    session: int = 0x100
    tree: int = 12345
    content: bytearray = field(default_factory=lambda: bytearray(HEADER))

    def add(self, kind: int, body: bytes = b"", *, session: int | None = None) -> int:
        """Append a record; returns the offset where it begins."""
        offset = len(self.content)
        header = struct.pack(
            ">qiqqi",
            self.session if session is None else session,
            0,
            self.zxid,
            TIME + 1000 * self.zxid,
            kind,
        )
        record = header + body + (struct.pack(">iq", 2, self.tree) if self.digest else b"")
        self.content += struct.pack(">qi", zlib.adler32(record), len(record)) + record + b"B"
        self.zxid += 1
        return offset

    def write(self, data_dir: Path, padding: int = 100, *, first: int | None = None) -> Path:
        """Write it into a data folder, with zeros at its end; ``first`` names it, else its first record."""
        folder = data_dir / "version-2"
        folder.mkdir(parents=True, exist_ok=True)
        if first is None:
            first = struct.unpack_from(">q", self.content, len(HEADER) + 12 + 12)[0]
        path = folder / f"log.{first:x}"
        path.write_bytes(bytes(self.content) + bytes(padding))
        return path


def create(path: str, data: bytes = b"", *, ephemeral: bool = False) -> bytes:
    """What a record of type CREATE or CREATE2 has, and an operation of a multi."""
    return _text(path.encode()) + _text(data) + _ACL + struct.pack(">?i", ephemeral, 1)


def create_before_3_4(path: str, data: bytes = b"") -> bytes:
    """Of type CREATE, as a server of 3.3 wrote it."""
    return create(path, data)[:-4]


def create_session(timeout: int = 30_000) -> bytes:
    """Of type CREATE_SESSION; milliseconds."""
    return struct.pack(">i", timeout)


def create_container(path: str, data: bytes = b"") -> bytes:
    """Of type CREATE_CONTAINER."""
    return _text(path.encode()) + _text(data) + _ACL + struct.pack(">i", 1)


def create_ttl(path: str, data: bytes, ttl: int) -> bytes:
    """Of type CREATE_TTL; milliseconds."""
    return create_container(path, data) + struct.pack(">q", ttl)


def delete(path: str) -> bytes:
    """Of type DELETE or DELETE_CONTAINER."""
    return _text(path.encode())


def set_data(path: str, data: bytes, version: int) -> bytes:
    """Of type SET_DATA; the version is the new one."""
    return _text(path.encode()) + _text(data) + struct.pack(">i", version)


def set_acl(path: str, aversion: int) -> bytes:
    """Of type SET_ACL; the version is the new one."""
    return _text(path.encode()) + _ACL + struct.pack(">i", aversion)


def close_session(paths: Sequence[str]) -> bytes:
    """Of type CLOSE_SESSION, from 3.6 on; before, it has nothing."""
    return struct.pack(">i", len(paths)) + b"".join(_text(path.encode()) for path in paths)


def multi(operations: Sequence[tuple[int, bytes]]) -> bytes:
    """Of type MULTI: type and content of each operation."""
    return struct.pack(">i", len(operations)) + b"".join(
        struct.pack(">i", kind) + _text(body) for kind, body in operations
    )


def error(code: int = -101) -> bytes:
    """Of type ERROR."""
    return struct.pack(">i", code)


def _text(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
