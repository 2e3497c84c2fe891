# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A complete snapshot of Keeper: header, znodes, sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..zookeeper_files.damage import unreadable
from .chunks import Chunk, chunk_stream, read_chunks
from .content import Compression, compression_of, opened_stream
from .damage import damaged
from .fields import FieldReader
from .folder_run import FolderRun
from .header import read_end, read_header
from .znodes import ZnodeReader


class KeeperScan:
    """One sequential scan of a snapshot. Damage raises DamagedFile, at the end at the latest."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        compression = compression_of(file, path)
        self._chunks = read_chunks(file, path) if compression is Compression.CHUNKED else ()
        if self._chunks:
            self._fields = self._chunk(self._chunks[0])
        else:
            self._fields = FieldReader(opened_stream(file, path, compression), path)
        self.header = read_header(self._fields)
        """The beginning of the snapshot."""
        self.znodes = self._number_of_znodes()
        """Number of znodes that the snapshot claims to have."""

    def read_into(self, run: FolderRun) -> Iterator[int]:
        """Read all znodes into the run, then verify the end of the file. Yield the number of each batch.

        The caller may clear the run between batches.
        """
        if not self._chunks:
            yield from ZnodeReader(self._fields, self.header).read_into(run, self.znodes)
            read_end(self._fields, self.header.version)
            return
        for chunk in self._chunks[1:-1]:
            fields = self._chunk(chunk)
            yield from ZnodeReader(fields, self.header).read_into(run, chunk.znodes)
            self._check_ended(fields, chunk)
        read_end(self._chunk(self._chunks[-1]), self.header.version)

    def _number_of_znodes(self) -> int:
        if not self._chunks:
            return self._fields.number()
        znodes = sum(each.znodes for each in self._chunks)
        # The number before the znodes, which the other form has, may be present here, too.
        if not self._fields.is_at_end():
            number = self._fields.number()
            if number != znodes:
                raise damaged(
                    self._path, None, f"the header counts {number} znodes, the chunks have {znodes}"
                )
        self._check_ended(self._fields, self._chunks[0])
        return znodes

    def _check_ended(self, fields: FieldReader, chunk: Chunk) -> None:
        if not fields.is_at_end():
            raise damaged(
                self._path,
                None,
                f"the chunk at byte {chunk.offset} has more content than {chunk.znodes} znodes",
            )

    def _chunk(self, chunk: Chunk) -> FieldReader:
        return FieldReader(chunk_stream(self._file, self._path, chunk), self._path)


@contextmanager
def open_snapshot(path: Path) -> Iterator[KeeperScan]:
    """Open a snapshot for one sequential scan.

    Raises EnsembleError when the file cannot be opened, DamagedFile when it does not begin as a snapshot.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        yield KeeperScan(file, path)
