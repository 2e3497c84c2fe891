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

from ...formats.names import PartName, parse_names
from .record import TwinRecord
from .tables import PartContent, PartsOf, TwinPart

_WHERE = "system.parts"


def merged_of(part: PartName, rows: int, others: Iterable[tuple[PartName, PartContent]]) -> list[str] | None:
    """Which of the others, of one block each, were merged into the part, by name; None where it is unsure."""
    if part.mutation is not None:
        return None
    by_block: dict[int, tuple[PartName, PartContent]] = {}
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


def resolve_merged(
    record: TwinRecord,
    parts: PartsOf,
    came: Iterable[TwinPart],
    partition_id: str,
    wanted: AbstractSet[PartContent],
) -> tuple[list[TwinPart], list[TwinPart]]:
    """What may be clones of what is new in the destination, and what cannot be, or is not certain to be.

    In place of what is certain to have been merged of clones are these. ``wanted`` is what clones may be
    equal to. What has a part in it that the destination had before is no clone, whatever it is equal to.
    """
    new = list(came)
    past = {part.name: part for part in parts.past(record.destination)}
    equal = [name for name, part in past.items() if part.content in wanted]
    held, names, known = (
        parse_names(each, partition_id, _WHERE) for each in (record.held, [part.name for part in new], equal)
    )
    contents = [(name, past[name.text].content) for name in known if not _has_one_of(name, held)]
    clones: list[TwinPart] = []
    others: list[TwinPart] = []
    for part, name in zip(new, names):
        if _has_one_of(name, held):
            others.append(part)
        elif part.content in wanted:
            clones.append(part)
        else:
            merged = merged_of(name, part.content.rows, contents)
            others.extend([part] if merged is None else [])
            clones.extend(past[each] for each in merged or ())
    return clones, others


def _has_one_of(part: PartName, held: Iterable[PartName]) -> bool:
    """Whether the part shares rows with what the destination had: either is in the other."""
    return any(part.covers(each) or each.covers(part) for each in held)
