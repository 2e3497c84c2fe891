# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses the znodes of a part: its columns and checksums.

Part znodes have two forms:

- minimalistic, the default from 20.12 on: the data has a hash of the columns and the totals of the checksums;
- legacy, the only form in 18.16: the data is empty, and the children ``columns`` and ``checksums`` have the
  content.
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
    """Totals of the files of a part. Hashes are hex text in the word order of ``system.parts`` in 20.12."""

    compressed_files: int
    uncompressed_files: int
    hash_of_all_files: str
    hash_of_uncompressed_files: str
    uncompressed_hash_of_compressed_files: str


@dataclass(frozen=True)
class PartPayload:
    """The data of a part znode, and of each child by name. ``parse_payload`` checks both."""

    data: bytes
    children: Mapping[str, bytes]

    @property
    def is_minimalistic(self) -> bool:
        """Whether the part znode has the minimalistic form."""
        return bool(self.data)

    @property
    def checksums(self) -> Checksums | None:
        """The totals; None for a legacy part with a full list of files instead of totals."""
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
    r"""Parse the znodes of the part at ``where``. Raises FormatError if ``payload_problem`` finds a problem.

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
            remedy="Compare the znode with the znode of the same part on another replica, and leave the"
            " partition out of the plan until the znode is repaired",
        )
    return PartPayload(data, children)


def payload_problem(data: bytes, children: Mapping[str, bytes]) -> str | None:
    """Describe the problem in the znodes of a part; None for valid znodes. Never raises.

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
    """Whether two payloads of a part describe equal parts; None if unknown.

    - Payloads of the same form are equal if their bytes are equal.
    - A legacy and a minimalistic payload are equal if their totals are equal.
    - If only one payload has totals, or totals are needed and missing, the result is None.
    """
    if first.is_minimalistic == second.is_minimalistic:
        mine, theirs = first.checksums, second.checksums
        if (mine is None) != (theirs is None):
            return None
        return first.data == second.data and first.children == second.children
    mine, theirs = first.checksums, second.checksums
    return None if mine is None or theirs is None else mine == theirs


def hash_matches(stored: str, queried: str) -> bool:
    """Whether a hash of ``Checksums`` equals a hash queried from a server by SQL.

    A hash is two words of 64 bits. Servers up to 20.12 show the low word first, recent servers the high word.
    Both orders are accepted: different hashes do not agree in either order by chance.

    >>> hash_matches("07060504030201000f0e0d0c0b0a0908", "0F0E0D0C0B0A09080706050403020100")
    True
    """
    return queried.lower() in (stored, stored[16:] + stored[:16])


def registers_hash(data: bytes, children: Mapping[str, bytes], queried: str) -> bool:
    """Whether the payload is readable, has checksums, and their hash equals the one queried by SQL."""
    try:
        checksums = parse_payload(data, children, "a payload").checksums
    except FormatError:
        return False
    return checksums is not None and hash_matches(checksums.hash_of_all_files, queried)


def _hex(stored: bytes) -> str:
    """Return the hex text of two little-endian words, the low word first."""
    return stored[7::-1].hex() + stored[:7:-1].hex()


def _varint(stored: bytes) -> int:
    number = 0
    for index, byte in enumerate(stored):
        number |= (byte & 0x7F) << (7 * index)
    return number
