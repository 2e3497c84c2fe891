# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition on its way from a table to its twin: its states, and the one step that takes it on.

What is so is what every replica says, together with the record of the partition; a run that is killed at any
point leaves one of these states, and the next run goes on from there::

    nowhere         neither table has it                     → deferred
    at_destination  the source has none of it                → unchanged, or moved where this run did it
    at_source       no record                                → gates, then the record is written: recorded
    recorded        there is a record, and the source is not
                    as it was recorded; on the way back only
                    where nothing is new                     → what came is dropped by name, the record is
                                                               removed: at_source
    recorded        there is a record, and no clone was seen → ATTACH, and a look at every replica:
                        what is new equals the record        → the clones are recorded: attached
                        anything else                        → as where the source changed, a few times
    undoing         some of what came may be dropped already → the rest is dropped, the record is removed:
                                                               at_source
    attached        every replica had every clone            → DROP PART of each recorded part, by its name
    dropped_partly  some of these are gone                   → the same
    merged          a recorded part was merged in the source → its clone, or what that was merged into with
                                                               others, is dropped by name, and these leave the
                                                               record: attached, dropped or at_source
    dropped         all of these are gone on every replica   → the record is removed: at_destination, or
                                                               at_source with an insert that came late
    unknown         what is there fits none of these         → failed, with nothing done

Why nothing is lost: a part of the source is dropped only by its name, only if it was recorded before the
ATTACH, and only after every replica was seen to have an equal part in the destination that was not there
when the record was written. An insert that comes at any moment has another name, so it is never dropped from
the source. Whatever is new in the destination and no clone makes the comparison fail, and then only what the
source has as well is dropped there; but for inserts on the way back, which stay beside the clones. ATTACH is
given again by every run that finds the partition recorded: servers do not clone twice what they have cloned,
and so an insert of the same rows is never mistaken for a clone that a statement of a killed run did not make.
On the way there, where nobody inserts, it is not given once the source changed: with every run it would clone
what no record knows.

The replicas are looked at before the record is written, after the ATTACH, and once the parts are dropped.
What happens between the first look and the ATTACH the second one finds out, and what happens between that
and a DROP PART is as what happens during the DROP: a part that is another one by then has another name.

Why nothing is there twice for good: the record stays until the recorded parts are gone, and every run,
whatever it was asked for, first takes a partition with a record on in the direction of that record.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...gates.gate import Refusal
from ...journal.events import Event
from .classify import TwinState, with_record, without_record
from .clones import clones_of, must_roll_back, unlike_rows, with_clones
from .gates import GateInput, refuse_activity, refuse_start
from .merges import go_on_merging, go_on_merging_at_the_end, remove_record, stop_merges
from .partition import TwinPartition, TwinShard, answered
from .record import MOST_BYTES, KeptRecord, TwinRecord, contents
from .refusals import Refused, keeps_changing, nowhere, too_large
from .removal import drop_merged_clones, drop_recorded, go_on_undoing, undo_attach
from .report import MovedTwin, TwinReport
from .servers import ActivityInProgress, PartsOf, Side

ROUNDS = 3
"""How often a partition that changed meanwhile is recorded and attached again."""
_STEPS = 24
"""How many states a partition may go through in one run."""


