# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a part was merged of, by the names and the rows of those that it may have been merged of.

A part has the rows of some others, each once, and nothing else, where no mutation rewrote it, each of its
blocks is in one of them, and it has as many rows as they have together. The rows tell it from a merge that
skipped over a part which was dropped, and from one that left rows out, as those of a Replacing engine do.

A server shows parts that were merged for a while, though they are not active any more: as long as it does,
clones are known again in what became of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet

from ..formats.names import PartName, parse_names
from .record import TwinRecord
from .servers import Content, PartsOf, TwinPart

_WHERE = "system.parts"


def merged_of(part: PartName, rows: int, others: Iterable[tuple[PartName, Content]]) -> list[str] | None:
    """Which of the others, of one block each, were merged into the part, by name; None where it is unsure."""
    if part.mutation is not None:
        return None
    by_block: dict[int, tuple[PartName, Content]] = {}
    for name, content in others:
        if name.min_block != name.max_block or not part.covers(name):
            continue
        known = by_block.setdefault(name.min_block, (name, content))
        if known[1] != content:
            return None
    blocks = part.max_block - part.min_block + 1
    if len(by_block) != blocks or sum(content.rows for _name, content in by_block.values()) != rows:
        return None
    return [by_block[block][0].text for block in sorted(by_block)]


def is_made_of(part: PartName, others: Iterable[PartName]) -> bool:
    """Whether each block of the part was in one of the others, which share none: it has no other rows."""
    blocks = sum(each.max_block - each.min_block + 1 for each in others if part.covers(each))
    return part.mutation is None and blocks == part.max_block - part.min_block + 1


def as_they_came(
    record: TwinRecord,
    parts: PartsOf,
    came: Iterable[TwinPart],
    partition_id: str,
    wanted: AbstractSet[Content],
) -> list[TwinPart]:
    """What is new in the destination, with clones in place of what is certain to have been merged of them.

    ``wanted`` is what clones may be equal to.
    """
    known: list[tuple[PartName, Content]] | None = None
    past = {part.name: part for part in parts.past(record.destination)}
    found: list[TwinPart] = []
    for part in came:
        if part.content in wanted:
            found.append(part)
            continue
        if known is None:
            names = [name for name in past if past[name].content in wanted and name not in record.held]
            known = [(name, past[name.text].content) for name in parse_names(names, partition_id, _WHERE)]
        (name,) = parse_names([part.name], partition_id, _WHERE)
        clones = merged_of(name, part.content.rows, known)
        found.extend([part] if clones is None else [past[each] for each in clones])
    return found
