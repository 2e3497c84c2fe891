# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the znodes of a part say about it.

A part is registered in one of two forms. In the minimalistic one, the default from 20.12 on, all is in the
data of the part's znode: a hash of the columns and the checksums. In the legacy one, the only one that 18.16
writes, the data is empty and the children ``columns`` and ``checksums`` have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import FormatError

COLUMNS = "columns"
CHECKSUMS = "checksums"

_VARINT = rb"(\x00|[\x80-\xff]{0,8}[\x01-\x7f])"
_TOTALS = _VARINT + _VARINT + rb"(.{16})(.{16})(.{16})"
_MINIMALISTIC = re.compile(rb"part header format version: 1\n(.{16})" + _TOTALS, re.DOTALL)
_CHECKSUM_TOTALS = re.compile(rb"checksums format version: 5\n" + _TOTALS, re.DOTALL)
_CHECKSUM_LIST = re.compile(rb"checksums format version: [2-4]\n.+", re.DOTALL)
_COLUMNS_HEADER = b"columns format version: 1\n"
_LEGACY_CHILDREN = frozenset({COLUMNS, CHECKSUMS})


@dataclass(frozen=True)
class Checksums:
    """Totals over the files of a part; each hash in hex, as ``system.parts`` of 20.12 shows it."""

    compressed_files: int
    uncompressed_files: int
    hash_of_all_files: str
    hash_of_uncompressed_files: str
    uncompressed_hash_of_compressed_files: str


@dataclass(frozen=True)
class PartPayload:
    """The data of a part's znode, and of each child by name. ``parse_payload`` makes sound ones."""

    data: bytes
    children: Mapping[str, bytes]

    @property
    def is_minimalistic(self) -> bool:
        """Whether all is in the data of the part's znode."""
        return bool(self.data)

    @property
    def checksums(self) -> Checksums | None:
        """The totals; None where a legacy part has the full list of its files instead."""
        if self.data:
            match = _MINIMALISTIC.fullmatch(self.data)
            totals = match.groups()[1:] if match else None
        else:
            match = _CHECKSUM_TOTALS.fullmatch(self.children[CHECKSUMS])
            totals = match.groups() if match else None
        if totals is None:
            return None
        return Checksums(_varint(totals[0]), _varint(totals[1]), *map(_hex, totals[2:]))


def parse_payload(data: bytes, children: Mapping[str, bytes], where: str) -> PartPayload:
    r"""Take the znodes of the part at ``where``; raises FormatError if ``payload_problem`` finds one.

    >>> sizes_and_hashes = b"\x03\x02" + bytes(range(48))
    >>> header = b"part header format version: 1\n" + b"hash of columns." + sizes_and_hashes
    >>> checksums = parse_payload(header, {}, "/parts/all_0_0_0").checksums
    >>> checksums.compressed_files, checksums.uncompressed_files, checksums.hash_of_all_files
    (3, 2, '07060504030201000f0e0d0c0b0a0908')
    """
    problem = payload_problem(data, children)
    if problem:
        raise FormatError(
            f"{where} {problem}",
            remedy="Compare it with the znode of the same part on another replica, and leave the partition"
            " out of the plan until the part is registered soundly",
        )
    return PartPayload(data, children)


def payload_problem(data: bytes, children: Mapping[str, bytes]) -> str | None:
    """What is wrong with the shape of a part's znodes; None when it is sound. Never raises.

    >>> payload_problem(b"", {"columns": b"columns format version: 1"})
    'has no data, and columns in place of the children checksums and columns'
    """
    if data:
        if children:
            return "has data and children at once"
        return (
            None
            if _MINIMALISTIC.fullmatch(data)
            else "has data that is not a part header of format version 1"
        )
    if children.keys() != _LEGACY_CHILDREN:
        names = ", ".join(sorted(children)) or "no child"
        return f"has no data, and {names} in place of the children {CHECKSUMS} and {COLUMNS}"
    if not children[COLUMNS].startswith(_COLUMNS_HEADER):
        return f"has a child {COLUMNS} that is not a list of columns of format version 1"
    checksums = children[CHECKSUMS]
    if _CHECKSUM_TOTALS.fullmatch(checksums) or _CHECKSUM_LIST.fullmatch(checksums):
        return None
    return f"has a child {CHECKSUMS} that is not of format version 2 to 5"


def same_content(first: PartPayload, second: PartPayload) -> bool | None:
    """Whether two registrations of a part stand for equal parts; None when that cannot be told.

    Two of the same form are equal when their bytes are. Of a legacy and a minimalistic one the totals of
    the checksums are compared, which the full list of files of a legacy one does not give.
    """
    if first.is_minimalistic == second.is_minimalistic:
        mine, theirs = first.checksums, second.checksums
        if (mine is None) != (theirs is None):
            return None
        return first.data == second.data and first.children == second.children
    mine, theirs = first.checksums, second.checksums
    return None if mine is None or theirs is None else mine == theirs


def hash_is(stored: str, told: str) -> bool:
    """Whether a hash of ``Checksums`` is the one that a server tells by SQL.

    A hash is two words of 64 bits. Servers up to 20.12 show the low word first, recent ones the high word;
    both orders are accepted, as two different hashes do not agree in either one by chance.

    >>> hash_is("07060504030201000f0e0d0c0b0a0908", "0F0E0D0C0B0A09080706050403020100")
    True
    """
    return told.lower() in (stored, stored[16:] + stored[:16])


def _hex(stored: bytes) -> str:
    """Hex of two little-endian words, the low word first."""
    return stored[7::-1].hex() + stored[:7:-1].hex()


def _varint(stored: bytes) -> int:
    number = 0
    for index, byte in enumerate(stored):
        number |= (byte & 0x7F) << (7 * index)
    return number
