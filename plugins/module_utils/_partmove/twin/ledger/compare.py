# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares an entry of the ledger with the parts that the twin has now, by lineage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from ...text import count_of, first_few
from ..move.tables import Parts
from .entry import MOST_RANGES, BlockRange, LedgerEntry

_WHERE = "system.parts"
_SPECIAL_ENGINE = re.compile(r" Replicated[A-Z][A-Za-z]*MergeTree\b(?<! ReplicatedMergeTree)")
_TTL = re.compile(r"\bTTL\b")


class Blocks(NamedTuple):
    """How many block numbers the two tables have allocated in a partition; 0 if unknown.

    hot: as `read_hot_blocks` returns.
    """

    hot: int = 0
    cold: int = 0


def entry_of(
    parts: Parts, partition_id: str, blocks: Blocks, expiries: Mapping[str, int] | None = None
) -> LedgerEntry:
    """Return the entry for the active parts of a partition in the twin.

    expiries: name of a part → when all its rows had expired by the TTL of the table.
    """
    names = parse_names((part.name for part in parts), partition_id, _WHERE)
    ranges = _merged(
        BlockRange(each.min_block, each.max_block, (expiries or {}).get(each.text, 0)) for each in names
    )
    last = max((each.last for each in ranges), default=-1)
    return LedgerEntry(
        sum(part.content.rows for part in parts),
        ranges[:MOST_RANGES],
        max((each.mutation or 0 for each in names), default=0),
        _names_digest(parts),
        _contents_digest(parts),
        max(blocks.cold, last + 1),
        blocks.hot,
    )


def with_loss(before: LedgerEntry, after: LedgerEntry) -> LedgerEntry:
    """Return the entry ``after`` with the rows and blocks of ``before``, which the twin has lost meanwhile.

    No set of parts has its contents, so that the twin never seems to have everything.
    """
    ranges = sorted({*before.ranges, *after.ranges})[:MOST_RANGES]
    return after._replace(
        rows=before.rows + after.rows, ranges=tuple(ranges), names="0" * 6, contents="0" * 6
    )


def _merged(ranges: Iterable[BlockRange]) -> tuple[BlockRange, ...]:
    found: list[BlockRange] = []
    for each in sorted(ranges):
        before = found[-1] if found else None
        if before is not None and each.first == before.last + 1 and each.expires == before.expires:
            found[-1] = before._replace(last=each.last)
        else:
            found.append(each)
    return tuple(found)


def _digest(texts: Iterable[str]) -> str:
    return sha256("\n".join(sorted(texts)).encode()).hexdigest()[:6]


def _names_digest(parts: Parts) -> str:
    return _digest(part.name for part in parts)


def _contents_digest(parts: Parts) -> str:
    return _digest(
        f"{part.content.rows} {part.content.hash_of_uncompressed_files}"
        f" {part.uncompressed_hash_of_compressed_files}"
        for part in parts
    )


def has_same_contents(entry: LedgerEntry, parts: Parts) -> bool:
    """Whether the twin has parts with the very rows of the entry, whatever their names."""
    rows = sum(part.content.rows for part in parts)
    return rows == entry.rows and _contents_digest(parts) == entry.contents


def has_as_many_rows(entry: LedgerEntry, parts: Parts) -> bool:
    """Whether the twin has at least as many rows as the entry, whatever rows these are."""
    return sum(part.content.rows for part in parts) >= entry.rows


def uncovered(ranges: Iterable[BlockRange], names: Iterable[PartName]) -> list[BlockRange]:
    """Return the ranges with blocks that none of the parts has, in order."""
    covering = _merged(BlockRange(each.min_block, each.max_block) for each in names)
    return [
        each
        for each in ranges
        if not any(one.first <= each.first and each.last <= one.last for one in covering)
    ]


def covered(ranges: Iterable[BlockRange], names: Iterable[PartName]) -> tuple[BlockRange, ...]:
    """Return the blocks of the ranges that the parts have, in order."""
    covering = _merged(BlockRange(each.min_block, each.max_block) for each in names)
    return tuple(
        each._replace(first=max(one.first, each.first), last=min(one.last, each.last))
        for each in ranges
        for one in covering
        if one.first <= each.last and each.first <= one.last
    )


def missing_of(entry: LedgerEntry, parts: Parts, partition_id: str, definition: str) -> str:
    """Return what the twin lacks of the entry, for people; "" if it has everything.

    The twin has everything if its parts have the same contents. Otherwise its parts must have every block of
    the entry, under other names. Fewer rows are possible only after a mutation, and for tables with a TTL or
    with an engine that leaves out rows in merges, which ``definition`` shows.
    """
    if has_same_contents(entry, parts):
        return ""
    if _names_digest(parts) == entry.names:
        return "its parts have the names of then and other rows"
    names = parse_names((part.name for part in parts), partition_id, _WHERE)
    ranges = uncovered(entry.ranges, names)
    rows = sum(part.content.rows for part in parts)
    if ranges:
        blocks = first_few(map(str, ranges))
        return f"no part has the blocks {blocks}; {count_of(rows, 'row')} of {entry.rows:,} are there"
    if rows < entry.rows and not _may_lose_rows(entry, names, definition):
        return f"{count_of(rows, 'row')} of {entry.rows:,} are there, and no mutation or TTL explains it"
    return ""


def _may_lose_rows(entry: LedgerEntry, names: Iterable[PartName], definition: str) -> bool:
    is_mutated = any((each.mutation or 0) > entry.mutation for each in names)
    return is_mutated or has_ttl(definition) or _SPECIAL_ENGINE.search(definition) is not None


def has_ttl(definition: str) -> bool:
    """Whether the definition of a table has a TTL, of rows or of columns."""
    return _TTL.search(definition) is not None
