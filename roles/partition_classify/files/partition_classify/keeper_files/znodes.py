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

from ..zookeeper_files.damage import DamagedFile
from .damage import damaged
from .fields import FieldReader
from .folder_run import ROOT, FolderRun, is_no_path
from .header import SnapshotHeader, skip_acl

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
_ROOT_PATH = b"/"
# The stat as in a snapshot of ZooKeeper, behind an ACL id that nothing uses.
_STAT = struct.Struct(">qqqqiiiqq")
_NO_ACL = bytes(8)
_INT = struct.Struct(">i")
_LENGTHS = tuple(map(_INT.pack, range(1 << 12)))
# A table of `bytes.translate`.
_TABLE_BYTES = 256
_MOST_AT_ONCE = 10_000


class ZnodeReader:
    """Reads the znodes of one stream of a snapshot, as records of a snapshot of ZooKeeper."""

    def __init__(self, fields: FieldReader, header: SnapshotHeader) -> None:
        self._fields = fields
        self._version = header.version
        self._zxid = header.zxid
        self._tail = tail = struct.Struct(_TAILS[header.version])
        self._may_have_ttl = header.version >= _FIRST_WITH_TTL
        # Each byte of the stat is a byte of the fields after the data. Numbered bytes show which.
        *stat, children, pzxid = tail.unpack(bytes(range(tail.size)))
        self._order = _STAT.pack(*stat, pzxid)
        mzxid_at, children_at, pzxid_at = (number & 0xFF for number in (stat[1], children, pzxid))
        self._checked = struct.Struct(
            f"<{mzxid_at}xq{children_at - mzxid_at - 8}xi{pzxid_at - children_at - 4}xq"
        )

    def read_into(self, run: FolderRun, number: int) -> Iterator[int]:
        """Read the next ``number`` znodes into the run. Yield the number of each batch that was read.

        Signs of damage are an invalid path, a change after the last transaction of the snapshot, and a znode
        with children that is present twice. Raises DamagedFile.
        """
        while number:
            before = self._fields.offset
            read = self._buffered(run, min(number, _MOST_AT_ONCE))
            if read < number:
                self._next(run)
                read += 1
            run.count(read, self._fields.offset - before)
            number -= read
            yield read

    def _buffered(self, run: FolderRun, most: int) -> int:
        """Read the next znodes that are whole in the buffer, up to one of an unusual form."""
        # Runs for each znode of an ensemble: local names, and calls into C only.
        fields, newest, may_have_ttl = self._fields, self._zxid, self._may_have_ttl
        unpack, tail, translate = self._checked.unpack_from, self._tail.size, self._order.translate
        buffer, at = fields.buffer, fields.at
        folders, join, lengths, long = run.folders, b"".join, _LENGTHS, len(_LENGTHS)
        # Before this position, neither a length nor what follows the data reaches over the end of the buffer.
        last = len(buffer) - _TABLE_BYTES if self._version else 0
        read = 0
        while read < most and at < last:
            path_at, length = at + 1, buffer[at]
            if length > 0x7F:
                length += (buffer[path_at] << 7) - 0x80
                path_at += 1
            size_at = path_at + length
            if size_at >= last or length >= long:
                break
            data_at, size = size_at + 1, buffer[size_at]
            if size > 0x7F:
                size += (buffer[data_at] << 7) - 0x80
                data_at += 1
            end = data_at + size
            if end > last or size >= long:
                break
            path = buffer[path_at:size_at]
            parent, _slash, name = path.rpartition(b"/")
            mzxid, children, pzxid = unpack(buffer, end)
            folder = folders.get(parent) or run.folder(parent)
            if folder is None or not name or 0 in name or mzxid > newest or pzxid > newest:
                break
            data, stat = buffer[data_at:end], translate(buffer[end : end + _TABLE_BYTES])
            record = join((lengths[length], path, lengths[size], data, _NO_ACL, stat))
            if children:
                if not run.add_parent(path, record, children):
                    raise self._present_twice(path)
            else:
                folder[1].append(record)
            folder[0].append(name)
            at, read = end + tail, read + 1
            if may_have_ttl:
                at += 1 + _TTL_BYTES if buffer[at] else 1
        fields.at = at
        return read

    def _next(self, run: FolderRun) -> None:
        """Read one znode of any form."""
        fields = self._fields
        start = fields.offset
        path, data = fields.text(), fields.text()
        if not self._version:
            skip_acl(fields)
        *stat, children, pzxid = self._tail.unpack(fields.take(self._tail.size))
        if self._may_have_ttl and fields.number(1):
            fields.take(_TTL_BYTES)
        if path != _ROOT_PATH and is_no_path(path):
            raise damaged(fields.path, start, f"{path!r} is no path of a znode")
        newest = max(stat[1], pzxid)
        if newest > self._zxid:
            raise damaged(
                fields.path,
                start,
                f"{path.decode(errors='backslashreplace')} was changed by transaction 0x{newest:x}, but the"
                f" last one of the snapshot is 0x{self._zxid:x},",
            )
        path = ROOT if path == _ROOT_PATH else path
        stored = _NO_ACL + _STAT.pack(*stat, pzxid)
        record = b"".join([_INT.pack(len(path)), path, _INT.pack(len(data)), data, stored])
        if not run.add(path, record, children):
            raise self._present_twice(path or _ROOT_PATH)

    def _present_twice(self, path: bytes) -> DamagedFile:
        shown = path.decode(errors="backslashreplace")
        return damaged(self._fields.path, None, f"the znode {shown} is present twice")
