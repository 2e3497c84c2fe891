# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which parts of the destination an undo drops, while every row of them still is in the source.

All functions are about a single partition and need replicas with equal parts.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ...formats.names import parse_names
from .active_parts import ActiveParts
from .clones import new_parts
from .lineage import has_only_blocks_of, resolve_merged
from .record import TwinRecord, contents
from .tables import KnownClones, PartContent, PartsOf, Side, TwinPart

_WHERE = "system.parts"


class UndoPlan(NamedTuple):
    """The parts of the destination to drop in order to undo an ATTACH."""

    drop: tuple[str, ...]
    problem: str = ""
    """Why these parts cannot be identified; then no part may be dropped."""


def plan_undo(record: TwinRecord, parts: PartsOf, partition_id: str) -> UndoPlan:
    """Decide which parts of the destination an undo drops. The record names no clones.

    A new part whose blocks are all of clones that the ensemble knows is dropped, whatever mutations did to it
    since. On the way to hot, no other part is: it may be an insert. In the twin, see `_plan_by_content`.
    """
    source = ActiveParts(parts.on(record.destination.other), partition_id)
    clones = parts.clones
    known = parse_names(clones.names if clones else (), partition_id, _WHERE)
    proven: list[TwinPart] = []
    others: list[TwinPart] = []
    for part in new_parts(record, parts):
        (name,) = parse_names([part.name], partition_id, _WHERE)
        (proven if has_only_blocks_of(name, known) else others).append(part)
    lost = _lost_part(record, source) if proven else ""
    if lost:
        return UndoPlan((), lost)
    if record.destination is Side.HOT and clones is not None:
        problem = _unproven(record, others, partition_id, clones, source)
        return UndoPlan((), problem) if problem else UndoPlan(tuple(part.name for part in proven))
    plan = _plan_by_content(record, parts, partition_id, proven, others)
    return plan if plan.problem else UndoPlan((*(part.name for part in proven), *plan.drop))


def plan_undo_of_clones(record: TwinRecord, parts: PartsOf, partition_id: str) -> UndoPlan:
    """Decide which parts of the destination hold the clones that the record names; all must be dropped."""
    lost = _lost_part(record, ActiveParts(parts.on(record.destination.other), partition_id))
    if lost:
        return UndoPlan((), lost)
    destination = ActiveParts(parts.on(record.destination), partition_id)
    clones = destination.parsed(record.clones.values())
    drop = [name for name in destination.names if any(name.covers(each) for each in clones)]
    for name in drop:
        if not has_only_blocks_of(name, clones):
            return UndoPlan((), f"part {name.text} of the destination was merged from clones and other parts")
    return UndoPlan(tuple(name.text for name in drop))


def _lost_part(record: TwinRecord, source: ActiveParts) -> str:
    """Return the problem of a recorded part that the source has lost; "" if the source has all of them."""
    for name in record.parts:
        if name not in source.contents and not source.covers(name):
            return f"part {name} left the source, and this collection did not drop it"
    return ""


def _unproven(
    record: TwinRecord,
    others: list[TwinPart],
    partition_id: str,
    clones: KnownClones,
    source: ActiveParts,
) -> str:
    """Return why a new part of hot may be, or contain, a clone although the ensemble does not know it."""
    known = parse_names(clones.names, partition_id, _WHERE)
    held = parse_names(record.held, partition_id, _WHERE)
    possible = {*record.parts.values(), *source.contents.values()}
    for part in others:
        (name,) = parse_names([part.name], partition_id, _WHERE)
        if any(name.covers(each) for each in known):
            return f"part {part.name} of the destination was merged from clones and other parts"
        if clones.complete or has_only_blocks_of(name, held):
            continue
        if name.level or name.mutation is not None:
            return f"part {part.name} of the destination was merged from parts that may be clones"
        if part.content in possible:
            return f"it is not known whether part {part.name} of the destination is a clone or was inserted"
    return ""


