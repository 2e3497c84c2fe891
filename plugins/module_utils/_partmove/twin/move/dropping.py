# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drops parts by name, of several partitions in one statement, and records what may have been dropped.

Before each DROP PART of a part of the source, the record names the part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet

from ...errors import PartMoveError, PartTooLarge
from ...journal.events import Event
from .active_parts import ActiveParts
from .changes import change_since, refuse_change
from .gates import server_failed
from .group import Group
from .insert_blocks import count_insert_blocks
from .progress import Current, Drops, Progress, chunks_of
from .refusals import Refused
from .tables import Side
from .undoing import undo_clones


def drop_recorded(group: Group, currents: Sequence[Current]) -> None:
    """Drop the recorded parts of the source that are left, unless anything has changed since the record.

    Right before the first DROP PART of a partition the marks of both tables are read again. If they are newer
    than the record, the clones are dropped instead.
    """
    begun = {partition_id for partition_id, record in group.moving.items() if not record.is_whole}
    going = begun | {each.progress.id for each in currents}
    try:
        refusal = group.shard.readers.before_drop(group.shard.tables, group.moving, going)
    except PartMoveError as error:
        refusal = server_failed(error)
    if refusal is not None:
        group.leave((each.progress for each in currents), refusal)
        return
    _count_insert_blocks(group, currents)
    unchanged = _undo_changed(group, currents)
    drops = [(each.progress, each.classification.parts) for each in unchanged]
    group.record_events(
        Event.TWIN_DROPPING, {progress.id: {"parts": list(names)} for progress, names in drops}
    )
    _drop_all(group, drops, {each.progress.id: each.record.destination.other for each in unchanged})


def _count_insert_blocks(group: Group, currents: Sequence[Current]) -> None:
    """Count the INSERTs that hot forgets with the parts; before the marks are read, which have to be last."""
    members = [each.progress for each in currents if each.record.destination is Side.COLD]
    if not members:
        return
    found = count_insert_blocks(group.shard.hot, group.shard.shard_path, [each.id for each in members])
    for each in members:
        each.insert_blocks = max(each.insert_blocks, found.get(each.id, 0))


def _undo_changed(group: Group, currents: Sequence[Current]) -> list[Current]:
    """Return the partitions to drop; undo those that have changed and have lost no part yet."""
    begun = [each for each in currents if not each.record.is_whole]
    whole = [each for each in currents if each.record.is_whole]
    if not whole:
        return begun
    members = [each.progress for each in whole]
    try:
        marks = group.read_marks(members)
    except Refused as refused:
        group.leave_refused(members, refused)
        return begun
    changed = []
    for each in whole:
        change = change_since(each.record, group.shard.tables, marks, each.progress.id)
        if change:
            each.progress.problem = change
            # Without marks nothing is known to have changed: the partition is recorded again at once.
            each.progress.leaves_as = refuse_change(change) if each.record.marks is not None else None
            changed.append(each)
        else:
            begun.append(each)
    undo_clones(group, changed)
    return begun


def _drop_all(group: Group, drops: Drops, sides: Mapping[str, Side]) -> None:
    left = {progress.id: set(names) for progress, names in drops}
    failed: set[str] = set()
    for side, chunk in chunks_of(drops, sides):
        going = [(each, names) for each, names in chunk if each.id not in failed and not each.is_done]
        if not going:
            continue
        if _drop_chunk(group, side, going, left):
            for each, names in going:
                left[each.id].difference_update(names)
        else:
            failed.update(each.id for each, _names in going)


def _drop_chunk(group: Group, side: Side, chunk: Drops, left: Mapping[str, AbstractSet[str]]) -> bool:
    """Record that the parts may be dropped, and drop them; return whether all are dropped.

    left: partition id → its parts that are not dropped yet. What the record named before is dropped else.
    """
    members = [progress for progress, _names in chunk]
    changes = []
    for each, names in chunk:
        dropped = [name for name in each.record.dropping if name not in left[each.id]]
        record = each.record._replace(dropping=tuple(names), dropped=(*each.record.dropped, *dropped))
        changes.append((each, record))
    group.commit(changes)
    try:
        is_dropped = _drop_or_note(group, members, side, [name for _each, names in chunk for name in names])
    except Refused as refused:
        group.leave_refused(members, refused)
        return False
    if is_dropped:
        for each in members:
            each.dropped_at, each.refused_drop = group.shard.clock.now(), False
    return is_dropped


def _drop_or_note(group: Group, members: Sequence[Progress], side: Side, names: Sequence[str]) -> bool:
    """Return whether all parts are dropped, and else record which are. Raises Refused."""
    try:
        if group.drop(members, side, names):
            return True
    except PartTooLarge:
        # Before the refusal: merges may come until somebody raises the limit of the server.
        _note_what_is_left(group, members, side)
        group.refuse_too_large(members, side, names)
        return False
    group.note_refused_drop(members)
    _note_what_is_left(group, members, side)
    return False


def _note_what_is_left(group: Group, members: Sequence[Progress], side: Side) -> None:
    """Record which of the parts were dropped, after a statement that has ended without dropping all."""
    found = group.read(members)
    changes = []
    for each in members:
        record = each.record
        of_replicas = [ActiveParts(parts.on(side), each.id) for parts in found[each.id]]
        there = [name for name in record.dropping if any(_has(active, name) for active in of_replicas)]
        taken = [name for name in record.dropping if any(active.covers(name) for active in of_replicas)]
        gone = [name for name in record.dropping if name not in there and name not in taken]
        dropping = tuple(name for name in record.dropping if name not in there and name not in gone)
        changes.append((each, record._replace(dropping=dropping, dropped=(*record.dropped, *gone))))
    group.commit(changes)


def _has(active: ActiveParts, name: str) -> bool:
    """Whether the part was certainly not dropped."""
    return name in active.contents or active.has_mutation_of(name)
