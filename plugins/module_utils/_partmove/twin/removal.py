# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts that leave a table, each by its name: recorded ones of the source, and clones that are undone."""

from __future__ import annotations

from collections.abc import Sequence

from ..journal.events import Event
from .merges import go_on_merging, remove_record
from .partition import Partition
from .record import KeptRecord
from .servers import PartsOf
from .state import undoing

_MERGE_SECONDS = 0.5


def drop_recorded(partition: Partition, kept: KeptRecord, names: Sequence[str]) -> None:
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


def undo_attach(partition: Partition, kept: KeptRecord, there: PartsOf, problem: str) -> None:
    """Drop by name what came and the source has as well, and remove the record."""
    undo = undoing(kept.record, there, partition.id)
    if undo.problem:
        raise partition.not_known(undo.problem)
    side = kept.record.destination
    if undo.drop:
        partition.tell(Event.ATTACH_UNDONE, parts=list(undo.drop), reason=problem)
    if not all(partition.drop(side, part) for part in undo.drop):
        _wait_for_merges(partition)
        return  # The record stays, so the next step attaches and compares again.
    if not partition.are_left(side, undo.drop):
        remove_record(partition, kept)


def release(partition: Partition, kept: KeptRecord, there: PartsOf, merged: Sequence[str]) -> None:
    """Drop the clones of parts that were merged in the source, and let these leave the record."""
    record = kept.record
    active = {part.name for part in there.on(record.destination)}
    clones = [record.clones[name] for name in merged if record.clones[name] in active]
    partition.tell(Event.ATTACH_UNDONE, parts=clones, reason=f"{', '.join(merged)} were merged in the source")
    if not all(partition.drop(record.destination, clone) for clone in clones):
        _wait_for_merges(partition)
        return
    if partition.are_left(record.destination, clones):
        return
    parts = {name: content for name, content in record.parts.items() if name not in merged}
    if parts:
        clones_left = {name: record.clones[name] for name in parts}
        partition.replace(kept, record._replace(parts=parts, clones=clones_left))
    else:
        remove_record(partition, kept)


def _wait_for_merges(partition: Partition) -> None:
    """Wait a little for the merge that holds a part which could not be dropped.

    Servers assign merges also while these are stopped, and drop no part that a merge was assigned to.
    """
    go_on_merging(partition)
    partition.shard.clock.sleep(_MERGE_SECONDS)
