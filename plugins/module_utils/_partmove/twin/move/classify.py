# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Classifies a partition by its record and by its active parts in both tables.

All functions are about a single partition and need replicas with equal parts: no state is defined otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from .active_parts import ActiveParts
from .clones import is_source_changed, may_have_clones
from .lineage import has_only_blocks_of
from .record import TwinRecord
from .tables import PartsOf, Side
from .undo_plan import left_to_undo


class TwinState(str, Enum):
    """The state of a partition between its two tables; `transitions` describes the step of each state."""

    ABSENT = "absent"
    AT_DESTINATION = "at_destination"
    AT_SOURCE = "at_source"
    RECORDED = "recorded"
    CLONED = "cloned"
    STALE = "stale"
    UNDOING = "undoing"
    ATTACHED = "attached"
    CHANGED = "changed"
    DROPPED_PARTLY = "dropped_partly"
    DROPPED = "dropped"
    MERGED = "merged"
    UNKNOWN = "unknown"


class Classification(NamedTuple):
    """The state of a partition, and the parts for the next step."""

    state: TwinState
    problem: str = ""
    """For UNKNOWN, why no other state fits."""
    parts: tuple[str, ...] = ()
    """Parts of the source: those left to drop; for MERGED, those to take out of the record."""
    undo: tuple[str, ...] = ()
    """For MERGED, parts of the destination that hold clones of ``parts`` and of no other recorded part."""


def classify_unrecorded(parts: PartsOf, destination: Side) -> TwinState:
    """Classify a partition without a record."""
    if parts.on(destination.other):
        return TwinState.AT_SOURCE
    return TwinState.AT_DESTINATION if parts.on(destination) else TwinState.ABSENT


class _Place(Enum):
    """The fate of a recorded part in the source."""

    ACTIVE = "active"
    DROPPED = "dropped"
    MERGED = "merged"


def classify_recorded(record: TwinRecord, parts: PartsOf, partition_id: str) -> Classification:
    """Classify a partition with a record."""
    classify = _verified if record.is_verified else _not_verified
    return classify(record, parts, partition_id)


def _verified(record: TwinRecord, parts: PartsOf, partition_id: str) -> Classification:
    source = ActiveParts(parts.on(record.destination.other), partition_id)
    destination = ActiveParts(parts.on(record.destination), partition_id)
    if record.is_whole and (
        _is_mutated(record.parts, source) or _is_mutated(record.clones.values(), destination)
    ):
        return Classification(TwinState.CHANGED)
    names: dict[_Place, list[str]] = {place: [] for place in _Place}
    for name in record.parts:
        place = _place_of(name, record, source)
        if isinstance(place, str):
            return Classification(TwinState.UNKNOWN, place)
        names[place].append(name)
    waiting, merged = names[_Place.ACTIVE], names[_Place.MERGED]
    release = _parts_to_release(record, merged, names[_Place.DROPPED], destination)
    waits = [] if isinstance(release, str) else [each for each in waiting if each not in release.parts]
    problem = release if isinstance(release, str) else _missing_clone(record, waits, destination)
    if isinstance(release, str) or problem:
        return Classification(TwinState.UNKNOWN, problem)
    if release.parts:
        return release
    if not waiting:
        return Classification(TwinState.DROPPED)
    state = TwinState.DROPPED_PARTLY if names[_Place.DROPPED] else TwinState.ATTACHED
    return Classification(state, parts=tuple(waiting))


def _not_verified(record: TwinRecord, parts: PartsOf, partition_id: str) -> Classification:
    if not record.undoing:
        if is_source_changed(record, parts):
            return Classification(TwinState.STALE)
        is_cloned = may_have_clones(record, parts, partition_id)
        return Classification(TwinState.CLONED if is_cloned else TwinState.RECORDED)
    left = left_to_undo(record, parts, partition_id)
    # Nobody inserts into the twin, so new parts in the twin can safely be compared again.
    if isinstance(left, str) and record.destination is Side.HOT:
        return Classification(TwinState.UNKNOWN, left)
    return Classification(TwinState.UNDOING)


