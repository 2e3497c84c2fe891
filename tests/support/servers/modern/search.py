# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the functions that are changed are in the file of the library, which has no symbols of them.

Each of two functions refers to a text that is in the file once. Where a function begins, and what is next to
it, is known from the table by which exceptions are unwound.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from support.servers.modern.functions import (
    KEEPS_HAS_ZOOKEEPER,
    Function,
    Functions,
    FunctionsNotFound,
)

_NO_ADDRESS = (
    b"\0Parameter 'interserver_http(s)_port' required for replication is not specified in configuration file."
)
"""In getInterserverIOAddress."""
_ABOUT_ZOOKEEPER = (
    b"\0Exposes data from the [Zoo]Keeper cluster defined in the config. Allow to get the list of children"
)
"""In attachSystemTablesServer."""

_LOAD = 1
_GNU_EH_FRAME = 0x6474E550
_EXECUTABLE = 1

_UNWIND_TABLE = bytes([1, 0x1B, 0x03, 0x3B])
"""Version 1; the table is sorted and has pairs of 32 bits, each counted from the beginning of the section."""

_LEA = (b"\x48\x8d", b"\x4c\x8d")
"""Of a 64-bit register; the address follows after one more byte."""

_SCANNED_AT_ONCE = 1 << 22
_BEGINNING = 64
"""Bytes of a function in which it puts its arguments away."""

T = TypeVar("T")


class _Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    size: int


def find_functions(library: Path) -> Functions:
    """Look through the file of the library.

    Raises:
        FunctionsNotFound: a text or the reference to it is there twice or not at all, the table of functions
            has another form, or a function does not begin as it should.
    """
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        segments = _segments(content)
        code = _only("executable segment", [each for each in segments if each.flags & _EXECUTABLE], library)
        starts = _function_starts(content, segments, library)
        texts = [_place_of(text, content, segments, library) for text in (_NO_ADDRESS, _ABOUT_ZOOKEEPER)]
        functions = []
        for text, references in zip(texts, _references(content, code, texts), strict=True):
            reference = _only(f"reference to the text at {text:#x}", references, library)
            functions.append(int(np.searchsorted(starts, reference, side="right")) - 1)
        address, attach = functions
        around = [int(start) for start in starts[max(address - 1, 0) : address + 3]]
        if address < 1 or len(around) < 4:
            raise FunctionsNotFound(f"{library} has no functions around {int(starts[address]):#x}")
        before, itself, after = (Function(start, end - start) for start, end in pairwise(around))
        return Functions(before, itself, after, _has_zookeeper(content, code, int(starts[attach]), library))


def _segments(content: mmap.mmap) -> list[_Segment]:
    (first,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    found = []
    for number in range(count):
        kind, flags, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", content, first + number * size
        )
        if kind in {_LOAD, _GNU_EH_FRAME}:
            found.append(_Segment(kind, flags, offset, address, length))
    return found


def _place_of(text: bytes, content: mmap.mmap, segments: list[_Segment], library: Path) -> int:
    """The address of a text, which has a zero before it."""
    found = []
    for segment in segments:
        if segment.kind == _LOAD and not segment.flags & _EXECUTABLE:
            end = segment.offset + segment.size
            place = content.find(text, segment.offset, end)
            while place >= 0:
                found.append(place + 1 - segment.offset + segment.address)
                place = content.find(text, place + 1, end)
    return _only(f"the text {text[1:33].decode()!r}", found, library)


def _references(content: mmap.mmap, code: _Segment, texts: Sequence[int]) -> list[list[int]]:
    """For each text where its address is loaded: by the distance from the next instruction, in 32 bits."""
    found: list[list[int]] = [[] for _text in texts]
    within = np.arange(4, _SCANNED_AT_ONCE + 4, 4, dtype=np.int32)
    for start in range(0, code.size, _SCANNED_AT_ONCE):
        for first in range(start, start + 4):
            count = max(min(_SCANNED_AT_ONCE, code.size - first) // 4, 0)
            distances = np.frombuffer(content, "<i4", count, code.offset + first)
            targets = distances + within[:count]
            for places, text in zip(found, texts, strict=True):
                for index in np.flatnonzero(targets == text - code.address - first):
                    place = first + 4 * int(index)
                    before = code.offset + place - 3
                    if content[before : before + 2] in _LEA:
                        places.append(code.address + place)
    return found


def _has_zookeeper(content: mmap.mmap, code: _Segment, start: int, library: Path) -> Function:
    """The instruction that keeps the argument; it is among the first ones of the function."""
    offset = start - code.address + code.offset
    beginning = content[offset : offset + _BEGINNING]
    if beginning.count(KEEPS_HAS_ZOOKEEPER) != 1:
        raise FunctionsNotFound(f"{library} has a function at {start:#x} that begins in another way")
    return Function(start + beginning.index(KEEPS_HAS_ZOOKEEPER), len(KEEPS_HAS_ZOOKEEPER))


def _function_starts(content: mmap.mmap, segments: list[_Segment], library: Path) -> npt.NDArray[np.int64]:
    tables = [each for each in segments if each.kind == _GNU_EH_FRAME]
    table = _only("table of functions", tables, library)
    if content[table.offset : table.offset + 4] != _UNWIND_TABLE:
        raise FunctionsNotFound(f"{library} has a table of functions of another form")
    (count,) = struct.unpack_from("<I", content, table.offset + 8)
    pairs = np.frombuffer(content, "<i4", 2 * count, table.offset + 12)
    return pairs[::2].astype(np.int64) + table.address


def _only(what: str, found: Sequence[T], library: Path) -> T:
    if len(found) != 1:
        raise FunctionsNotFound(f"{library} has {len(found)} of what it should have one of: {what}")
    return found[0]
