# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sorts more entries than fit into memory: writes sorted runs to a file, and merges the runs."""

from __future__ import annotations

import heapq
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

RUN_BYTES = 64 << 20
"""Bytes of the entries of a run. A run takes twice the memory while it is sorted and written."""

_BLOCK_BYTES = 64 << 10
_OBJECT_BYTES = 48
_COUNT_BYTES = 4
_LENGTH = "I"


def sorted_entries(entries: Iterable[bytes], folder: Path, run_bytes: int = RUN_BYTES) -> Iterator[bytes]:
    """Yield the entries in ascending order.

    folder: for the temporary file, as large as all entries. The file has no name, so it disappears with the
        process. The entries of a single run need no file.
    run_bytes: memory for entries.

    Memory beside ``run_bytes``: a block of 64 KiB, or of the largest entry, for each run. Raises OSError.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        runs: list[_Run] = []
        pending: list[bytes] = []
        size = 0
        for entry in entries:
            pending.append(entry)
            size += len(entry) + _OBJECT_BYTES
            if size >= run_bytes:
                runs.append(_write_run(file, pending))
                pending, size = [], 0
        pending.sort()
        if not runs:
            yield from pending
            return
        file.flush()
        yield from heapq.merge(*(each.entries(file) for each in runs), pending)


class _Run:
    """A sorted run in the file: blocks of entries, the lengths in front of them."""

    def __init__(self, start: int, blocks: Sequence[int]) -> None:
        """Set up a run that starts at ``start`` in the file, of ``blocks`` of these sizes in bytes."""
        self._start = start
        self._blocks = array("Q", blocks)

    def entries(self, file: IO[bytes]) -> Iterator[bytes]:
        """Read the entries, a block at a time. Other runs may be read from the same file meanwhile."""
        at = self._start
        for size in self._blocks:
            file.seek(at)
            block = file.read(size)
            at += size
            begin = _COUNT_BYTES + int.from_bytes(block[:_COUNT_BYTES], "little") * array(_LENGTH).itemsize
            lengths = array(_LENGTH, block[_COUNT_BYTES:begin])
            for length in lengths:
                yield block[begin : begin + length]
                begin += length


def _write_run(file: IO[bytes], entries: list[bytes]) -> _Run:
    entries.sort()
    start = file.tell()
    mean = sum(map(len, entries)) // len(entries)
    count = max(1, _BLOCK_BYTES // max(mean, 1))
    blocks = []
    for first in range(0, len(entries), count):
        block = entries[first : first + count]
        lengths = array(_LENGTH, map(len, block))
        content = b"".join([len(block).to_bytes(_COUNT_BYTES, "little"), lengths.tobytes(), *block])
        file.write(content)
        blocks.append(len(content))
    return _Run(start, blocks)
