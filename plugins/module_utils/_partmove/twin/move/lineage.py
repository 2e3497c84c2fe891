# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which parts a merged part was made of, by the names and the row counts of the candidates.

A part has exactly the rows of a set of parts, each once, if:

- no mutation rewrote the part,
- each block of the part is in a part of the set,
- the part has as many rows as the parts of the set together.

The row count excludes merges that skipped a dropped part, and merges that removed rows, such as those of a
ReplacingMergeTree.

A server lists merged parts as inactive for some time. As long as it lists them, clones are recognised inside
the merged part.
"""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet

from ...formats.names import PartName, parse_names
from .record import TwinRecord
from .tables import PartContent, PartsOf, TwinPart

_WHERE = "system.parts"


def merged_of(part: PartName, rows: int, others: Iterable[tuple[PartName, PartContent]]) -> list[str] | None:
    """Return the single-block parts in a merged part, by name; None if this is uncertain."""
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
    """Whether each block of the part is in one of ``others``, so that no other row is inside.

    The parts in ``others`` must not share a block. Always False after a mutation of the part.
    """
    return part.mutation is None and has_only_blocks_of(part, others)


def has_only_blocks_of(part: PartName, others: Iterable[PartName]) -> bool:
    """Whether each block of the part is in one of ``others``, whatever mutations did to its rows since.

    The parts in ``others`` must not share a block.
    """
    blocks = sum(each.max_block - each.min_block + 1 for each in others if part.covers(each))
    return blocks == part.max_block - part.min_block + 1


def resolve_merged(
    record: TwinRecord,
    parts: PartsOf,
    parts_to_resolve: Iterable[TwinPart],
    partition_id: str,
    clone_contents: AbstractSet[PartContent],
    known: AbstractSet[str] | None = None,
) -> tuple[list[TwinPart], list[TwinPart]]:
    """Split the new parts of the destination into possible clones and other parts, uncertain ones included.

    A part that certainly was merged from clones is replaced by these clones. A part that contains a part from
    before the ATTACH is no clone, whatever its content.

    clone_contents: the possible contents of a clone.
    known: the names of the parts that an ATTACH made; None if any part may be such a part.
    """

    def may_be_clone(part: TwinPart) -> bool:
        return part.content in clone_contents and (known is None or part.name in known)

    new = list(parts_to_resolve)
    past = {part.name: part for part in parts.past(record.destination)}
    candidates = [name for name, part in past.items() if may_be_clone(part)]
    held, names, candidate_names = (
        parse_names(each, partition_id, _WHERE)
        for each in (record.held, [part.name for part in new], candidates)
    )
    contents = [(name, past[name.text].content) for name in candidate_names if not _shares_rows(name, held)]
    clones: list[TwinPart] = []
    others: list[TwinPart] = []
    for part, name in zip(new, names):
        if _shares_rows(name, held):
            others.append(part)
        elif may_be_clone(part):
            clones.append(part)
        else:
            merged = merged_of(name, part.content.rows, contents)
            others.extend([part] if merged is None else [])
            clones.extend(past[each] for each in merged or ())
    return clones, others


def _shares_rows(part: PartName, held: Iterable[PartName]) -> bool:
    """Whether the part shares rows with a part from before the ATTACH: either contains the other."""
    return any(part.covers(each) or each.covers(part) for each in held)