class PartitionMove:
    """Takes one partition to the destination."""

    def __init__(
        self,
        shard: TwinShard,
        destination: Side,
        partition_id: str,
        report: TwinReport,
        kept: KeptRecord | None,
    ) -> None:
        self._shard = shard
        self._destination = destination
        self._id = partition_id
        self._report = report
        self._partition = TwinPartition(shard, partition_id, report, kept)
        self._problem = ""
        """Why the last ATTACH was undone."""
        self._rounds = 0
        self._activity: Sequence[ActivityInProgress] = ()
        self._attached_at: float | None = None
        """When this run was about to clone what it then dropped."""
        self._dropped_at = 0.0

    def carry_out(self, activity: Sequence[ActivityInProgress]) -> None:
        """Take the partition to one of its ends. ``activity`` is what goes on, by replica.

        Raises LeaseLost, EnsembleError and kin; nothing is lost then, and running again goes on.
        """
        self._activity = activity
        try:
            self._go()
        except Refused as refused:
            refusal = self._with_merges(refused.refusal)
            kind = self._report.failed if refused.failed else self._report.deferred
            kind[self._id] = refusal
        except BaseException:
            go_on_merging_at_the_end(self._partition)
            raise

    def _go(self) -> None:
        kept = self._partition.kept
        if kept is not None and self._shard.options.stop_merges:
            stop_merges(self._partition, kept)
        for _step in range(_STEPS):
            if self._is_done(self._partition.look()):
                return
        raise Refused(keeps_changing(self._problem))

    def _with_merges(self, refusal: Refusal) -> Refusal:
        """Let merges go on, and say of a partition that stays what is to be said of it."""
        try:
            go_on_merging(self._partition)
        except Refused as refused:
            problem = f"merges of both tables are still stopped: {refused.refusal.reason}"
            return refusal._replace(reason=f"{refusal.reason}; {problem}")
        return refusal

    def _is_done(self, parts: Sequence[PartsOf]) -> bool:
        """Do the one step that follows from the state; whether there is none left."""
        partition, there = self._partition, parts[0]
        kept = partition.kept
        seen = GateInput(self._id, self._shard.tables, parts, self._activity)
        if kept is None:
            return self._start_or_end(seen)
        self._refuse_other_tables(kept.record)
        refusal = refuse_activity(seen)
        if refusal is not None:
            raise Refused(refusal)
        found = with_record(kept.record, there, self._id)
        if found.state is TwinState.UNKNOWN:
            raise partition.not_known(found.problem)
        if found.state is TwinState.UNDOING:
            go_on_undoing(partition, kept, there)
        elif found.state is TwinState.RECORDED and must_roll_back(kept.record, there):
            undo_attach(partition, kept, there, "parts of the source are not there as they were recorded")
        elif found.state is TwinState.RECORDED:
            self._attach(kept)
        elif found.state is TwinState.MERGED:
            drop_merged_clones(partition, kept, there, found)
        elif found.state is TwinState.DROPPED:
            return self._forget(kept, there)
        else:
            self._drop(kept, found.parts)
        return False

    def _start_or_end(self, seen: GateInput) -> bool:
        state = without_record(seen.parts[0], self._destination)
        if state is TwinState.AT_DESTINATION:
            self._report.unchanged.add(self._id)
        elif state is TwinState.NOWHERE:
            raise Refused(nowhere())
        else:
            self._begin(seen)
            return False
        return True

    def _end(self, moved: MovedTwin) -> None:
        self._report.moved[self._id] = moved
        self._partition.tell(
            Event.TWIN_MOVED,
            state=self._destination.value.upper(),
            parts=moved.parts,
            rows=moved.rows,
            bytes=moved.bytes_on_disk,
            left_behind=list(moved.left_behind),
        )

    def _begin(self, seen: GateInput) -> None:
        """Write the record of what is there, if the gates let the partition pass."""
        refusal = refuse_start(seen, self._destination, self._shard.options.min_age)
        if refusal is not None:
            raise Refused(refusal)
        if self._rounds >= ROUNDS:
            raise Refused(keeps_changing(self._problem))
        self._rounds += 1
        there, tables = seen.parts[0], self._shard.tables[0]
        record = TwinRecord(
            self._destination,
            tables.hot.place,
            tables.cold.place,
            parts=contents(there.on(self._destination.other)),
            held=contents(there.on(self._destination)),
            clones={},
            dropping=(),
            began=int(self._shard.clock.now() * 1000),
            merges_stopped=self._shard.options.stop_merges,
        )
        if len(record.encode()) > MOST_BYTES:
            raise Refused(too_large(record))
        kept = self._partition.create(record)
        if record.merges_stopped:
            stop_merges(self._partition, kept)
            self._refuse_assigned(seen)
        # What changed since the look is found out by the one after the ATTACH.
        self._attach(kept)

    def _refuse_assigned(self, seen: GateInput) -> None:
        """Raise Refused where a merge was assigned before they were stopped: its parts cannot be dropped."""
        self._read_activity()
        refusal = refuse_activity(seen._replace(activity=self._activity))
        if refusal is not None and self._partition.kept is not None:
            remove_record(self._partition, self._partition.kept)
            raise Refused(refusal)

    def _read_activity(self) -> None:
        shard = self._shard
        with answered():
            self._activity = [shard.servers.activity(tables, [self._id]) for tables in shard.tables]

    def _attach(self, kept: KeptRecord) -> None:
        """Clone, compare on every replica, and record the clones; undo what is not as it must be."""
        partition, record = self._partition, kept.record
        partition.tell(Event.ATTACHING, state=record.destination.value.upper(), parts=sorted(record.parts))
        # Before the rows are there twice, as reading them all may take long.
        sums = partition.checksums(record.destination.other, sorted(record.parts))
        began = self._shard.clock.now()
        problem = partition.attach(record.destination)
        there = partition.look()[0]
        clones = clones_of(record, there, self._id)
        if not isinstance(clones, str):
            cloned = with_clones(record, there, clones, self._id)
            sums += partition.checksums(record.destination, cloned)
            clones = unlike_rows(sums) or clones
        if not isinstance(clones, str):
            self._attached_at = began
            kept = partition.replace(kept, record._replace(clones=clones))
            self._drop(kept, sorted(record.parts))
            return
        self._problem = problem or clones
        undo_attach(partition, kept, there, self._problem)
        if partition.kept is None:
            # What was done to the partition meanwhile may go on.
            self._read_activity()

    def _drop(self, kept: KeptRecord, parts: Sequence[str]) -> None:
        drop_recorded(self._partition, kept, parts)
        self._dropped_at = self._shard.clock.now()

    def _forget(self, kept: KeptRecord, there: PartsOf) -> bool:
        """Remove the record of a partition whose parts are gone from the source; whether that is the end."""
        record, attached_at = kept.record, self._attached_at
        remove_record(self._partition, kept)
        self._attached_at = None
        if record.destination is not self._destination:
            return False
        seconds = None if attached_at is None else self._dropped_at - attached_at
        sizes = {part.name: part.bytes_on_disk for part in there.on(record.destination)}
        moved = MovedTwin(
            self._id,
            len(record.parts),
            sum(content.rows for content in record.parts.values()),
            sum(sizes.get(clone, 0) for clone in record.clones.values()),
            tuple(part.name for part in there.on(record.destination.other)),
            seconds,
        )
        self._end(moved)
        return True

    def _refuse_other_tables(self, record: TwinRecord) -> None:
        tables = self._shard.tables[0]
        if (record.hot, record.cold) != (tables.hot.place, tables.cold.place):
            raise self._partition.not_known(
                f"it is on its way between {record.hot} and {record.cold}, and these tables are"
                f" {tables.hot.place} and {tables.cold.place}"
            )