def _plan_by_content(
    record: TwinRecord,
    parts: PartsOf,
    partition_id: str,
    proven: list[TwinPart],
    others: list[TwinPart],
) -> UndoPlan:
    """Decide which of the other new parts an undo drops besides the proven clones.

    A new part of the destination is dropped only if the source has an equal part. Of several equal parts no
    more are dropped than the source has.

    - In the twin, where nobody inserts, a new part is also dropped if it equals a part that the source has
      merged since: a recorded part, or a part that came to the source before the ATTACH.
    - A part that certainly was merged from clones is dropped if each of these clones may be dropped.
    """
    source = ActiveParts(parts.on(record.destination.other), partition_id)
    allowed = Counter(source.contents.values())
    if record.destination is Side.COLD:
        past = {**contents(parts.past(Side.HOT)), **record.parts}
        merged = (name for name in past if name not in source.contents and source.covers(name))
        allowed.update(past[name] for name in merged)
    clone_contents = frozenset(allowed)
    allowed -= Counter(part.content for part in proven)
    drop: list[str] = []
    equal: dict[PartContent, TwinPart] = {}
    # Among equal parts, start with parts that have a merge level: an inserted part has level 0.
    for part in sorted(others, key=lambda part: -_level(part, partition_id)):
        cloned, uncertain = resolve_merged(record, parts, [part], partition_id, clone_contents)
        clones = Counter(each.content for each in cloned)
        if not uncertain and not clones - allowed:
            allowed -= clones
            drop.append(part.name)
            equal[part.content] = part
        elif part.content in equal and _level(equal[part.content], partition_id) == 0:
            # If the clone stayed instead of the insert, the ATTACH of another run would not clone the part
            # again.
            return UndoPlan((), _ambiguous_insert(equal[part.content], part))
        else:
            problem = _may_be_clone(record, part, partition_id, is_in_source=part.content in clone_contents)
            if problem:
                return UndoPlan((), problem)
    return UndoPlan(tuple(drop))


def left_to_undo(record: TwinRecord, parts: PartsOf, partition_id: str) -> list[str] | str:
    """Return the parts left to drop for a begun undo, or the problem if this cannot be decided.

    The result includes parts merged only from parts that the undo was about to drop.
    """
    destination = ActiveParts(parts.on(record.destination), partition_id)
    undoing = destination.parsed(record.undoing)
    left: dict[str, None] = {}
    for part in undoing:
        if part.text in destination.contents:
            left[part.text] = None
        for merged_part in destination.covering(part):
            if not has_only_blocks_of(merged_part, undoing):
                return (
                    f"part {part.text} of the destination was about to be dropped, and a merge took it into"
                    " another part"
                )
            left[merged_part.text] = None
    return list(left)


def _ambiguous_insert(part: TwinPart, other: TwinPart) -> str:
    return f"parts {part.name} and {other.name} of the destination are equal, and an INSERT wrote one of them"


def _level(part: TwinPart, partition_id: str) -> int:
    return parse_names([part.name], partition_id, _WHERE)[0].level


def _may_be_clone(record: TwinRecord, part: TwinPart, partition_id: str, *, is_in_source: bool) -> str:
    """Return why a part outside the undo may be, or contain, a clone; "" if it certainly does not."""
    (name,) = parse_names([part.name], partition_id, _WHERE)
    held = parse_names(record.held, partition_id, _WHERE)
    rows = sum(record.held[each.text].rows for each in held if name.covers(each))
    if rows == part.content.rows or has_only_blocks_of(name, held):
        return ""  # Merged from parts that the destination had before the ATTACH, and from no other part.
    if name.level or name.mutation is not None:
        return f"part {part.name} of the destination was merged from parts that may be clones"
    if record.destination is Side.COLD:
        return f"part {part.name} of the destination is no clone of a part of the source"
    if part.content in record.parts.values() and not is_in_source:
        return f"part {part.name} of the destination equals a part that the source has lost"
    return ""  # An INSERT wrote the part.
