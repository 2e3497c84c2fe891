# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fast loop over the unordered znodes of a snapshot of Keeper.

Layout of a znode, numbers little-endian: path, data, ACL id, stat, number of children, pzxid, counter of
sequential children. Further fields of some versions are skipped; see `_TAILS`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from .damage import damaged
from .fields import FieldReader
from .header import SnapshotHeader, skip_acl

SEPARATOR = b"\0\0"
"""Ends the key of an entry. A key has no empty name, so no second zero follows the first one."""

# czxid, mzxid, ctime, mtime; version, cversion, aversion; ephemeralOwner; number of children; pzxid.
_TO_VERSION_5 = "qqqqiiiq4xiq4x"
_TAILS = (
    "<x" + _TO_VERSION_5,
    *["<8xx" + _TO_VERSION_5] * 3,
    *["<8xx" + _TO_VERSION_5 + "8x"] * 2,
    "<8xqqqqiiiqiq4x",
    *["<4xqqqqiiiqiq8x"] * 3,
)
"""Fields after the data in each version of the format. Version 0 has an ACL list before these fields."""

_FIRST_WITH_TTL = 8
_TTL_BYTES = 8
_LONG_LENGTH = 1 << 14
_SLASH = ord("/")
_ROOT = b"/"
_STAT = struct.Struct(">8xqqqqiiiqqi")
"""ACL id and stat as in a snapshot of ZooKeeper, and the number of children."""


class ZnodeEntry(NamedTuple):
    """A znode, unpacked.

    key: the path, with a zero byte for each slash; empty for the root. Keys sort as a tree is walked: what is
        below a znode directly follows the znode.
    stored: ACL id and stat as in a snapshot of ZooKeeper.
    """

    key: bytes
    children: int
    stored: bytes
    data: bytes

    @classmethod
    def unpacked(cls, entry: bytes) -> ZnodeEntry:
        """Unpack an entry of `ZnodeReader`."""
        key, _separator, rest = entry.partition(SEPARATOR)
        stored, data = rest[: _STAT.size - 4], rest[_STAT.size :]
        return cls(key, int.from_bytes(rest[_STAT.size - 4 : _STAT.size], "big", signed=True), stored, data)


class ZnodeReader:
    """Reads the znodes of one stream of a snapshot as packed entries, which sort by their key."""

    def __init__(self, fields: FieldReader, header: SnapshotHeader) -> None:
        self._fields = fields
        self._version = header.version
        self._zxid = header.zxid
        self._tail = struct.Struct(_TAILS[header.version])
        self._may_have_ttl = header.version >= _FIRST_WITH_TTL

    def entries(self, number: int) -> Iterator[bytes]:
        """Yield the next ``number`` znodes. Raises DamagedFile.

        Signs of damage are an invalid path, and a change after the last transaction of the snapshot.
        """
        while number:
            buffered = self._buffered(number)
            yield from buffered
            number -= len(buffered)
            if number:
                yield self._next()
                number -= 1

    def _buffered(self, most: int) -> list[bytes]:
        """Take the next znodes that are whole in the buffer, up to one with a long path or long data."""
        # Runs for each znode of an ensemble: local names, calls into C only, one object kept.
        fields, newest, may_have_ttl = self._fields, self._zxid, self._may_have_ttl
        unpack, tail, pack = self._tail.unpack_from, self._tail.size, _STAT.pack
        buffer, at = fields.buffer, fields.at
        # Before this position, neither a length nor what follows the data reaches over the end of the buffer.
        last = len(buffer) - tail - 1 - _TTL_BYTES if self._version else 0
        found: list[bytes] = []
        for _znode in range(most):
            if at >= last:
                break
            path_at, length = at + 1, buffer[at]
            if length > 0x7F:
                length += (buffer[path_at] << 7) - 0x80
                path_at += 1
            size_at = path_at + length
            if size_at >= last or length >= _LONG_LENGTH:
                break
            data_at, size = size_at + 1, buffer[size_at]
            if size > 0x7F:
                size += (buffer[data_at] << 7) - 0x80
                data_at += 1
            end = data_at + size
            if end > last or size >= _LONG_LENGTH:
                break
            path = buffer[path_at:size_at]
            *stat, children, pzxid = unpack(buffer, end)
            if _is_no_path(path) or stat[1] > newest or pzxid > newest:
                break
            at = end + tail
            if may_have_ttl:
                at += 1 + _TTL_BYTES if buffer[at] else 1
            key = path.replace(b"/", b"\0")
            found.append(b"%b\0\0%b%b" % (key, pack(*stat, pzxid, children), buffer[data_at:end]))
        fields.at = at
        return found

    def _next(self) -> bytes:
        """Take one znode of any form."""
        fields = self._fields
        start = fields.offset
        path, data = fields.text(), fields.text()
        if not self._version:
            skip_acl(fields)
        *stat, children, pzxid = self._tail.unpack(fields.take(self._tail.size))
        if self._may_have_ttl and fields.number(1):
            fields.take(_TTL_BYTES)
        if path != _ROOT and _is_no_path(path):
            raise damaged(fields.path, start, f"{path!r} is no path of a znode")
        newest = max(stat[1], pzxid)
        if newest > self._zxid:
            raise damaged(
                fields.path,
                start,
                f"{path.decode(errors='backslashreplace')} was changed by transaction 0x{newest:x}, but the"
                f" last one of the snapshot is 0x{self._zxid:x},",
            )
        key = b"" if path == _ROOT else path.replace(b"/", b"\0")
        return b"%b\0\0%b%b" % (key, _STAT.pack(*stat, pzxid, children), data)


def _is_no_path(path: bytes) -> bool:
    return path[:1] != b"/" or path[-1] == _SLASH or b"//" in path or b"\0" in path
