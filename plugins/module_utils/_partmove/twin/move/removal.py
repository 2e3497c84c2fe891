# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts that leave a table, each by its name: recorded ones of the source, and clones that are undone."""

from __future__ import annotations

from collections.abc import Sequence

from ...journal.events import Event
from .classify import Classification, left_to_undo, undoing
from .merges import go_on_merging, remove_record
from .partition import TwinPartition
from .record import KeptRecord
from .tables import PartsOf, Side

_MERGE_SECONDS = 0.5


def drop_recorded(partition: TwinPartition, kept: KeptRecord, names: Sequence[str]) -> None:
    """Drop recorded parts from the source, each one only after the record says that it will be."""
    record = kept.record
    side = record.destination.other
    partition.tell(Event.TWIN_DROPPING, parts=list(names))
    # All but the last of those that are named in a record are gone for good.
    gone = [each for each in record.dropping if each not in names]
    for name in names:
        kept = partition.replace(kept, record._replace(dropping=(*gone, name)))
        if not partition.drop(side, name):
            partition.replace(kept, record._replace(dropping=tuple(gone)))
            _wait_for_merges(partition)
            return
        gone.append(name)


def undo_attach(partition: TwinPartition, kept: KeptRecord, there: PartsOf, problem: str) -> None:
    """Drop by name what came and the source has as well, and remove the record."""
    undo = undoing(kept.record, there, partition.id)
    if undo.problem:
        raise partition.not_known(undo.problem)
    if undo.drop:
        partition.tell(Event.ATTACH_UNDONE, parts=list(undo.drop), reason=problem)
        kept = partition.replace(kept, kept.record._replace(undoing=undo.drop))
    go_on_undoing(partition, kept, there)


def go_on_undoing(partition: TwinPartition, kept: KeptRecord, there: PartsOf) -> None:
    """Drop the rest of what an undo was about to drop, and remove the record.

    On the way back, once one was dropped, nothing is compared anew: an insert that came since and equals one
    of these would be taken for its clone.
    """
    record, side = kept.record, kept.record.destination
    left = left_to_undo(record, there, partition.id)
    if isinstance(left, str) and side is Side.HOT:
        raise partition.not_known(left)
    names = [] if isinstance(left, str) else left
    for name in names:
        if not partition.drop(side, name):
            if side is Side.HOT and name == record.undoing[0]:
                partition.replace(kept, record._replace(undoing=()))
            _wait_for_merges(partition)
            return  # The record stays, so the next step ends the undo, or attaches and compares again.
    if isinstance(left, str):
        # Whatever is new in the twin came of a clone, so that comparing anew cannot mistake it.
        partition.replace(kept, record._replace(undoing=()))
        return
    if not partition.are_left(side, record.undoing):
        remove_record(partition, kept)


def drop_merged_clones(
    partition: TwinPartition, kept: KeptRecord, there: PartsOf, found: Classification
) -> None:
    """Drop the clones of parts that were merged in the source, and let these leave the record.

    What is dropped is in the record before: of a part of which nobody knows any more that it was dropped on
    purpose, nobody could tell where its rows are.
    """
    record = kept.record
    if record.undoing != found.undo:
        record = record._replace(undoing=found.undo)
        kept = partition.replace(kept, record)
    active = {part.name for part in there.on(record.destination)}
    undo = [each for each in found.undo if each in active]
    partition.tell(
        Event.ATTACH_UNDONE, parts=undo, reason=f"parts of {', '.join(found.parts)} were merged in the source"
    )
    for each in undo:
        if not partition.drop(record.destination, each):
            undoing = tuple(name for name in found.undo if name != each)
            partition.replace(kept, record._replace(undoing=undoing))
            _wait_for_merges(partition)
            return
    if partition.are_left(record.destination, undo):
        return
    parts = {name: content for name, content in record.parts.items() if name not in found.parts}
    if parts:
        clones_left = {name: record.clones[name] for name in parts}
        partition.replace(kept, record._replace(parts=parts, clones=clones_left, undoing=()))
    else:
        remove_record(partition, kept)


def _wait_for_merges(partition: TwinPartition) -> None:
    """Wait a little for the merge that holds a part which could not be dropped.

    Servers assign merges also while these are stopped, and drop no part that a merge was assigned to.
    """
    go_on_merging(partition)
    partition.shard.clock.sleep(_MERGE_SECONDS)
