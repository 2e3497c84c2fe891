# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves one partition between a table and its cold twin, step by step.

The state of a partition is given by its record in hot and by the parts that every replica has. `transitions`
lists the states, the step that follows from each, and the states that a step leads to. A run that is killed
leaves the partition in one of these states, and the next run goes on from there.

Why nothing is lost:

- A part of the source is dropped only by its name, only if it was recorded before the ATTACH, and only after
  every replica had an equal part in the destination that was not there when the record was written.
- An insert at any moment makes a part with another name, so no run drops it from the source.
- If anything else is new in the destination, the comparison fails, and the run drops only what the source has
  as well. Inserts into hot on the way back are the exception: they stay beside the clones.
- Every run that finds the partition recorded executes ATTACH again. Servers do not clone twice what they
  cloned, so an insert of the same rows is never mistaken for a clone that a killed run did not make. On the
  way to cold, where nobody inserts, ATTACH is not executed once the source changed: each run would clone
  parts that no record has.
- The replicas are read before the record is written, after the ATTACH, and after the parts are dropped. A
  change between the first read and the ATTACH shows in the second read. A change between that and a DROP PART
  is like a change during the DROP: a part that was merged meanwhile has another name.

Why no row stays in both tables: the record stays until the recorded parts are gone from the source, and every
run, whatever it was asked for, first finishes a recorded partition in the direction of its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...gates.gate import Refusal
from ...journal.events import Event
from .classify import Classification, TwinState, with_record, without_record
from .clones import clones_of, unlike_rows, with_clones
from .gates import GateInput, refuse_activity, refuse_start
from .merges import go_on_merging, go_on_merging_at_the_end, remove_record, stop_merges
from .partition import TwinPartition, TwinShard, answered
from .record import MOST_BYTES, KeptRecord, TwinRecord, contents
from .refusals import Refused, absent, keeps_changing, too_large
from .removal import drop_merged_clones, drop_recorded, go_on_undoing, undo_attach
from .report import MovedTwin, TwinReport
from .tables import ActivityInProgress, PartsOf, Side

RETRIES = 3
"""How often a partition that changed meanwhile is recorded and attached again."""
_STEPS = 24
"""How many states a partition may go through in one run."""


class _Current(NamedTuple):
    """The current state of the partition, and what it was classified by."""

    found: Classification
    input: GateInput
    kept: KeptRecord | None

    @property
    def parts(self) -> PartsOf:
        """The parts of the first replica; all replicas have the same."""
        return self.input.parts[0]

    @property
    def record(self) -> KeptRecord:
        """The record, which every state between the tables has."""
        if self.kept is None:
            raise AssertionError(f"{self.found.state} has a record")
        return self.kept


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
            if self._take_step(self._read_state()):
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

    def _read_state(self) -> _Current:
        """Read every replica and classify the partition. Raises Refused while something is in progress."""
        parts, kept = self._partition.look(), self._partition.kept
        gate_input = GateInput(self._id, self._shard.tables, parts, self._activity)
        if kept is None:
            found = Classification(without_record(parts[0], self._destination))
            return _Current(found, gate_input, None)
        self._refuse_other_tables(kept.record)
        refusal = refuse_activity(gate_input)
        if refusal is not None:
            raise Refused(refusal)
        return _Current(with_record(kept.record, parts[0], self._id), gate_input, kept)

    def _take_step(self, current: _Current) -> bool:
        """Take the one step that follows from the state; return whether the partition is at an end."""
        return _STEP_OF[current.found.state](self, current)

    def _defer_absent(self, current: _Current) -> bool:
        raise Refused(absent())

    def _fail_unknown(self, current: _Current) -> bool:
        raise self._partition.not_known(current.found.problem)

    def _report_unchanged(self, current: _Current) -> bool:
        self._report.unchanged.add(self._id)
        return True

    def _go_on_undoing(self, current: _Current) -> bool:
        go_on_undoing(self._partition, current.record, current.parts)
        return False

    def _roll_back(self, current: _Current) -> bool:
        problem = "parts of the source are not there as they were recorded"
        undo_attach(self._partition, current.record, current.parts, problem)
        return False

    def _attach_recorded(self, current: _Current) -> bool:
        self._attach(current.record)
        return False

    def _drop_merged_clones(self, current: _Current) -> bool:
        drop_merged_clones(self._partition, current.record, current.parts, current.found)
        return False

    def _drop_rest(self, current: _Current) -> bool:
        self._drop(current.record, current.found.parts)
        return False

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

    def _begin(self, current: _Current) -> bool:
        """Write the record of the current parts if the gates let the partition pass, and attach them."""
        seen = current.input
        refusal = refuse_start(seen, self._destination, self._shard.options.min_age)
        if refusal is not None:
            raise Refused(refusal)
        if self._rounds >= RETRIES:
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
        # The read after the ATTACH finds what changed since the parts were read.
        self._attach(kept)
        return False

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

    def _forget(self, current: _Current) -> bool:
        """Remove the record of a partition whose recorded parts are gone; return whether it is at an end."""
        kept, there = current.record, current.parts
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


_STEP_OF: Mapping[TwinState, Callable[[PartitionMove, _Current], bool]] = {
    TwinState.ABSENT: PartitionMove._defer_absent,
    TwinState.AT_DESTINATION: PartitionMove._report_unchanged,
    TwinState.AT_SOURCE: PartitionMove._begin,
    TwinState.RECORDED: PartitionMove._attach_recorded,
    TwinState.STALE: PartitionMove._roll_back,
    TwinState.UNDOING: PartitionMove._go_on_undoing,
    TwinState.ATTACHED: PartitionMove._drop_rest,
    TwinState.DROPPED_PARTLY: PartitionMove._drop_rest,
    TwinState.MERGED: PartitionMove._drop_merged_clones,
    TwinState.DROPPED: PartitionMove._forget,
    TwinState.UNKNOWN: PartitionMove._fail_unknown,
}
"""State → the step that `transitions.TRANSITIONS` describes. Each returns whether the partition is at an end."""
