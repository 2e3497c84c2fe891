# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which parts of a partition may hold rows that the other table has too.

All functions are about a single partition and need replicas with equal parts. A part that certainly holds
rows of its own alone, such as one inserted after the record was written, is never among the doubtful ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from ..move.record import TwinRecord, contents
from ..move.tables import PartContent, Parts, PartsOf, Side, TwinPart

_WHERE = "system.parts"


class Doubtful(NamedTuple):
    """The parts that may hold rows of both tables.

    are_clones: whether the record proves that the cold parts hold clones alone, however often each row.
    problem: why the rows of the twin may not be kept as they are; empty if they may.
    most: how many rows of the hot parts can be in both tables at most; None if unknown.
    is_mutated: whether a mutation may have rewritten rows in one of the tables alone.
    """

    hot: tuple[str, ...]
    cold: tuple[str, ...]
    are_clones: bool = False
    problem: str = ""
    most: int | None = None
    is_mutated: bool = False


def doubtful_without_record(parts: PartsOf, equal: Collection[str] = ()) -> Doubtful:
    """Return the doubtful parts of a partition without a record.

    equal: hot parts that equal parts of the twin; only these are doubtful then.
    """
    hot = _names(parts.hot)
    return Doubtful(tuple(each for each in hot if not equal or each in equal), _names(parts.cold))


def doubtful_with_record(
    record: TwinRecord, parts: PartsOf, partition_id: str, kept: Collection[str] = (), added: int = 0
) -> Doubtful:
    """Return the doubtful parts of a partition with a record.

    - In the source: the recorded parts, and parts that a merge or mutation made of them. If a recorded part
      left the source otherwise, the table may be another one, and every part is doubtful.
    - In the destination: the parts that the record does not list. On the way to hot, an insert is no clone.

    kept: names of the parts of the source that a repair has detached.
    added: number of rows of the table that a repair has added to the twin, or was about to add.
    """
    source, destination = record.destination.other, record.destination
    names = parse_names(_names(parts.on(source)), partition_id, _WHERE)
    recorded = parse_names(record.parts, partition_id, _WHERE)
    former = parse_names(kept, partition_id, _WHERE)
    present = contents(parts.on(source))
    is_known = all(_is_explained(each, record, [*names, *former], present) for each in recorded)
    in_source = tuple(
        each.text for each in names if not is_known or any(each.covers(other) for other in recorded)
    )
    new = [part for part in parts.on(destination) if part.name not in record.held]
    # A clone has no mutation in its name, whatever its part has.
    new_names = parse_names(_names(new), partition_id, _WHERE)
    is_mutated = any(each.mutation is not None for each in new_names) or any(
        each.covers(other) and each.mutation != other.mutation for each in names for other in recorded
    )
    if destination is Side.HOT:
        new = [part for part in new if not _is_insert(part, record, partition_id)]
        return Doubtful(_names(new), in_source, is_mutated=is_mutated)
    is_intact = record.held.items() <= contents(parts.cold).items()
    is_taken = any(name.covers(each) for each in recorded for name in former)
    are_clones = is_intact and is_known and not (record.dropping or record.dropped or is_taken)
    inside = (each.text for each in recorded if any(name.covers(each) for name in names))
    most = sum(record.parts[name].rows for name in inside) + added
    problem = _too_many(record, parts.cold, added)
    return Doubtful(in_source, _names(new), are_clones, problem, most if is_known else None, is_mutated)


def _is_explained(
    part: PartName, record: TwinRecord, others: Iterable[PartName], present: Mapping[str, PartContent]
) -> bool:
    """Whether the recorded part is in the source, alone or inside another part, or a run took it out."""
    if part.text in record.dropping or part.text in record.dropped:
        return True
    content = present.get(part.text)
    if content is not None:
        return content == record.parts[part.text]
    return any(each.covers(part) for each in others)


def _is_insert(part: TwinPart, record: TwinRecord, partition_id: str) -> bool:
    """Whether an INSERT certainly wrote the new part of the hot table."""
    (name,) = parse_names([part.name], partition_id, _WHERE)
    return name.level == 0 and name.mutation is None and part.content not in record.parts.values()


def _too_many(record: TwinRecord, cold: Parts, added: int) -> str:
    """Return the problem of a twin with more rows than the record explains: some were cloned twice."""
    rows = sum(part.content.rows for part in cold) - added
    known = sum(each.rows for contents in (record.parts, record.held) for each in contents.values())
    if rows <= known:
        return ""
    return (
        f"the twin has {rows:,} rows of it, and its record explains only {known:,}: clones were made more"
        " than once, or rows were inserted into the twin"
    )


def _names(parts: Iterable[TwinPart]) -> tuple[str, ...]:
    return tuple(sorted(part.name for part in parts))
