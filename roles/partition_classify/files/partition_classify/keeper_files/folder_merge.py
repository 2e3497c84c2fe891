# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts together the folders of more znodes than fit into memory: writes runs to a file, and merges them."""

from __future__ import annotations

import heapq
import os
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import attrgetter
from typing import IO

from .folder_run import FolderPart

# Sizes of key, record of the znode itself, names and records; number of names, and of children by the stat.
_HEADER = struct.Struct(">IIIQIi")
_BLOCK_BYTES = 64 << 10
_BETWEEN_NAMES = b"\0"


class StoredPart:
    """A `FolderPart` in a file. Names and records are read when they are needed."""

    def __init__(self, run: _StoredRun, at: int, header: bytes) -> None:
        key_size, own_size, names_size, records_size, *numbers = _HEADER.unpack(header)
        self._run = run
        self._names_at = at + key_size + own_size
        self._names_size, self._records_size = names_size, records_size
        self.key = run.read(at, key_size)
        self.own = run.read(at + key_size, own_size)
        self.number: int = numbers[0]
        self.children: int = numbers[1]

    @property
    def end(self) -> int:
        """The offset after the part."""
        return int(self._names_at + self._names_size + self._records_size)

    @property
    def names(self) -> list[bytes]:
        """The names of the children."""
        # A name is never empty.
        names = self._run.read(self._names_at, self._names_size)
        return names.split(_BETWEEN_NAMES) if names else []

    def joined_records(self) -> bytes:
        """Return the records of children without children in one piece."""
        return self._run.read(self._names_at + self._names_size, self._records_size)


class FolderFile:
    """A file with runs."""

    def __init__(self, file: IO[bytes]) -> None:
        """Set up a file without runs. ``file``: empty, and open to write and read."""
        self._file = file
        self._starts = [0]

    def write(self, parts: Iterable[FolderPart]) -> None:
        """Write a run: parts in the order of their keys. Raises OSError."""
        pieces, waiting, size = [], 0, 0
        for key, own, children, names, records in parts:
            all_names, all_records = _BETWEEN_NAMES.join(names), b"".join(records)
            sizes = len(key), len(own), len(all_names), len(all_records)
            pieces += [_HEADER.pack(*sizes, len(names), children), key, own, all_names, all_records]
            waiting += sum(sizes)
            if waiting > _BLOCK_BYTES:
                size += self._file.write(b"".join(pieces))
                pieces, waiting = [], 0
        self._starts.append(self._starts[-1] + size + self._file.write(b"".join(pieces)))

    def merged(self, last: Iterable[FolderPart]) -> Iterator[list[FolderPart | StoredPart]]:
        """Yield the parts of each folder, in the order of the keys. ``last``: the run that is in memory.

        Memory: a block of 64 KiB for each run. Raises OSError.
        """
        self._file.flush()
        runs = [_StoredRun(self._file.fileno(), start, end).parts() for start, end in pairwise(self._starts)]
        every: Iterator[FolderPart | StoredPart] = heapq.merge(*runs, last, key=attrgetter("key"))
        for _key, parts in groupby(every, attrgetter("key")):
            yield list(parts)


class _StoredRun:
    """A run in the file, read a block at a time."""

    def __init__(self, file: int, start: int, end: int) -> None:
        self._file = file
        self._start, self._end = start, end
        self._block, self._block_at = b"", start

    def parts(self) -> Iterator[StoredPart]:
        at = self._start
        while at < self._end:
            part = StoredPart(self, at + _HEADER.size, self.read(at, _HEADER.size))
            at = part.end
            yield part

    def read(self, at: int, size: int) -> bytes:
        """Return bytes of the file."""
        if size > _BLOCK_BYTES:
            return os.pread(self._file, size, at)
        begin = at - self._block_at
        if begin < 0 or begin + size > len(self._block):
            self._block, self._block_at, begin = os.pread(self._file, _BLOCK_BYTES, at), at, 0
        return self._block[begin : begin + size]
