# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Undoes an ATTACH: drops clones from the destination by name, and removes the record afterwards.

The record names the parts to drop before the first DROP PART. Otherwise a later run would find clones missing
without a reason. A next step finds the parts gone, and removes the record.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import PartTooLarge
from ...journal.events import Event
from .changes import change_since, refuse_change
from .classify import Classification
from .group import Group
from .merges import start_merges_before_removal
from .progress import Current, Progress, chunks_of
from .record import TwinRecord
from .refusals import Refused
from .report import FinishedTwin
from .tables import Side
from .undo_plan import UndoPlan, left_to_undo, plan_undo, plan_undo_of_clones


def undo(group: Group, currents: Sequence[Current]) -> None:
    """Drop the new parts of the destination that are clones, of partitions whose records name no clones.

    A partition that a statement has changed is deferred, and not recorded again at once: the statement may
    still have to come to the other table.
    """
    if not currents:
        return
    try:
        known = group.with_known_clones(currents)
        marks = group.read_marks([each.progress for each in currents])
    except Refused as refused:
        group.leave_refused((each.progress for each in currents), refused)
        return
    for each in known:
        progress = each.progress
        change = change_since(each.record, group.shard.tables, marks, progress.id)
        if change and each.record.marks is not None and progress.leaves_as is None:
            progress.leaves_as = refuse_change(change)
    _begin_undo(group, [(each, plan_undo(each.record, each.parts, each.progress.id)) for each in known])


def undo_clones(group: Group, currents: Sequence[Current]) -> None:
    """Drop the clones that the records name, of partitions that have lost no part of the source yet."""
    _begin_undo(
        group, [(each, plan_undo_of_clones(each.record, each.parts, each.progress.id)) for each in currents]
    )


def _begin_undo(group: Group, plans: Sequence[tuple[Current, UndoPlan]]) -> None:
    events: dict[str, dict[str, object]] = {}
    changes: list[tuple[Progress, TwinRecord]] = []
    removed: list[Progress] = []
    for each, plan in plans:
        if plan.problem:
            group.leave_unknown(each.progress, plan.problem)
        elif plan.drop:
            events[each.progress.id] = {"parts": list(plan.drop), "reason": each.progress.problem}
            changes.append((each.progress, each.record._replace(clones={}, undoing=plan.drop)))
        else:
            removed.append(each.progress)
    group.record_events(Event.ATTACH_UNDONE, events)
    group.commit(changes)
    remove_records(group, removed)
    _drop(group, [(progress, list(record.undoing)) for progress, record in changes])


def continue_undo(group: Group, currents: Sequence[Current]) -> None:
    """Drop the parts that are left of an undo, or remove the record if none is left.

    On the way to hot, the run compares nothing again once a clone was dropped: an insert that arrived since
    and equals a clone would be mistaken for the clone.
    """
    drops: list[tuple[Progress, list[str]]] = []
    again: list[tuple[Progress, TwinRecord]] = []
    removed: list[Progress] = []
    for each in currents:
        left = left_to_undo(each.record, each.parts, each.progress.id)
        if isinstance(left, str):
            # In the twin alone: each new part comes from a clone, so a second comparison mistakes no insert.
            again.append((each.progress, each.record._replace(undoing=())))
        elif left:
            drops.append((each.progress, left))
        else:
            removed.append(each.progress)
    group.commit(again)
    remove_records(group, removed)
    _drop(group, drops)


def drop_merged_clones(group: Group, currents: Sequence[Current]) -> None:
    """Drop the clones of parts that were merged in the source, and take these parts out of the record.

    A first step drops the clones, and a next step finds them gone.
    """
    drops: list[tuple[Progress, list[str]]] = []
    changes: list[tuple[Progress, TwinRecord | None]] = []
    removed: list[Progress] = []
    events = {}
    for each in currents:
        record, classification = each.record, each.classification
        active = {part.name for part in each.parts.on(record.destination)}
        undo_now = [name for name in classification.undo if name in active]
        if undo_now:
            changes.append((each.progress, record._replace(undoing=classification.undo)))
            drops.append((each.progress, undo_now))
            reason = f"parts of {', '.join(classification.parts)} were merged in the source"
            events[each.progress.id] = {"parts": undo_now, "reason": reason}
        elif len(classification.parts) < len(record.parts):
            changes.append((each.progress, _without(record, classification)))
        else:
            removed.append(each.progress)
    group.record_events(Event.ATTACH_UNDONE, events)
    group.commit(changes)
    remove_records(group, removed)
    _drop(group, drops)


def _without(record: TwinRecord, classification: Classification) -> TwinRecord:
    """Return the record without the parts that the source has merged."""
    remaining = {name: each for name, each in record.parts.items() if name not in classification.parts}
    clones = {name: record.clones[name] for name in remaining}
    released = (*record.released, *classification.parts)
    return record._replace(parts=remaining, clones=clones, undoing=(), released=released)


def _drop(group: Group, drops: Sequence[tuple[Progress, Sequence[str]]]) -> None:
    if not drops:
        return
    refusal = group.hide_clones()
    if refusal is not None:
        group.leave((each for each, _names in drops), refusal)
        return
    sides = {each.id: each.record.destination for each, _names in drops}
    for side, chunk in chunks_of(drops, sides):
        going = [(each, names) for each, names in chunk if not each.is_done]
        members = [each for each, _names in going]
        try:
            if going:
                _drop_or_note(group, members, side, [name for _each, names in going for name in names])
        except Refused as refused:
            group.leave_refused(members, refused)


def _drop_or_note(group: Group, members: Sequence[Progress], side: Side, names: Sequence[str]) -> None:
    """Drop the parts, or note which of them are left. Raises Refused."""
    try:
        if group.drop(members, side, names):
            return
    except PartTooLarge:
        # The record keeps naming these parts: they still have to be dropped.
        group.refuse_too_large(members, side, names)
        return
    group.note_refused_drop(members)
    _note_what_is_left(group, members)


def _note_what_is_left(group: Group, members: Sequence[Progress]) -> None:
    """Take parts out of the undo that a server refused to drop, as a merge may take them into another part.

    On the way to hot only if none was dropped: otherwise an insert could be mistaken for a dropped clone.
    """
    found = group.read(members)
    changes: list[tuple[Progress, TwinRecord | None]] = []
    for each in members:
        record = each.record
        active = {part.name for parts in found[each.id] for part in parts.on(record.destination)}
        left = tuple(name for name in record.undoing if name not in active)
        if record.is_verified or (record.destination is Side.HOT and not left):
            changes.append((each, record._replace(undoing=left)))
    group.commit(changes)


def remove_records(group: Group, members: Sequence[Progress]) -> None:
    """Remove the records of partitions without clones, which begin anew or leave with their outcome."""
    if not members:
        return
    refusal = group.show_before_removal(members)
    if refusal is not None:
        group.leave(members, refusal)
        return
    try:
        start_merges_before_removal(group, members)
    except Refused as refused:
        group.leave_refused(members, refused)
        return
    destinations = {each.id: each.record.destination for each in members}
    group.commit([(each, None) for each in members])
    for each in members:
        if each.finishing:
            each.is_done = True
            group.report.finished[each.id] = FinishedTwin(each.id, destinations[each.id], undone=True)
        elif each.leaves_as is not None:
            group.leave([each], each.leaves_as)
