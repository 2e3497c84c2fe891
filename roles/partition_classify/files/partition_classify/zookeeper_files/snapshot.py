# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole snapshot, with everything that tells whether it is complete.

In front of the records are a header, the sessions, and the ACLs. After them come an Adler-32 seal and two
trailers that a server may leave out, each sealed again: a digest of the tree (3.6 and later) and the last
transaction that the tree has (3.9 and later). All begin with the transaction they were made at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .content import open_content
from .damage import DamagedFile
from .nodes import END, NodeReader, Record

_MAGIC = b"ZKSN"
_VERSION = 2
_SEAL = 8 + 4 + len(END)
# Sizes with their seals: transaction, version and digest; transaction.
_DIGEST = 8 + 4 + 8 + _SEAL
_LAST_ZXID = 8 + _SEAL
# ZooKeeper's own word for a list that is not there.
_NO_LIST = -1


@contextmanager
def open_snapshot(path: Path) -> Iterator[SnapshotScan]:
    """The snapshot, to be read once from front to back. Raises EnsembleError when it cannot be opened."""
    with ExitStack() as stack:
        content = stack.enter_context(open_content(path))
        yield SnapshotScan(NodeReader(content, path), path)


class SnapshotScan:
    """Goes over a snapshot once; a snapshot that is damaged raises DamagedFile at the latest at its end."""

    def __init__(self, reader: NodeReader, path: Path) -> None:
        self._reader = reader
        self._path = path
        self.end_of_records = 0
        """The byte of the content at which the records end; known once all of them were read."""
        self.newest_zxid = 0
        """The newest transaction that the trailers tell of; known once all records were read."""

    def records(self) -> Iterator[Record]:
        """Every znode, parents first, what is below a znode directly after it, in no order else."""
        self._header()
        self._sessions()
        self._acls()
        yield from self._reader.records()
        self.end_of_records = self._reader.offset - (4 + len(END))
        self._seal()
        self._trailers()

    def _header(self) -> None:
        if self._reader.take(len(_MAGIC)) != _MAGIC:
            raise DamagedFile(self._path, 0, "this is no snapshot of ZooKeeper")
        version = self._reader.number()
        if version != _VERSION:
            raise DamagedFile(self._path, 4, f"the format version is {version}, known is {_VERSION}")
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
        """Read the trailers. Which of the two there are shows only in how much is left."""
        offset, left = self._reader.offset, self._reader.left(_DIGEST + _LAST_ZXID + 1)
        if left not in {0, _DIGEST, _LAST_ZXID, _DIGEST + _LAST_ZXID}:
            raise DamagedFile(self._path, offset, "something follows the checksum that is not known")
        if left in {_DIGEST, _DIGEST + _LAST_ZXID}:
            self._newest()
            self._reader.take(4 + 8)
            self._seal()
        if left in {_LAST_ZXID, _DIGEST + _LAST_ZXID}:
            self._newest()
            self._seal()

    def _newest(self) -> None:
        self.newest_zxid = max(self.newest_zxid, self._reader.number(8))
