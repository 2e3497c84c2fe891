# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A complete snapshot, with verification of its integrity.

Layout:

1. Header, sessions and ACLs.
2. Znode records.
3. A seal: Adler-32 checksum and end marker.
4. Two optional trailers, each with a seal: digest of the tree (3.6 and later); last zxid (3.9 and later).

Each trailer starts with the zxid at which it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .content import open_content
from .damage import DamagedFile
from .nodes import END, RecordReader, ZnodeRecord

_MAGIC = b"ZKSN"
_VERSION = 2
_SEAL = 8 + 4 + len(END)
# Sizes of the trailers with seals: zxid, version and digest; zxid.
_DIGEST = 8 + 4 + 8 + _SEAL
_LAST_ZXID = 8 + _SEAL
# Length of a null list in ZooKeeper's format.
_NO_LIST = -1


@contextmanager
def open_snapshot(path: Path) -> Iterator[SnapshotScan]:
    """Open a snapshot for one sequential scan. Raises EnsembleError when the file cannot be opened."""
    with ExitStack() as stack:
        content = stack.enter_context(open_content(path))
        yield SnapshotScan(RecordReader(content, path), path)


class SnapshotScan:
    """One sequential scan of a snapshot. Damage raises DamagedFile, at the end at the latest."""

    def __init__(self, reader: RecordReader, path: Path) -> None:
        self._reader = reader
        self._path = path
        self.end_of_records = 0
        """Content offset of the end of the records; valid after reading all records."""
        self.newest_zxid = 0
        """Newest zxid of the trailers; valid after reading all records."""

    def records(self) -> Iterator[ZnodeRecord]:
        """Yield every record: parents first, descendants directly after an ancestor; else unordered."""
        self._header()
        self._sessions()
        self._acls()
        yield from self._reader.records()
        self.end_of_records = self._reader.offset - (4 + len(END))
        self._seal()
        self._trailers()

    def _header(self) -> None:
        if self._reader.take(len(_MAGIC)) != _MAGIC:
            raise DamagedFile(self._path, 0, "this is not a ZooKeeper snapshot")
        version = self._reader.number()
        if version != _VERSION:
            raise DamagedFile(self._path, 4, f"the format version is {version}, expected {_VERSION}")
        self._reader.number(8)

    def _sessions(self) -> None:
        for _session in range(self._count("sessions")):
            self._reader.take(8 + 4)

    def _acls(self) -> None:
        for _list in range(self._count("ACL lists")):
            self._reader.number(8)
            for _entry in range(self._count("entries of an ACL list")):
                self._reader.number()
                self._reader.text()
                self._reader.text()

    def _count(self, what: str) -> int:
        offset, count = self._reader.offset, self._reader.number()
        if count < _NO_LIST:
            raise DamagedFile(self._path, offset, f"there are {count} {what}")
        return max(count, 0)

    def _seal(self) -> None:
        offset, expected = self._reader.offset, self._reader.checksum
        if self._reader.number(8) != expected or self._reader.text() != END:
            raise DamagedFile(self._path, offset, "the content is corrupt: it does not match its checksum")

    def _trailers(self) -> None:
        """Read the trailers, identified by the number of remaining bytes only."""
        offset, left = self._reader.offset, self._reader.left(_DIGEST + _LAST_ZXID + 1)
        if left not in {0, _DIGEST, _LAST_ZXID, _DIGEST + _LAST_ZXID}:
            raise DamagedFile(self._path, offset, "unknown data follows the checksum")
        if left in {_DIGEST, _DIGEST + _LAST_ZXID}:
            self._newest()
            self._reader.take(4 + 8)
            self._seal()
        if left in {_LAST_ZXID, _DIGEST + _LAST_ZXID}:
            self._newest()
            self._seal()

    def _newest(self) -> None:
        self.newest_zxid = max(self.newest_zxid, self._reader.number(8))
