# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides the parts of a shard path of which there are very many, so that several readers can share them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Each reader of a replica lists all of its names, which is little beside reading so many of the parts.
_NAMES = 1_000_000


class RowSplit(NamedTuple):
    """Some of the parts of a shard path; portions that `portions_of` has given have each part once.

    That holds for what servers create meanwhile too: a new replica is in the portion of all that have no own.
    """

    replica: str = ""
    """The one replica whose parts these are; empty for all but those in ``without``."""
    without: frozenset[str] = frozenset()
    number: int = 0
    of: int = 1
    """Of so many portions of names, the one with this number, from 0."""

    def has_replica(self, name: str) -> bool:
        """Whether parts of the replica are in it."""
        return name == self.replica if self.replica else name not in self.without

    def has_part(self, name: str) -> bool:
        """Whether parts of this name are in it, if those of their replica are."""
        return self.of == 1 or zlib.crc32(name.encode()) % self.of == self.number


EVERYTHING = RowSplit()


def portions_of(parts: Mapping[str, int], size: int) -> Sequence[tuple[RowSplit, int]]:
    """The portions of a shard path and about how many parts each has, for numbers of parts by replica.

    A replica with at least ``size`` parts is by itself, and in several portions if it has millions.
    """
    large = {name: number for name, number in parts.items() if number >= size}
    found = []
    for name, number in sorted(large.items()):
        of = 1 + number // max(size, _NAMES)
        found += [(RowSplit(name, number=each, of=of), number // of) for each in range(of)]
    rest = sum(parts.values()) - sum(large.values())
    return [*found, (RowSplit(without=frozenset(large)), rest)]
