# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drops parts by name: recorded parts from the source, and clones from the destination when undoing."""

from __future__ import annotations

from collections.abc import Sequence

from ...journal.events import Event
from .classify import Classification, left_to_undo, plan_undo
from .merges import remove_record, restart_merges
from .partition import TwinPartition
from .record import StoredRecord
from .tables import PartsOf, Side

_MERGE_SECONDS = 0.5


def drop_recorded(partition: TwinPartition, stored: StoredRecord, names: Sequence[str]) -> None:
    """Drop recorded parts from the source. Before each DROP PART, the record names the part."""
    record = stored.record
    side = record.destination.other
    partition.record_event(Event.TWIN_DROPPING, parts=list(names))
    # Every part in ``dropping`` except the last is certainly dropped on every replica.
    gone = [each for each in record.dropping if each not in names]
    for name in names:
        stored = partition.replace(stored, record._replace(dropping=(*gone, name)))
        if not partition.drop(side, name):
            partition.replace(stored, record._replace(dropping=tuple(gone)))
            _wait_for_merge(partition)
            return
        gone.append(name)


def undo_attach(partition: TwinPartition, stored: StoredRecord, parts: PartsOf, problem: str) -> None:
    """Drop the new parts of the destination that the source has as well, and remove the record."""
    undo = plan_undo(stored.record, parts, partition.id)
    if undo.problem:
        raise partition.unknown_state(undo.problem)
    if undo.drop:
        partition.record_event(Event.ATTACH_UNDONE, parts=list(undo.drop), reason=problem)
        stored = partition.replace(stored, stored.record._replace(undoing=undo.drop))
    continue_undo(partition, stored, parts)


def continue_undo(partition: TwinPartition, stored: StoredRecord, parts: PartsOf) -> None:
    """Drop the remaining parts of an undo, and remove the record.

    On the way to hot, the run compares nothing again once a clone was dropped: an insert that arrived since
    and equals a clone would be mistaken for the clone.
    """
    record, side = stored.record, stored.record.destination
    left = left_to_undo(record, parts, partition.id)
    if isinstance(left, str) and side is Side.HOT:
        raise partition.unknown_state(left)
    names = [] if isinstance(left, str) else left
    for name in names:
        if not partition.drop(side, name):
            if side is Side.HOT and name == record.undoing[0]:
                partition.replace(stored, record._replace(undoing=()))
            _wait_for_merge(partition)
            return  # The record stays, so the next step ends the undo, or attaches and compares again.
    if isinstance(left, str):
        # Every new part of the twin comes from a clone, so a second comparison cannot mistake an insert for
        # one.
        partition.replace(stored, record._replace(undoing=()))
        return
    if not partition.any_active(side, record.undoing):
        remove_record(partition, stored)


def drop_merged_clones(
    partition: TwinPartition, stored: StoredRecord, parts: PartsOf, classification: Classification
) -> None:
    """Drop the clones of parts that were merged in the source, and take these parts out of the record.

    The record names the clones before the first DROP PART. Otherwise a later run would find clones missing
    without a reason, and could not decide where their rows are.
    """
    record = stored.record
    if record.undoing != classification.undo:
        record = record._replace(undoing=classification.undo)
        stored = partition.replace(stored, record)
    active = {part.name for part in parts.on(record.destination)}
    undo = [each for each in classification.undo if each in active]
    partition.record_event(
        Event.ATTACH_UNDONE,
        parts=undo,
        reason=f"parts of {', '.join(classification.parts)} were merged in the source",
    )
    for each in undo:
        if not partition.drop(record.destination, each):
            undoing = tuple(name for name in classification.undo if name != each)
            partition.replace(stored, record._replace(undoing=undoing))
            _wait_for_merge(partition)
            return
    if partition.any_active(record.destination, undo):
        return
    remaining = {name: content for name, content in record.parts.items() if name not in classification.parts}
    if remaining:
        clones_left = {name: record.clones[name] for name in remaining}
        partition.replace(stored, record._replace(parts=remaining, clones=clones_left, undoing=()))
    else:
        remove_record(partition, stored)


def _wait_for_merge(partition: TwinPartition) -> None:
    """Wait briefly for a merge whose parts the server refuses to drop.

    Servers assign merges even while merges are stopped, and refuse DROP PART for parts of an assigned merge.
    """
    restart_merges(partition)
    partition.shard.clock.sleep(_MERGE_SECONDS)
