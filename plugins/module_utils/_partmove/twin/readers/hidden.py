# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which parts readers must not see while partitions are between their two tables.

The decision is a pure function of the records. A run writes the record first, then changes the row policy
and waits for readers, and only then executes the next ATTACH or DROP PART. So a killed run leaves a row
policy with which readers see each row once, and the next run derives the same condition from the records.

- Until the record names the clones, readers see the source, and new parts of the destination are hidden.
- From then on, readers see the destination, and recorded parts of the source are hidden.
- While clones are dropped again, readers see the source of these clones.
- Once a repair changes the tables, readers see everything: a repair may take parts out of either table.

Parts are identified by their block numbers: merges of hidden parts alone stay hidden, and rows that the
destination already had, and rows inserted into the source meanwhile, stay visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from ...formats.sql import literal
from ..move.record import TwinRecord
from ..move.tables import Side, TwinTables

_WHERE = "a record"
_NO_BLOCK = -1
CONDITION_NAMES = ("_part", "_partition_id", "_table")
"""The virtual columns in a `policy_condition`. A column of the same name would be read in their place."""


class Blocks(NamedTuple):
    """A range of block numbers: hides a part if all blocks of the part are in the range."""

    first: int
    last: int | None
    """None for a range without an end."""


class Hidden(NamedTuple):
    """The parts of a partition in one of the two tables that readers must not see."""

    side: Side
    partition_id: str
    format_version: int
    """Data format version of the part names, which gives the position of the block numbers."""
    blocks: tuple[Blocks, ...]


def hidden_by(records: Mapping[str, TwinRecord]) -> tuple[Hidden, ...]:
    """Return the hidden parts of each partition with a record, sorted by partition and table."""
    moving = {each: record for each, record in records.items() if not record.repairing}
    return tuple(sorted(hidden for each, record in moving.items() for hidden in _hidden(each, record)))


def policy_condition(hidden: Sequence[Hidden], tables: TwinTables) -> str:
    """Return the condition of the row policy: true for each row that readers see."""
    if not hidden:
        return "1"
    return f"NOT ({' OR '.join(_sql(each, tables) for each in hidden)})"


def _hidden(partition_id: str, record: TwinRecord) -> list[Hidden]:
    source = parse_names(record.parts, partition_id, _WHERE)
    undone = _undone(partition_id, record)
    arriving = record.destination
    if not record.is_verified or len(undone) == len(record.parts):
        held = parse_names(record.held, partition_id, _WHERE)
        last = max((each.max_block for each in held), default=_NO_BLOCK)
        return [_of(arriving, partition_id, source, [Blocks(last + 1, None)])]
    if not record.undoing:
        return [_of(arriving.other, partition_id, source, _leaving(record, source))]
    moved = [Blocks(each.min_block, each.max_block) for each in source if each.text not in undone]
    clones = parse_names(record.undoing, partition_id, _WHERE)
    undoing = [Blocks(each.min_block, each.max_block) for each in clones]
    return [
        _of(arriving.other, partition_id, source, moved),
        _of(arriving, partition_id, source, undoing),
    ]


def _leaving(record: TwinRecord, source: Sequence[PartName]) -> list[Blocks]:
    """Return the blocks of the recorded parts.

    All blocks up to the last one, as a merge may join parts across block numbers that no part has. Parts that
    the record has released have to be shown, whatever they were merged into.
    """
    if record.released:
        return [Blocks(each.min_block, each.max_block) for each in source]
    return [Blocks(0, max(each.max_block for each in source))]


def _undone(partition_id: str, record: TwinRecord) -> set[str]:
    """Return the recorded parts whose clones are being dropped again."""
    undoing = parse_names(record.undoing, partition_id, _WHERE)
    return {
        name
        for name, clone in record.clones.items()
        for part in parse_names([clone], partition_id, _WHERE)
        if any(each.covers(part) for each in undoing)
    }


def _of(side: Side, partition_id: str, source: Iterable[PartName], blocks: Iterable[Blocks]) -> Hidden:
    names = [each.text for each in source]
    version = 1 if all(each.startswith(f"{partition_id}_") for each in names) else 0
    return Hidden(side, partition_id, version, _joined(blocks))


def _joined(blocks: Iterable[Blocks]) -> tuple[Blocks, ...]:
    """Join ranges without a block number between them: a merge may join their parts."""
    joined: list[Blocks] = []
    for each in sorted(blocks):
        last = joined[-1] if joined else None
        if last is not None and last.last is not None and each.first == last.last + 1:
            joined[-1] = Blocks(last.first, each.last)
        else:
            joined.append(each)
    return tuple(joined)


def _sql(hidden: Hidden, tables: TwinTables) -> str:
    """Return the condition that is true for each row of the hidden parts.

    ``<partition id>_<min block>_<max block>_…``; in data format version 0 two dates are in front.
    """
    first = 2 if hidden.format_version else 3
    lowest = f"toInt64(splitByChar('_', _part)[{first}])"
    highest = f"toInt64(splitByChar('_', _part)[{first + 1}])"
    ranges = " OR ".join(_range(each, lowest, highest) for each in hidden.blocks)
    table = tables.on(hidden.side).name
    any_of = f"({ranges})" if len(hidden.blocks) > 1 else ranges
    return f"(_table = {literal(table)} AND _partition_id = {literal(hidden.partition_id)} AND {any_of})"


def _range(blocks: Blocks, lowest: str, highest: str) -> str:
    if blocks.last is None:
        # A part that was merged from hidden parts and others begins below, and is shown: rows that are seen
        # twice until the merge is undone are better than rows that are missing.
        return f"{lowest} >= {blocks.first}"
    if blocks.first == 0:
        return f"{highest} <= {blocks.last}"
    return f"({lowest} >= {blocks.first} AND {highest} <= {blocks.last})"
