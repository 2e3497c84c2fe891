# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides the parts of a shard path in a snapshot, so that several tasks can read them.

The records of a part, its own and those of its children, follow each other: a piece begins at that of a part.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

# Few enough to be in memory for any snapshot, near enough to each other for pieces of one size.
_EVERY_BYTES = 8 << 20
_PARTS = b"/parts"


class Piece(NamedTuple):
    """A stretch of the records of a shard path's parts, from the first to where the last one ends.

    has_new: whether the parts that the log creates come with it; they have no place in the snapshot.
    """

    start: int
    end: int
    has_new: bool = True

    @property
    def size(self) -> int:
        """How many bytes of the snapshot that is; 0 where the snapshot has nothing."""
        return self.end - self.start if self.start >= 0 else 0


class Splits:
    """Notes while a snapshot is gone over where pieces can begin."""

    def __init__(self, every: int | None = None) -> None:
        self._every = _EVERY_BYTES if every is None else every
        self._found: list[tuple[int, bytes]] = []
        self.next = 0
        """The least offset of a record that is of interest; of those before it `note` need not be told."""

    def note(self, offset: int, path: bytes) -> None:
        """Note the record at the offset, if it is that of a part."""
        folder = path.rpartition(b"/")[0]
        if folder.endswith(_PARTS):
            self._found.append((offset, folder))
            self.next = offset + self._every

    def within(self, replicas: bytes, start: int, end: int) -> tuple[int, ...]:
        """Where parts begin of the shard path whose ``replicas`` have this path and these records."""
        first = bisect_right(self._found, (start, b"\xff"))
        last = bisect_right(self._found, (end,))
        below = replicas + b"/"
        return tuple(
            offset
            for offset, folder in self._found[first:last]
            if folder.startswith(below) and b"/" not in folder[len(below) : -len(_PARTS)]
        )


def pieces(whole: Piece, splits: tuple[int, ...], size: int) -> list[Piece]:
    """The piece in pieces of about ``size`` bytes, of which only the first one has_new."""
    borders = [whole.start]
    for split in splits:
        if split - borders[-1] >= size:
            borders.append(split)
    ends = [*borders[1:], whole.end]
    return [Piece(*each, has_new=number == 0) for number, each in enumerate(zip(borders, ends, strict=True))]
