# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a partition is between its two tables, by its record and by what every replica has of it.

All of this is about one partition of which the replicas have equal parts; where they do not, nobody can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from .clones import must_roll_back, new_in
from .lineage import is_made_of, merged_of, resolve_merged
from .record import TwinRecord, contents
from .tables import PartContent, Parts, PartsOf, Side, TwinPart

_WHERE = "system.parts"


class TwinState(str, Enum):
    """The state of a partition between its two tables; `transitions` has the step that follows from each."""

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
    """The state of a partition, and what of it matters there."""

    state: TwinState
    problem: str = ""
    """What is not understood, for UNKNOWN."""
    parts: tuple[str, ...] = ()
    """Parts of the source: those still to be dropped, and for MERGED those that are to leave the record."""
    undo: tuple[str, ...] = ()
    """For MERGED, parts of the destination that have clones of these and of no others."""


def without_record(parts: PartsOf, destination: Side) -> TwinState:
    """The state of a partition that no run has begun to move."""
    if parts.on(destination.other):
        return TwinState.AT_SOURCE
    return TwinState.AT_DESTINATION if parts.on(destination) else TwinState.ABSENT


class _Place(Enum):
    """Where a recorded part is."""

    THERE = "there"
    GONE = "gone"
    MERGED = "merged"


def with_record(record: TwinRecord, parts: PartsOf, partition_id: str) -> Classification:
    """The state of a partition that a run has begun to move."""
    if not record.is_verified:
        return _not_verified(record, parts, partition_id)
    source = _Active(parts.on(record.destination.other), partition_id)
    destination = _Active(parts.on(record.destination), partition_id)
    names: dict[_Place, list[str]] = {place: [] for place in _Place}
    for name in record.parts:
        place = _place_of(name, record, source)
        if isinstance(place, str):
            return Classification(TwinState.UNKNOWN, place)
        names[place].append(name)
    waiting, merged = names[_Place.THERE], names[_Place.MERGED]
    release = _released(record, merged, names[_Place.GONE], destination)
    waits = [] if isinstance(release, str) else [each for each in waiting if each not in release.parts]
    problem = release if isinstance(release, str) else _lost_clone(record, waits, destination)
    if isinstance(release, str) or problem:
        return Classification(TwinState.UNKNOWN, problem)
    if release.parts:
        return release
    if not waiting:
        return Classification(TwinState.DROPPED)
    state = TwinState.DROPPED_PARTLY if names[_Place.GONE] else TwinState.ATTACHED
    return Classification(state, parts=tuple(waiting))


def _not_verified(record: TwinRecord, parts: PartsOf, partition_id: str) -> Classification:
    if not record.undoing:
        is_stale = must_roll_back(record, parts)
        return Classification(TwinState.STALE if is_stale else TwinState.RECORDED)
    left = left_to_undo(record, parts, partition_id)
    # In the twin, which nobody inserts into, what came can be compared anew.
    if isinstance(left, str) and record.destination is Side.HOT:
        return Classification(TwinState.UNKNOWN, left)
    return Classification(TwinState.UNDOING)


def _place_of(name: str, record: TwinRecord, source: _Active) -> _Place | str:
    """Where a recorded part is by what the source has; or why nobody can tell."""
    shown = source.contents.get(name)
    if shown is not None:
        is_same = shown == record.parts[name]
        return _Place.THERE if is_same else f"part {name} of the source is another one by now"
    # The next DROP PART is only given once the one before it was done on every replica.
    if name in record.dropping[:-1]:
        return _Place.GONE
    if name not in record.dropping:
        if source.covers(name):
            return _Place.MERGED
        return f"part {name} left the source, and this collection did not drop it"
    # A merge may skip over a part that was dropped, so that the other part need not have its rows.
    if source.covers(name):
        return f"part {name} was about to be dropped, and a merge has taken its place"
    return _Place.GONE


class Undoing(NamedTuple):
    """How an ATTACH is undone: the parts of the destination to drop."""

    drop: tuple[str, ...]
    problem: str = ""
    """Why nobody can tell which these are; nothing is to be dropped then."""


def undoing(record: TwinRecord, parts: PartsOf, partition_id: str) -> Undoing:
    """What the destination has twice because of an ATTACH, before anything was dropped from the source.

    A part that is new in the destination is dropped only if the source has an equal one, and of parts that
    are equal no more are dropped than it has. In the twin, which nobody inserts into, also those are dropped
    that have been merged in the source since, whether they were recorded or came before the ATTACH. What is
    certain to have been merged of clones is dropped where each of them may be.
    """
    source = _Active(parts.on(record.destination.other), partition_id)
    allowed = Counter(source.contents.values())
    if record.destination is Side.COLD:
        past = {**contents(parts.past(Side.HOT)), **record.parts}
        merged = (name for name in past if name not in source.contents and source.covers(name))
        allowed.update(past[name] for name in merged)
    has = frozenset(allowed)
    drop: list[str] = []
    equal: dict[PartContent, TwinPart] = {}
    # Of parts that are equal those with a level first: an insert has none.
    for part in sorted(new_in(record, parts), key=lambda part: -_level(part, partition_id)):
        cloned, others = resolve_merged(record, parts, [part], partition_id, has)
        clones = Counter(each.content for each in cloned)
        if not others and not clones - allowed:
            allowed -= clones
            drop.append(part.name)
            equal[part.content] = part
        elif part.content in equal and _level(equal[part.content], partition_id) == 0:
            # If it were the clone that stays, an ATTACH of another run would not make it again.
            return Undoing((), _one_inserted(equal[part.content], part))
        else:
            problem = _other(record, part, partition_id, is_in_source=part.content in has)
            if problem:
                return Undoing((), problem)
    return Undoing(tuple(drop))


