# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides a shard path in files into slices for tasks: the whole path, or ranges of its parts if large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .member import MemberFiles
from .part_ranges import PartRange, split_range
from .survey import SurveyedTable


class TableSlice(NamedTuple):
    """The parts of a shard path within content ranges of the hot and cold snapshots; None for no parts."""

    table: SurveyedTable
    hot: PartRange | None
    cold: PartRange | None

    @property
    def size(self) -> int:
        """Bytes of the snapshots to read for the parts."""
        return sum(each.size for each in (self.hot, self.cold) if each is not None)

    def ranges(self) -> Iterator[tuple[MemberFiles, tuple[int, int]]]:
        """Yield each member with a content range of its snapshot needed for the rows."""
        hot = self.table.hot.records
        for start in (hot.metadata, hot.block_numbers):
            yield self.table.hot.member, (start, hot.until(start))
        for files, part_range in ((self.table.hot, self.hot), (self.table.cold, self.cold)):
            if files is not None and part_range is not None:
                yield files.member, (part_range.start, part_range.end)


def table_slices(table: SurveyedTable, size: int) -> Sequence[TableSlice]:
    """Divide the table into slices of about ``size`` bytes; one slice below twice that size.

    The hot and the cold znodes of one part may be in different slices. Each row is in exactly one slice.
    """
    hot = table.hot.records.parts
    cold = None if table.cold is None else table.cold.records.parts
    whole = TableSlice(table, hot, cold)
    if whole.size < 2 * size:
        return [whole]
    slices = [TableSlice(table, each, None) for each in split_range(hot, table.hot.records.splits, size)]
    if table.cold is not None and cold is not None:
        slices += [
            TableSlice(table, None, each) for each in split_range(cold, table.cold.records.splits, size)
        ]
    return slices
