# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Classifies a partition by its record and by its active parts in both tables.

All functions are about a single partition and need replicas with equal parts: no state is defined otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from .clones import must_roll_back, new_parts
from .lineage import is_made_of, merged_of, resolve_merged
from .record import TwinRecord, contents
from .tables import PartContent, Parts, PartsOf, Side, TwinPart

_WHERE = "system.parts"


class TwinState(str, Enum):
    """The state of a partition between its two tables; `transitions` describes the step of each state."""

    ABSENT = "absent"
    AT_DESTINATION = "at_destination"
    AT_SOURCE = "at_source"
    RECORDED = "recorded"
    STALE = "stale"
    UNDOING = "undoing"
    ATTACHED = "attached"
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
    if not record.is_verified:
        return _not_verified(record, parts, partition_id)
    source = _ActiveParts(parts.on(record.destination.other), partition_id)
    destination = _ActiveParts(parts.on(record.destination), partition_id)
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
        is_stale = must_roll_back(record, parts)
        return Classification(TwinState.STALE if is_stale else TwinState.RECORDED)
    left = left_to_undo(record, parts, partition_id)
    # Nobody inserts into the twin, so new parts in the twin can safely be compared again.
    if isinstance(left, str) and record.destination is Side.HOT:
        return Classification(TwinState.UNKNOWN, left)
    return Classification(TwinState.UNDOING)


def _place_of(name: str, record: TwinRecord, source: _ActiveParts) -> _Place | str:
    """Return the fate of a recorded part in the source, or the problem if this cannot be decided."""
    content = source.contents.get(name)
    if content is not None:
        is_same = content == record.parts[name]
        return _Place.ACTIVE if is_same else f"part {name} of the source has other content than recorded"
        # A run executes the next DROP PART only after every replica executed the previous DROP PART.
    if name in record.dropping[:-1]:
        return _Place.DROPPED
    if name not in record.dropping:
        if source.covers(name):
            return _Place.MERGED
        return f"part {name} left the source, and this collection did not drop it"
    # A merge may skip a dropped part, so the merged part need not have the rows of the dropped part.
    if source.covers(name):
        return f"part {name} was about to be dropped, and a merge took it into another part"
    return _Place.DROPPED


class UndoPlan(NamedTuple):
    """The parts of the destination to drop in order to undo an ATTACH."""

    drop: tuple[str, ...]
    problem: str = ""
    """Why these parts cannot be identified; then no part may be dropped."""


def plan_undo(record: TwinRecord, parts: PartsOf, partition_id: str) -> UndoPlan:
    """Decide which parts of the destination an undo drops, while every recorded row still is in the source.

    A new part of the destination is dropped only if the source has an equal part. Of several equal parts no
    more are dropped than the source has.

    - In the twin, where nobody inserts, a new part is also dropped if it equals a part that the source has
      merged since: a recorded part, or a part that came to the source before the ATTACH.
    - A part that certainly was merged from clones is dropped if each of these clones may be dropped.
    """
    source = _ActiveParts(parts.on(record.destination.other), partition_id)
    allowed = Counter(source.contents.values())
    if record.destination is Side.COLD:
        past = {**contents(parts.past(Side.HOT)), **record.parts}
        merged = (name for name in past if name not in source.contents and source.covers(name))
        allowed.update(past[name] for name in merged)
    clone_contents = frozenset(allowed)
    drop: list[str] = []
    equal: dict[PartContent, TwinPart] = {}
    # Among equal parts, start with parts that have a merge level: an inserted part has level 0.
    for part in sorted(new_parts(record, parts), key=lambda part: -_level(part, partition_id)):
        cloned, others = resolve_merged(record, parts, [part], partition_id, clone_contents)
        clones = Counter(each.content for each in cloned)
        if not others and not clones - allowed:
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
    destination = _ActiveParts(parts.on(record.destination), partition_id)
    undoing = destination.parsed(record.undoing)
    left: dict[str, None] = {}
    for part in undoing:
        if part.text in destination.contents:
            left[part.text] = None
        for merged_part in destination.covering(part):
            if not is_made_of(merged_part, undoing):
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
    if rows == part.content.rows:
        return ""  # Merged from parts that the destination had before the ATTACH, and from no other part.
    if name.level or name.mutation is not None:
        return f"part {part.name} of the destination was merged from parts that may be clones"
    if record.destination is Side.COLD:
        return f"part {part.name} of the destination is no clone of a part of the source"
    if part.content in record.parts.values() and not is_in_source:
        return f"part {part.name} of the destination equals a part that the source has lost"
    return ""  # An INSERT wrote the part.


class _ActiveParts:
    """The active parts of a partition in a table."""

    def __init__(self, parts: Parts, partition_id: str) -> None:
        self._partition_id = partition_id
        self.contents = contents(parts)
        self.names: list[PartName] = parse_names(self.contents, partition_id, _WHERE)

    def has(self, name: str, content: PartContent) -> bool:
        return self.contents.get(name) == content

    def covers(self, name: str) -> bool:
        """Whether an active part contains the part after a merge or a mutation."""
        return bool(self.covering(*self.parsed([name])))

    def covering(self, part: PartName) -> list[PartName]:
        """Return the active parts that contain the part after a merge or a mutation; at most one."""
        return [each for each in self.names if each.text != part.text and each.covers(part)]

    def parsed(self, names: Iterable[str]) -> list[PartName]:
        return parse_names(names, self._partition_id, _WHERE)


def _missing_clone(record: TwinRecord, waiting: Iterable[str], destination: _ActiveParts) -> str:
    """Return the problem of a part to drop without its clone; "" if the destination has all clones."""
    of_clone = {clone: record.parts[name] for name, clone in record.clones.items()}
    clones = destination.parsed(of_clone)
    for name in waiting:
        clone = record.clones[name]
        if destination.has(clone, record.parts[name]):
            continue
        (parsed,) = destination.parsed([clone])
        # A merge may have taken the clone. Then the merged part must have the rows of all clones inside.
        merged_part = [each for each in destination.names if each.text != clone and each.covers(parsed)]
        rows = sum(of_clone[each.text].rows for each in clones if merged_part and merged_part[0].covers(each))
        if not merged_part or destination.contents[merged_part[0].text].rows < rows:
            return f"the destination has lost {clone}, the clone of {name}"
    return ""


def _parts_to_release(
    record: TwinRecord, merged: Iterable[str], gone: Iterable[str], destination: _ActiveParts
) -> Classification | str:
    """Return the parts to take out of the record because the source merged them, and the clones to drop.

    Clones that were merged together can only be undone together. Returns the problem if it cannot be decided
    which clones a merged part contains; then no part may be dropped.
    """
    parts, undo = set(merged), set(record.undoing)
    of_clone = {clone: name for name, clone in record.clones.items()}
    clones = [(each, record.parts[of_clone[each.text]]) for each in destination.parsed(of_clone)]
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
        rows = destination.contents[part.text].rows if part.text in destination.contents else None
        inside = [each.text for each, _content in clones if part.covers(each)]
        if rows is not None and merged_of(part, rows, clones) is None and part.text not in of_clone:
            return f"it is uncertain which clones part {part.text} of the destination was merged from"
        parts.update(of_clone[each] for each in inside)
    if not parts.isdisjoint(gone):
        name = min(parts.intersection(gone))
        return f"part {name} was dropped, and its clone was merged with clones of parts still in the source"
    return Classification(TwinState.MERGED, parts=tuple(sorted(parts)), undo=tuple(sorted(undo)))