def left_to_undo(record: TwinRecord, parts: PartsOf, partition_id: str) -> list[str] | str:
    """What an undo that was begun has still to drop; or why nobody can tell.

    That is also what was merged of nothing but parts that it was to drop.
    """
    there = _Active(parts.on(record.destination), partition_id)
    undoing = there.parsed(record.undoing)
    left: dict[str, None] = {}
    for part in undoing:
        if part.text in there.contents:
            left[part.text] = None
        for into in there.covering(part):
            if not is_made_of(into, undoing):
                return (
                    f"part {part.text} of the destination was about to be dropped, and a merge has taken its"
                    " place"
                )
            left[into.text] = None
    return list(left)


def _one_inserted(part: TwinPart, other: TwinPart) -> str:
    return f"parts {part.name} and {other.name} of the destination are equal, and one of them was inserted"


def _level(part: TwinPart, partition_id: str) -> int:
    return parse_names([part.name], partition_id, _WHERE)[0].level


def _other(record: TwinRecord, part: TwinPart, partition_id: str, *, is_in_source: bool) -> str:
    """Why a part that is not to be dropped may be a clone, or have one in it; empty where it cannot."""
    (name,) = parse_names([part.name], partition_id, _WHERE)
    held = parse_names(record.held, partition_id, _WHERE)
    rows = sum(record.held[each.text].rows for each in held if name.covers(each))
    if rows == part.content.rows:
        return ""  # It was merged of what had been there before, and of nothing else.
    if name.level or name.mutation is not None:
        return f"part {part.name} of the destination was merged of parts that may be clones"
    if record.destination is Side.COLD:
        return f"part {part.name} of the destination is no clone of what the source has"
    if part.content in record.parts.values() and not is_in_source:
        return f"part {part.name} of the destination equals one that the source has lost"
    return ""  # It was inserted.


class _Active:
    """The active parts of one partition in one table."""

    def __init__(self, parts: Parts, partition_id: str) -> None:
        self._partition_id = partition_id
        self.contents = contents(parts)
        self.names: list[PartName] = parse_names(self.contents, partition_id, _WHERE)

    def has(self, name: str, content: PartContent) -> bool:
        return self.contents.get(name) == content

    def covers(self, name: str) -> bool:
        """Whether a part that it became by merges and mutations is active."""
        return bool(self.covering(*self.parsed([name])))

    def covering(self, part: PartName) -> list[PartName]:
        """The active part that it became, if there is one."""
        return [each for each in self.names if each.text != part.text and each.covers(part)]

    def parsed(self, names: Iterable[str]) -> list[PartName]:
        return parse_names(names, self._partition_id, _WHERE)


def _lost_clone(record: TwinRecord, waiting: Iterable[str], destination: _Active) -> str:
    """What of the parts that wait to be dropped the destination has not; empty where it has all."""
    of_clone = {clone: record.parts[name] for name, clone in record.clones.items()}
    clones = destination.parsed(of_clone)
    for name in waiting:
        clone = record.clones[name]
        if destination.has(clone, record.parts[name]):
            continue
        (parsed,) = destination.parsed([clone])
        # A merge takes clones with it, and then what came of it has all of their rows.
        into = [each for each in destination.names if each.text != clone and each.covers(parsed)]
        rows = sum(of_clone[each.text].rows for each in clones if into and into[0].covers(each))
        if not into or destination.contents[into[0].text].rows < rows:
            return f"the destination has lost {clone}, the clone of {name}"
    return ""


def _released(
    record: TwinRecord, merged: Iterable[str], gone: Iterable[str], destination: _Active
) -> Classification | str:
    """Which parts leave the record, as some of them were merged in the source, and what is undone for that.

    Clones that were merged since can only be undone together. Or why nobody can tell what these were merged
    into; then nothing is to be done.
    """
    parts, undo = set(merged), set(record.undoing)
    of_clone = {clone: name for name, clone in record.clones.items()}
    clones = [(each, record.parts[of_clone[each.text]]) for each in destination.parsed(of_clone)]
    for text in record.undoing:
        if text not in destination.contents and destination.covers(text):
            return f"part {text} of the destination was about to be dropped, and a merge has taken its place"
    for name in merged:
        clone, content = record.clones[name], record.parts[name]
        if destination.has(clone, content):
            undo.add(clone)
        elif destination.covers(clone):
            (parsed,) = destination.parsed([clone])
            into = next(each for each in destination.names if each.covers(parsed))
            undo.add(into.text)
    for part in destination.parsed(undo):
        rows = destination.contents[part.text].rows if part.text in destination.contents else None
        inside = [each.text for each, _content in clones if part.covers(each)]
        if rows is not None and merged_of(part, rows, clones) is None and part.text not in of_clone:
            return f"part {part.text} of the destination was merged of clones of parts that were merged, too"
        parts.update(of_clone[each] for each in inside)
    if not parts.isdisjoint(gone):
        name = min(parts.intersection(gone))
        return f"part {name} was dropped, and its clone was merged with those of parts that are there still"
    return Classification(TwinState.MERGED, parts=tuple(sorted(parts)), undo=tuple(sorted(undo)))
