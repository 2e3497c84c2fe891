# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides the part records of a shard path in a snapshot among several tasks.

In a snapshot, the child records of a part directly follow the part: every range starts at a part record.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

# Distance of noted split points: few enough to keep in memory, dense enough for ranges of equal size.
_EVERY_BYTES = 8 << 20
_PARTS = b"/parts"


class PartRange(NamedTuple):
    """A content range of a shard path's part records, from the first record to the end of the last part.

    has_created: include parts created by the log, which have no record in the snapshot.
    """

    start: int
    end: int
    has_created: bool = True

    @property
    def size(self) -> int:
        """Size in bytes of the snapshot's content; 0 where the snapshot has no record."""
        return self.end - self.start if self.start >= 0 else 0


class SplitPoints:
    """Notes possible range starts during a scan of a snapshot."""

    def __init__(self, every: int | None = None) -> None:
        self.every = _EVERY_BYTES if every is None else every
        """Least distance in bytes."""
        self._found: list[tuple[int, bytes]] = []
        self.next = 0
        """Offset of the next relevant record; records before it need no call of `note`."""

    def note(self, offset: int, path: bytes) -> None:
        """Note the offset of a part record; ignore other records."""
        folder = path.rpartition(b"/")[0]
        if folder.endswith(_PARTS):
            self._found.append((offset, folder))
            self.next = offset + self.every

    def within(self, replicas: bytes, start: int, end: int) -> tuple[int, ...]:
        """Return the noted part offsets below the znode ``replicas``, whose records are from start to end."""
        first = bisect_right(self._found, (start, b"\xff"))
        last = bisect_right(self._found, (end,))
        below = replicas + b"/"
        return tuple(
            offset
            for offset, folder in self._found[first:last]
            if folder.startswith(below) and b"/" not in folder[len(below) : -len(_PARTS)]
        )


def split_range(whole: PartRange, splits: tuple[int, ...], size: int) -> list[PartRange]:
    """Split ``whole`` at ``splits`` into ranges of about ``size`` bytes; only the first has_created."""
    borders = [whole.start]
    for split in splits:
        if split - borders[-1] >= size:
            borders.append(split)
    ends = [*borders[1:], whole.end]
    return [
        PartRange(*each, has_created=number == 0)
        for number, each in enumerate(zip(borders, ends, strict=True))
    ]
