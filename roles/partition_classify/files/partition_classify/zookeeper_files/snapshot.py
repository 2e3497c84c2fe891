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

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from .content import COMPRESSED, open_content
from .damage import READ_LIVE, DamagedFile
from .divided_scan import selected_by
from .empty_tree import EMPTY_TREE
from .log_records import DIGEST_VERSION
from .nodes import END, RecordReader, ZnodeRecord
from .selection import Selection

_MAGIC = b"ZKSN"
_VERSION = 2
_SEAL = 8 + 4 + len(END)
_SEAL_END = b"\0\0\0\1" + END
# Sizes of the trailers with seals: zxid, version and digest; zxid.
_DIGEST = 8 + 4 + 8 + _SEAL
_LAST_ZXID = 8 + _SEAL
# Length of a null list in ZooKeeper's format.
_NO_LIST = -1
# Far longer than any trailer.
_LONGEST_TRAILER = 4096
# What other files begin with, to name them.
_OTHER_MAGICS = {b"ZKLG": "a transaction log", b"\x28\xb5\x2f\xfd": "a zstd file, as of ClickHouse Keeper"}


class Comparison(NamedTuple):
    """What compares the records of a scan on their way."""

    compared: Callable[[Iterator[ZnodeRecord]], Iterator[ZnodeRecord]] = iter
    """Yields the records that it receives."""
    selection: Selection = Selection()
    """The records that have to be compared."""


_NO_COMPARISON = Comparison()


@contextmanager
def open_snapshot(path: Path, comparison: Comparison = _NO_COMPARISON) -> Iterator[SnapshotScan]:
    """Open a snapshot for one sequential scan. Raises EnsembleError when the file cannot be opened.

    comparison: receives the records on their way.
    """
    with ExitStack() as stack:
        content = stack.enter_context(open_content(path))
        yield SnapshotScan(RecordReader(content, path), path, comparison)


class SnapshotScan:
    """One sequential scan of a snapshot. Damage raises DamagedFile, at the end at the latest."""

    def __init__(self, reader: RecordReader, path: Path, comparison: Comparison = _NO_COMPARISON) -> None:
        self._reader = reader
        self._path = path
        self._comparison = comparison
        self.end_of_records = 0
        """Content offset of the end of the records; valid after reading all records."""
        self.newest_zxid = 0
        """Newest zxid of the trailers, 0 without trailers; valid after reading all records."""
        self.digest: tuple[int, int] | None = None
        """zxid and digest of the trailer with the digest; valid after reading all records."""
        self.is_finished = False
        """Whether all records were read, and the file is complete."""

    def records(self) -> Iterator[ZnodeRecord]:
        """Yield every record: parents first, descendants directly after an ancestor; else unordered."""
        self._begin()
        yield from self._comparison.compared(self._reader.records())
        self._finish()

    def selected(
        self, endings: tuple[bytes, ...], part_every: int = 0, processes: int = 1
    ) -> Iterator[ZnodeRecord]:
        """Yield at least the records that `Selection` selects by ``endings`` and ``part_every``, in order.

        Reads and verifies the snapshot as `records` does, in half of the time.

        processes: divide a large file that is not compressed among so many processes, this one included.
        """
        self._begin()
        selection = replace(self._comparison.selection, endings=endings, part_every=part_every)
        if processes == 1 or self._path == EMPTY_TREE or self._path.suffix in COMPRESSED:
            records = self._reader.selected(selection)
        else:
            records = selected_by(processes, self._reader, self._path, selection)
        yield from self._comparison.compared(records)
        self._finish()

    def _begin(self) -> None:
        self._header()
        self._sessions()
        self._acls()

    def _finish(self) -> None:
        self.end_of_records = self._reader.offset - (4 + len(END))
        self._seal()
        self._trailers()
        self.is_finished = True

    def _header(self) -> None:
        magic = self._reader.take(len(_MAGIC))
        if magic != _MAGIC:
            other = _OTHER_MAGICS.get(magic)
            is_other = f", but {other}," if other else ""
            raise DamagedFile(self._path, 0, f"this is not a ZooKeeper snapshot{is_other}")
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
            raise self._unknown_trailer(offset)
        if left in {_DIGEST, _DIGEST + _LAST_ZXID}:
            zxid = self._newest()
            version, digest = self._reader.number(), int.from_bytes(self._reader.take(8), "big")
            self.digest = (zxid, digest) if version == DIGEST_VERSION and digest else None
            self._seal()
        if left in {_LAST_ZXID, _DIGEST + _LAST_ZXID}:
            self._newest()
            self._seal()

    def _newest(self) -> int:
        zxid = self._reader.number(8)
        self.newest_zxid = max(self.newest_zxid, zxid)
        return zxid

    def _unknown_trailer(self, offset: int) -> DamagedFile:
        """Return the error for bytes after the checksum. Trailers of any release end with an end marker."""
        rest = self._reader.take(self._reader.left(_LONGEST_TRAILER))
        if not rest.endswith(_SEAL_END):
            return DamagedFile(self._path, offset, "unknown data follows the checksum")
        return DamagedFile(
            self._path,
            offset,
            f"an unknown trailer of {len(rest)} bytes, as of a release after 3.9, follows the checksum",
            remedy=READ_LIVE,
        )
