# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that read znodes, and their answers, as bytes.

ClickHouse Keeper answers as ZooKeeper does, except for a znode of a multiRead that cannot be read: ZooKeeper
gives the type -1 and the code twice, Keeper the type of the read and the code once (ClickHouse#58747). An
answer with other types, or with missing or additional bytes, is refused with MARSHALLING_ERROR: what was read
until then may be shifted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from .._partmove.tree.znodes import Stat, Znode
from .wire import (
    END,
    ERROR,
    HEADER,
    HEADER_INT,
    INT,
    MARSHALLING_ERROR,
    NO_NODE,
    NO_WATCH,
    STAT,
    Answer,
    Refuse,
    Request,
    string,
    wire_path,
)

_GET_DATA, _GET_CHILDREN, _MULTI_READ = 4, 8, 22
# Attribute lookups done once, for decoding millions of znodes.
_unpack_int, _INT_SIZE = INT.unpack_from, INT.size
_unpack_stat, _STAT_SIZE = STAT.unpack_from, STAT.size
# Creates a named tuple in half the time of a class call.
_tuple = tuple.__new__


class _Malformed(ValueError):
    """An answer in another form than that of the protocol."""


_NOT_UNDERSTOOD = (struct.error, UnicodeDecodeError, _Malformed)

Found = TypeVar("Found")


@dataclass(frozen=True)
class ReadKind(Generic[Found]):
    """Kind of read: the operation type, and the decoder of one result."""

    type: int
    take: Callable[[str, bytes, int], tuple[Found, int]]


class ReadSection(NamedTuple):
    """Consecutive reads of one kind."""

    kind: ReadKind[Any]
    paths: Sequence[str]


class SectionResult(NamedTuple):
    """Results of one section."""

    kind: ReadKind[Any]
    found: list[Any]
    """One result for each path, in order; None for a missing znode."""
    size: int
    """Bytes of the section in the answer."""


class ReadRequest(Request):
    """Reads one or more paths."""

    sections: Sequence[ReadSection]

    @property
    def paths(self) -> int:
        """Number of paths to read."""
        return sum(len(section.paths) for section in self.sections)

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """Return one result for each section of the request."""
        raise NotImplementedError


class MultiRead(ReadRequest):
    """Reads many paths in one request, in order; ZooKeeper 3.6 and later."""

    type = _MULTI_READ

    def __init__(self, chroot: str, sections: Sequence[ReadSection]) -> None:
        self.sections = sections
        chunks: list[bytes] = []
        for kind, paths in sections:
            for path in paths:
                name = wire_path(chroot, path)
                chunks += (HEADER_INT.pack(kind.type, 0, -1, len(name)), name, NO_WATCH)
        chunks.append(END)
        super().__init__(b"".join(chunks))

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """Return one result for each section of the request."""
        packet, offset, error = answer
        path = self.sections[0].paths[0] if self.paths else "/"
        if error:
            refuse(path, error)
        sections: list[SectionResult] = []
        try:
            for kind, paths in self.sections:
                found, end = _take_all(kind, paths, packet, offset, refuse)
                sections.append(SectionResult(kind, found, end - offset))
                offset = end
        except _NOT_UNDERSTOOD:
            refuse(path, MARSHALLING_ERROR)
        if packet[offset:] != END:
            refuse(path, MARSHALLING_ERROR)
        return sections


class SingleRead(ReadRequest):
    """Reads one path, for servers without MultiRead."""

    def __init__(self, kind: ReadKind[Any], chroot: str, path: str) -> None:
        super().__init__(string(wire_path(chroot, path)) + NO_WATCH)
        self.sections = (ReadSection(kind, (path,)),)
        self.type = kind.type

    def decode(self, answer: Answer, refuse: Refuse) -> list[SectionResult]:
        """Return the result of the path."""
        ((kind, (path,)),) = self.sections
        if answer.error == NO_NODE:
            return [SectionResult(kind, [None], len(answer.packet))]
        if answer.error:
            refuse(path, answer.error)
        try:
            found, end = kind.take(path, answer.packet, answer.offset)
        except _NOT_UNDERSTOOD:
            refuse(path, MARSHALLING_ERROR)
        if end != len(answer.packet):
            refuse(path, MARSHALLING_ERROR)
        return [SectionResult(kind, [found], len(answer.packet))]


def _take_all(
    kind: ReadKind[Any], paths: Sequence[str], packet: bytes, offset: int, refuse: Refuse
) -> tuple[list[Any], int]:
    """Decode the multiRead results of the paths from the offset on; return results and end offset."""
    take, wanted = kind.take, kind.type
    results: list[Any] = []
    # Attribute lookups done once, outside of a loop over hundreds of thousands of znodes.
    unpack, header, with_code = HEADER.unpack_from, HEADER.size, HEADER_INT.size
    for path in paths:
        result, done, code = unpack(packet, offset)
        if result == wanted and not code and not done:
            found, offset = take(path, packet, offset + header)
            results.append(found)
            continue
        if result == ERROR and not done:
            (code,) = _unpack_int(packet, offset + header)
            offset += with_code
        elif result == wanted and not done:
            offset += header
        else:
            raise _Malformed
        if code != NO_NODE:
            refuse(path, code)
        results.append(None)
    return results, offset


def _take_data(path: str, packet: bytes, offset: int) -> tuple[Znode, int]:
    (size,) = _unpack_int(packet, offset)
    begin = offset + _INT_SIZE
    if size < -1:
        raise _Malformed
    # Znodes created without data have the size -1.
    end = begin + size if size > 0 else begin
    stat = _tuple(Stat, _unpack_stat(packet, end))
    return _tuple(Znode, (path, packet[begin:end], stat)), end + _STAT_SIZE


def _take_children(_path: str, packet: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    unpack, width = _unpack_int, _INT_SIZE
    (count,) = unpack(packet, offset)
    if count < 0:
        raise _Malformed
    offset += width
    names: list[str] = []
    for _each in range(count):
        begin = offset + width
        (size,) = unpack(packet, offset)
        offset = begin + size
        if size < 0 or offset > len(packet):
            raise _Malformed
        names.append(packet[begin:offset].decode())
    if count > 1:
        names.sort()
    return tuple(names), offset


DATA: ReadKind[Znode] = ReadKind(_GET_DATA, _take_data)
CHILDREN: ReadKind[tuple[str, ...]] = ReadKind(_GET_CHILDREN, _take_children)
