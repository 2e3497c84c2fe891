# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one task reads of a shard path: all of it, or a piece of its parts where there are very many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .member import Member
from .pieces import Piece, pieces
from .survey import Table


class Share(NamedTuple):
    """The parts of a shard path that lie in these pieces of the snapshots of hot and cold; None for none."""

    table: Table
    hot: Piece | None
    cold: Piece | None

    @property
    def size(self) -> int:
        """How many bytes of snapshots have to be read for its parts."""
        return sum(each.size for each in (self.hot, self.cold) if each is not None)

    def ranges(self) -> Iterator[tuple[Member, tuple[int, int]]]:
        """The ranges of the snapshots of members that its rows are made of."""
        hot = self.table.hot.place
        for start in (hot.metadata, hot.block_numbers):
            yield self.table.hot.member, (start, hot.until(start))
        for files, piece in ((self.table.hot, self.hot), (self.table.cold, self.cold)):
            if files is not None and piece is not None:
                yield files.member, (piece.start, piece.end)


def shares_of(table: Table, size: int) -> Sequence[Share]:
    """The table in shares of about ``size`` bytes, or as one share if it is not much larger.

    What hot and what cold have of one part may be in two shares. Each row is in one.
    """
    hot = table.hot.place.parts
    cold = None if table.cold is None else table.cold.place.parts
    whole = Share(table, hot, cold)
    if whole.size < 2 * size:
        return [whole]
    shares = [Share(table, each, None) for each in pieces(hot, table.hot.place.splits, size)]
    if table.cold is not None and cold is not None:
        shares += [Share(table, None, each) for each in pieces(cold, table.cold.place.splits, size)]
    return shares