def _is_mutated(names: Iterable[str], table: ActiveParts) -> bool:
    """Whether a mutation has rewritten one of the parts since."""
    parsed = table.parsed(names)
    return any(each.mutation != part.mutation for part in parsed for each in table.covering(part))


def _place_of(name: str, record: TwinRecord, source: ActiveParts) -> _Place | str:
    """Return the fate of a recorded part in the source, or the problem if this cannot be decided."""
    content = source.contents.get(name)
    if content is not None:
        is_same = content == record.parts[name]
        return _Place.ACTIVE if is_same else f"part {name} of the source has other content than recorded"
    if name in record.dropped:
        return _Place.DROPPED
    if source.covers(name):
        # A merge may skip a dropped part, so the merged part need not have the rows of the part.
        if name not in record.dropping or _is_certainly_merged(name, record, source):
            return _Place.MERGED
        return f"part {name} was about to be dropped, and a merge took it into another part"
    if name in record.dropping:
        return _Place.DROPPED
    return f"part {name} left the source, and this collection did not drop it"


def _is_certainly_merged(name: str, record: TwinRecord, source: ActiveParts) -> bool:
    """Whether the part was mutated, or merged into a part with the rows of all recorded parts in range."""
    if source.has_mutation_of(name):
        return True
    (parsed,) = source.parsed([name])
    (merged_part,) = source.covering(parsed)
    inside = [each for each in source.parsed(record.parts) if merged_part.covers(each)]
    rows = sum(record.parts[each.text].rows for each in inside if each.text not in record.dropped)
    is_exact = rows == source.contents[merged_part.text].rows
    return merged_part.mutation is None and is_exact and has_only_blocks_of(merged_part, inside)


def _missing_clone(record: TwinRecord, waiting: Iterable[str], destination: ActiveParts) -> str:
    """Return the problem of a part to drop without its clone; "" if the destination has all clones."""
    of_clone = {clone: record.parts[name] for name, clone in record.clones.items()}
    clones = destination.parsed(of_clone)
    for name in waiting:
        clone = record.clones[name]
        if destination.has(clone, record.parts[name]) or destination.has_mutation_of(clone):
            continue
        (parsed,) = destination.parsed([clone])
        # A merge may have taken the clone. Then the merged part must have the rows of all clones inside.
        merged_part = [each for each in destination.names if each.text != clone and each.covers(parsed)]
        rows = sum(of_clone[each.text].rows for each in clones if merged_part and merged_part[0].covers(each))
        if not merged_part or destination.contents[merged_part[0].text].rows < rows:
            return f"the destination has lost {clone}, the clone of {name}"
    return ""


def _parts_to_release(
    record: TwinRecord, merged: Iterable[str], gone: Iterable[str], destination: ActiveParts
) -> Classification | str:
    """Return the parts to take out of the record because the source merged them, and the clones to drop.

    Clones that were merged together can only be undone together. Returns the problem if it cannot be decided
    which clones a merged part contains; then no part may be dropped.
    """
    parts, undo = set(merged), set(record.undoing)
    of_clone = {clone: name for name, clone in record.clones.items()}
    clones = destination.parsed(of_clone)
    for text in record.undoing:
        if text not in destination.contents and destination.covers(text):
            return (
                f"part {text} of the destination was about to be dropped, and a merge took it into"
                " another part"
            )
    for name in merged:
        clone, content = record.clones[name], record.parts[name]
        if destination.has(clone, content):
            undo.add(clone)
        elif destination.covers(clone):
            (parsed,) = destination.parsed([clone])
            merged_part = next(each for each in destination.names if each.covers(parsed))
            undo.add(merged_part.text)
    for part in destination.parsed(undo):
        inside = [each.text for each in clones if part.covers(each)]
        if part.text in destination.contents and not has_only_blocks_of(part, clones):
            return f"it is uncertain which clones part {part.text} of the destination was merged from"
        parts.update(of_clone[each] for each in inside)
    if not parts.isdisjoint(gone):
        name = min(parts.intersection(gone))
        return f"part {name} was dropped, and its clone was merged with clones of parts still in the source"
    return Classification(TwinState.MERGED, parts=tuple(sorted(parts)), undo=tuple(sorted(undo)))
