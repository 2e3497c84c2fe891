# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The decoders of what ZooKeeper and ClickHouse Keeper answer."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.read_requests import (
    CHILDREN,
    DATA,
    MultiRead,
    ReadKind,
    ReadSection,
    SingleRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    NO_NODE,
    Answer,
    MultiWrite,
)

from .target import Target

_END = struct.pack("!iBi", -1, 1, -1)
_STAT = struct.pack("!qqqqiiiqiiq", *range(11))
_DATA = struct.pack("!i", 3) + b"abc" + _STAT
_NAMES = struct.pack("!ii", 2, 1) + b"b" + struct.pack("!i", 2) + b"aa"
_OF_ZOOKEEPER = struct.pack("!iBii", -1, 0, NO_NODE, NO_NODE)
_ASKED = [ReadSection(DATA, ["/a", "/b"]), ReadSection(CHILDREN, ["/c", "/d"])]


def _ok(kind: int, body: bytes) -> bytes:
    return struct.pack("!iBi", kind, 0, 0) + body


def _of_keeper(kind: int) -> bytes:
    return struct.pack("!iBi", kind, 0, NO_NODE)


_READS = [
    _ok(4, _DATA) + _OF_ZOOKEEPER + _ok(8, _NAMES) + _OF_ZOOKEEPER + _END,
    _of_keeper(4) + _ok(4, _DATA) + _of_keeper(8) + _ok(8, _NAMES) + _END,
]
_WRITES = [
    _ok(1, struct.pack("!i", 2) + b"/a") + _ok(5, _STAT) + _ok(2, b"") + _ok(13, b"") + _END,
    struct.pack("!iBii", -1, 0, 0, 0) + struct.pack("!iBii", -1, 0, -110, -110) + _END,
]


def wire_targets() -> list[Target]:
    """Every decoder of an answer."""
    return [
        Target("answer to a multiRead", _READS, _read_many, EnsembleError),
        Target("answer to a read of data", [_DATA], _single(DATA), EnsembleError),
        Target("answer to a read of children", [_NAMES], _single(CHILDREN), EnsembleError),
        Target("answer to a multi", _WRITES, _write, EnsembleError),
    ]


def _refuse(path: str, code: int) -> NoReturn:
    raise EnsembleError(f"error {code} for {path}", remedy="See the server")


def _read_many(data: bytes) -> object:
    return MultiRead("", _ASKED).decode(Answer(data, 0), _refuse)


def _single(kind: ReadKind[Any]) -> Callable[[bytes], object]:
    return lambda data: SingleRead(kind, "", "/a").decode(Answer(data, 0), _refuse)


def _write(data: bytes) -> object:
    request = MultiWrite(b"", lambda: True)
    request.serialize()
    return request.decode(Answer(data, 0))
