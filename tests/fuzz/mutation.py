# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes bad input of good: bytes that are nearly what a parser knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_MOST_CHANGES = 4
_NUMBERS = (b"", b"0", b"-1", b"00", b"1e9", b"0x1", b"99999999999", b"18446744073709551616", b"9" * 5000)
_PIECES = (
    b"\0",
    b"\n",
    b"\n\n",
    b"\t",
    b"_",
    b"/",
    b"'",
    b'"',
    b"{",
    b"[" * 2000,
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u202e\u0661\u00b2".encode(),
    b"null",
    b"true",
    b": ",
    b"&a [*a]",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
)
_DIGITS = re.compile(rb"\d+")

Change = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutate(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """The data with one to four changes; pieces of other data of the corpus may come into it."""
    for _change in range(random.randint(1, _MOST_CHANGES)):
        data = random.choice(_CHANGES)(random, data, corpus)
    return data


def _span(random: Random, data: bytes) -> tuple[int, int]:
    """Where a short piece of the data begins and ends."""
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((0, 1, 2, 4, 8, 32)))


def _flip(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _cut(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    return data[: random.randint(0, len(data))]


def _remove(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _repeat(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:end] + data[start:end] * random.randint(1, 3) + data[end:]


def _overwrite(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + random.choice(_PIECES) + data[end:]


def _insert(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    place = random.randint(0, len(data))
    return data[:place] + random.choice((*_PIECES, random.randbytes(4))) + data[place:]


def _splice(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    other = random.choice(corpus)
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _renumber(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    found = list(_DIGITS.finditer(data))
    if not found:
        return data
    match = random.choice(found)
    return data[: match.start()] + random.choice(_NUMBERS) + data[match.end() :]


def _lines(random: Random, data: bytes, _corpus: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


_CHANGES: tuple[Change, ...] = (
    _flip,
    _flip,
    _cut,
    _remove,
    _repeat,
    _overwrite,
    _insert,
    _splice,
    _renumber,
    _lines,
)
