# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gives parts to replicas that fetch them, as the interserver port of a ClickHouse server does.

The engine asks others for parts, but has no HTTP server to answer them. The protocol, DataPartsExchange, has
versions: this is one that knows all that a part on a local disk may have.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import parse_qs, urlsplit

from support.servers.modern.city_hash import hash_of_file
from support.servers.modern.engine import Engine, QueryFailed, quoted

_PROTOCOL_VERSION = 7
"""With UUIDs and projections; what came later is not needed."""

_ENDPOINT = "DataPartsExchange:"
_PROJECTION = ".proj"
_NO_TTL = b"ttl format version: 1\n{}"


class NoSuchPart(Exception):
    """This replica cannot give the part away; the text is for the log of the one that asked."""


class Part(NamedTuple):
    """A part on disk: its folder, its type such as Compact, and its UUID, of zeros if it has none."""

    folder: Path
    kind: str
    uuid: str


PartFinder = Callable[[str, str], Part]
"""Finds a part by the path of the replica in ZooKeeper and its own name, also one that is outdated.

Raises NoSuchPart or QueryFailed.
"""


class PartsExchange(ThreadingHTTPServer):
    """Listens on 127.0.0.1; each fetch has a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, find: PartFinder) -> None:
        """Begin to listen."""
        self.find = find
        super().__init__(("127.0.0.1", port), _Fetch)


class _Fetch(BaseHTTPRequestHandler):
    server: PartsExchange
    wbufsize = -1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        try:
            endpoint = given.get("endpoint", "")
            if not endpoint.startswith(_ENDPOINT) or "part" not in given:
                raise NoSuchPart(f"this server only answers {_ENDPOINT}, and was asked for {self.path}")
            if given.get("compress", "false") != "false":
                raise NoSuchPart("this server does not compress what it sends")
            part = self.server.find(endpoint.removeprefix(_ENDPOINT), given["part"])
            body = b"".join(_contents(part))
        except (NoSuchPart, QueryFailed, OSError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode())
        else:
            self._answer(HTTPStatus.OK, body)

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", f"server_protocol_version={_PROTOCOL_VERSION}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the parent class
        """Say nothing: the replica that fetches logs it."""


def parts_of(engine: Engine) -> PartFinder:
    """Find parts by the system tables of the engine."""

    def find(replica: str, name: str) -> Part:
        found = engine.run(
            "SELECT path, part_type, uuid FROM system.parts WHERE (database, table) IN ("
            f"SELECT database, table FROM system.replicas WHERE replica_path = {quoted(replica)})"
            f" AND name = {quoted(name)}",
            "JSONCompactEachRow",
        )
        if not found:
            raise NoSuchPart(f"no part {name} in {replica}")
        folder, kind, uuid = json.loads(found.splitlines()[0])
        return Part(Path(folder), kind, uuid)

    return find


def _contents(part: Part) -> Iterator[bytes]:
    """The answer to a fetch: what the part is, then the files of each projection, then its own."""
    with ExitStack() as stack:
        # All are opened first: the engine may delete a part at any time, but not what is open.
        files = _opened(part.folder, stack)
        projections = {
            folder.stem: _opened(folder, stack)
            for folder in sorted(part.folder.iterdir())
            if folder.suffix == _PROJECTION
        }
        each = [file for opened in (files, *projections.values()) for file in opened.values()]
        yield struct.pack("<Q", sum(os.fstat(file.fileno()).st_size for file in each))
        yield _prefixed(_ttl(part.folder))
        yield _prefixed(part.kind.encode())
        yield part.uuid.encode()
        yield struct.pack("<Q", len(projections))
        for name, opened in projections.items():
            yield _prefixed(name.encode())
            yield from _files(opened)
        yield from _files(files)


def _opened(folder: Path, stack: ExitStack) -> dict[str, BinaryIO]:
    files = sorted(path for path in folder.iterdir() if path.suffix != _PROJECTION)
    return {path.name: stack.enter_context(path.open("rb")) for path in files}


def _files(opened: Mapping[str, BinaryIO]) -> Iterator[bytes]:
    """How many there are, and each with its name, size, bytes and hash."""
    yield struct.pack("<Q", len(opened))
    for name, file in opened.items():
        content = file.read()
        yield _prefixed(name.encode())
        yield struct.pack("<Q", len(content))
        yield content
        yield struct.pack("<2Q", *hash_of_file(content))


def _ttl(folder: Path) -> bytes:
    file = folder / "ttl.txt"
    return file.read_bytes() if file.exists() else _NO_TTL


def _prefixed(data: bytes) -> bytes:
    """The bytes after their number, which has seven bits in each byte, the lowest first."""
    length, prefix = len(data), bytearray()
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    return bytes((*prefix, length)) + data
