# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends moves: removes the records, enters the partitions in the ledger and reports them."""

from __future__ import annotations

from collections.abc import Sequence

from ...journal.events import Event
from .group import Group
from .merges import start_merges_before_removal
from .progress import Current
from .record import TwinRecord
from .refusals import Refused
from .report import FinishedTwin, MovedTwin


def end_moves(group: Group, currents: Sequence[Current]) -> None:
    """Remove the records after all recorded parts are gone."""
    members = [each.progress for each in currents]
    refusal = group.show_before_removal(members)
    if refusal is not None:
        group.leave(members, refusal)
        return
    try:
        start_merges_before_removal(group, members)
        more = group.ledger_ops(currents)
    except Refused as refused:
        group.leave_refused(members, refused)
        return
    ended = [(each, each.record, _moved(each, each.record)) for each in currents]
    group.commit([(each, None) for each in members], more)
    group.shard.ledger.written()
    events: dict[str, dict[str, object]] = {}
    for current, record, moved in ended:
        progress = current.progress
        if not progress.finishing and record.destination is not progress.destination:
            continue  # The next step begins the move in the direction of the run.
        progress.is_done = True
        events[progress.id] = {
            "state": record.destination.value.upper(),
            "parts": moved.parts,
            "rows": moved.rows,
            "bytes": moved.bytes_on_disk,
            "left_behind": list(moved.left_behind),
        }
        if progress.finishing:
            group.report.finished[progress.id] = FinishedTwin(progress.id, record.destination, undone=False)
        else:
            group.report.moved[progress.id] = moved
    group.record_events(Event.TWIN_MOVED, events)


def _moved(current: Current, record: TwinRecord) -> MovedTwin:
    progress, parts = current.progress, current.parts
    attached_at = progress.attached_at
    sizes = {part.name: part.bytes_on_disk for part in parts.on(record.destination)}
    return MovedTwin(
        progress.id,
        len(record.parts),
        sum(content.rows for content in record.parts.values()),
        sum(sizes.get(clone, 0) for clone in record.clones.values()),
        tuple(part.name for part in parts.on(record.destination.other)),
        None if attached_at is None else progress.dropped_at - attached_at,
        progress.insert_blocks,
    )
