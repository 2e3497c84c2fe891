# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides the scan of one snapshot among processes.

The records of a snapshot have no index, so a range begins where a chain of records seems to begin. Such a
guess is only used if the range before it ends exactly there; otherwise that range is read on, as without
division. So records, checksum and errors are those of one process.
"""

from __future__ import annotations

import os
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import IO

from .damage import unreadable
from .nodes import RECORD_BYTES, RecordReader, ZnodeRecord
from .selection import Selection

BYTES_OF_A_PROCESS = 64 << 20
"""Below this size, starting a process takes as long as reading."""

# More processes read faster than most disks.
_MOST_PROCESSES = 8
_WINDOW_BYTES = 1 << 20
_INT = struct.Struct(">i")
_LIKE_A_PATH = re.compile(rb"\0[\0-\xff]{3}(?=/)")
_RECORDS_OF_A_CHAIN = 16
_LONGEST_PATH = 1 << 16
_ADLER_BASE = 65521
_BATCH = 1_000
_WORKER = f"from {__name__} import main; main()"


def selected_by(
    processes: int, reader: RecordReader, path: Path, selection: Selection, least: int | None = None
) -> Iterator[ZnodeRecord]:
    """Yield what ``reader.selected(selection)`` yields, and leave the reader at the same place.

    path: a snapshot that is not compressed; the reader is at its first record.
    least: bytes of a range, BYTES_OF_A_PROCESS by default.

    Starts up to ``processes`` - 1 processes. Their records go to temporary files without names.
    """
    starts = _starts(path, reader.offset, processes, BYTES_OF_A_PROCESS if least is None else least)
    with ExitStack() as stack:
        ranges = [
            stack.enter_context(_scanned(path, start, stop, selection))
            for start, stop in pairwise([*starts, sys.maxsize])
        ]
        for each in ranges:
            yield from reader.selected(selection, each.start)
            if reader.is_at_end or reader.offset != each.start:
                break
            file = each.records()
            if file is None:
                break
            yield from _unpickled(file)
            stop, length_sum, reader.is_at_end = pickle.load(file)
            checksum = _combined(reader.checksum, length_sum, stop - each.start)
            reader.skip_to(stop, checksum)
        if not reader.is_at_end:
            yield from reader.selected(selection)


def most_processes(tasks_at_once: int = 0) -> int:
    """Return the number of processes for a scan: as many as tasks may run at once; 0 for one on each core."""
    return min(tasks_at_once or os.cpu_count() or 1, _MOST_PROCESSES)


def main() -> None:
    """Scan a range, in a process of its own: the arguments are pickled on stdin, the result on stdout."""
    path, start, stop, selection = pickle.load(sys.stdin.buffer)
    out = sys.stdout.buffer
    with _opened(path) as file:
        file.seek(start)
        reader = RecordReader(file, path, start)
        records = reader.selected(selection, stop)
        while batch := list(islice(records, _BATCH)):
            pickle.dump(batch, out)
        pickle.dump([], out)
        pickle.dump((reader.offset, reader.checksum, reader.is_at_end), out)


@dataclass(frozen=True)
class _Range:
    """A range that another process scans."""

    start: int
    process: subprocess.Popen[bytes]
    result: IO[bytes]

    def records(self) -> IO[bytes] | None:
        """Wait for the process. Return the file with its result, None if it failed for any reason."""
        if self.process.wait():
            return None
        self.result.seek(0)
        return self.result


@contextmanager
def _scanned(path: Path, start: int, stop: int, selection: Selection) -> Iterator[_Range]:
    """Start the scan of a range. It ends with the block at the latest."""
    with (
        tempfile.TemporaryFile(prefix="partition_classify.") as given,
        tempfile.TemporaryFile(prefix="partition_classify.") as result,
    ):
        pickle.dump((path, start, stop, selection), given)
        given.seek(0)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # The range is read again after an error, and that reports it.
        process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=given,
            stdout=result,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            yield _Range(start, process, result)
        finally:
            process.kill()
            process.wait()


def _unpickled(file: IO[bytes]) -> Iterator[ZnodeRecord]:
    while batch := pickle.load(file):
        yield from batch


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def _starts(path: Path, first: int, processes: int, least: int) -> Sequence[int]:
    """Return where ranges after the first one seem to begin, ascending."""
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END) - first
        number = min(processes, size // least)
        found = (_start_after(file, first + size * each // number) for each in range(1, number))
        return sorted({each for each in found if each is not None})


def _start_after(file: IO[bytes], at: int) -> int | None:
    """Return the first offset from ``at`` on that begins a chain of records; None if there is none near."""
    file.seek(at)
    window = file.read(_WINDOW_BYTES)
    for match in _LIKE_A_PATH.finditer(window):
        if _begins_chain(window, match.start()):
            return at + match.start()
    return None


def _begins_chain(window: bytes, at: int) -> bool:
    for _record in range(_RECORDS_OF_A_CHAIN):
        if at + _INT.size > len(window):
            return False
        (length,) = _INT.unpack_from(window, at)
        path_end = at + _INT.size + length
        if not 1 < length < _LONGEST_PATH or path_end + _INT.size > len(window):
            return False
        path = window[at + _INT.size : path_end]
        (data_length,) = _INT.unpack_from(window, path_end)
        if path[:1] != b"/" or b"\0" in path or data_length < -1:
            return False
        at += RECORD_BYTES + length + max(data_length, 0)
    return True


def _combined(first: int, second: int, length: int) -> int:
    """Return the Adler-32 checksum of two texts by their checksums, and the length of the second one.

    >>> _combined(zlib.adler32(b"ab"), zlib.adler32(b"cde"), 3) == zlib.adler32(b"abcde")
    True
    """
    empty = zlib.adler32(b"")
    low = ((first & 0xFFFF) + (second & 0xFFFF) - empty) % _ADLER_BASE
    high = ((first >> 16) + (second >> 16) + length * ((first & 0xFFFF) - empty)) % _ADLER_BASE
    return high << 16 | low
