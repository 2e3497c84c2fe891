# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves a partition between a table and its cold twin, step by step.

The state of a partition is given by its record in hot and by the parts that every replica has. `transitions`
lists the states, the step of each state, and the states after the step. A killed run
leaves the partition in one of these states, and the next run continues from there.

Why nothing is lost:

- A part of the source is dropped only by its name, only if it was recorded before the ATTACH, and only after
  every replica had an equal part in the destination that was not there when the record was written.
- An insert at any moment makes a part with another name, so no run drops it from the source.
- If the destination has any other new part, the comparison fails, and the run drops only parts of which the
  source has equals. Inserts into hot during a move to hot are the exception: they stay beside the clones.
- Every run that finds the partition recorded executes ATTACH again. Servers do not clone a part twice, so an
  insert of the same rows is never mistaken for a clone that a killed run did not make. On the way to cold,
  where nobody inserts, ATTACH is not executed once the source changed: each run would clone parts that no
  record has.
- The replicas are read before the record is written, after the ATTACH, and after the parts are dropped. The
  second read shows a change between the first read and the ATTACH. A change between the second read and a
  DROP PART is like a change during the DROP: a part that was merged meanwhile has another name.

Why no row stays in both tables: the record stays until the recorded parts are gone from the source, and every
run, whatever it was asked for, first finishes a recorded partition in the direction of its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...errors import NotPermitted
from ...gates.gate import Refusal
from ...journal.events import Event
from .classify import Classification, TwinState, classify_recorded, classify_unrecorded
from .clones import checksum_problem, clones_of, parts_holding_clones
from .gates import GateInput, refuse_activity, refuse_start
from .merges import remove_record, restart_merges, restart_merges_after_error, stop_merges
from .partition import TwinPartition, TwinShard, refused_on_error
from .record import MOST_BYTES, StoredRecord, TwinRecord, contents
from .refusals import Refused, absent, keeps_changing, too_large
from .removal import continue_undo, drop_merged_clones, drop_recorded, undo_attach
from .report import MovedTwin, TwinReport
from .tables import ActivityInProgress, PartsOf, Side

RETRIES = 3
"""How often a partition that changed meanwhile is recorded and attached again."""
_MOST_STEPS = 24
"""The number of steps after which a run gives up on a partition that keeps changing."""


class _Current(NamedTuple):
    """The current state of the partition, with the reads and the record behind this classification."""

    classification: Classification
    input: GateInput
    stored: StoredRecord | None

    @property
    def parts(self) -> PartsOf:
        """The parts of the first replica; all replicas have the same."""
        return self.input.parts[0]

    @property
    def record(self) -> StoredRecord:
        """The record of the partition; only for states that have a record."""
        if self.stored is None:
            raise AssertionError(f"{self.classification.state} has a record")
        return self.stored


class PartitionMove:
    """Takes a partition to the destination."""

    def __init__(
        self,
        shard: TwinShard,
        destination: Side,
        partition_id: str,
        report: TwinReport,
        stored: StoredRecord | None,
    ) -> None:
        self._shard = shard
        self._destination = destination
        self._id = partition_id
        self._report = report
        self._partition = TwinPartition(shard, partition_id, report, stored)
        self._problem = ""
        """Why the last ATTACH was undone."""
        self._retries = 0
        self._activity: Sequence[ActivityInProgress] = ()
        self._attached_at: float | None = None
        """When this run was about to execute the last successful ATTACH; None if an earlier run did."""
        self._dropped_at = 0.0

    def carry_out(self, activity: Sequence[ActivityInProgress]) -> None:
        """Take the partition to its outcome. ``activity`` is in the order of the replicas.

        Raises LeaseLost and EnsembleError. No row is lost then, and the next run continues.
        """
        self._activity = activity
        try:
            self._take_steps()
        except Refused as refused:
            refusal = self._restart_merges(refused.refusal)
            kind = self._report.failed if refused.failed else self._report.deferred
            kind[self._id] = refusal
        except BaseException:
            restart_merges_after_error(self._partition)
            raise

    def _take_steps(self) -> None:
        stored = self._partition.stored
        if stored is not None and self._shard.options.stop_merges:
            stop_merges(self._partition, stored)
        for _step in range(_MOST_STEPS):
            if self._take_step(self._read_state()):
                return
        raise Refused(keeps_changing(self._problem))

    def _restart_merges(self, refusal: Refusal) -> Refusal:
        """Start the merges again; return the refusal, extended by a failure to start them."""
        try:
            restart_merges(self._partition)
        except Refused as refused:
            problem = f"merges of both tables are still stopped: {refused.refusal.reason}"
            return refusal._replace(reason=f"{refusal.reason}; {problem}")
        return refusal

    def _read_state(self) -> _Current:
        """Read every replica and classify the partition. Raises Refused while something is in progress."""
        parts, stored = self._partition.read(), self._partition.stored
        gate_input = GateInput(self._id, self._shard.tables, parts, self._activity)
        if stored is None:
            classification = Classification(classify_unrecorded(parts[0], self._destination))
            return _Current(classification, gate_input, None)
        self._refuse_other_tables(stored.record)
        refusal = refuse_activity(gate_input)
        if refusal is not None:
            raise Refused(refusal)
        return _Current(classify_recorded(stored.record, parts[0], self._id), gate_input, stored)

    def _take_step(self, current: _Current) -> bool:
        """Take the step of the state; return whether the partition is at an end."""
        return _STEP_OF[current.classification.state](self, current)

    def _defer_absent(self, current: _Current) -> bool:
        raise Refused(absent())

    def _fail_unknown(self, current: _Current) -> bool:
        raise self._partition.unknown_state(current.classification.problem)

    def _report_unchanged(self, current: _Current) -> bool:
        self._report.unchanged.add(self._id)
        return True

    def _continue_undo(self, current: _Current) -> bool:
        continue_undo(self._partition, current.record, current.parts)
        return False

    def _roll_back(self, current: _Current) -> bool:
        problem = "parts of the source are not as recorded"
        undo_attach(self._partition, current.record, current.parts, problem)
        return False

    def _attach_recorded(self, current: _Current) -> bool:
        self._attach(current.record)
        return False

    def _drop_merged_clones(self, current: _Current) -> bool:
        drop_merged_clones(self._partition, current.record, current.parts, current.classification)
        return False

    def _drop_rest(self, current: _Current) -> bool:
        self._drop(current.record, current.classification.parts)
        return False

    def _report_moved(self, moved: MovedTwin) -> None:
        self._report.moved[self._id] = moved
        self._partition.record_event(
            Event.TWIN_MOVED,
            state=self._destination.value.upper(),
            parts=moved.parts,
            rows=moved.rows,
            bytes=moved.bytes_on_disk,
            left_behind=list(moved.left_behind),
        )

    def _begin(self, current: _Current) -> bool:
        """Write the record of the current parts if the gates let the partition pass, and attach the parts."""
        gate_input = current.input
        refusal = refuse_start(gate_input, self._destination, self._shard.options.min_age)
        if refusal is not None:
            raise Refused(refusal)
        if self._retries >= RETRIES:
            raise Refused(keeps_changing(self._problem))
        self._retries += 1
        parts, tables = gate_input.parts[0], self._shard.tables[0]
        record = TwinRecord(
            self._destination,
            tables.hot.place,
            tables.cold.place,
            parts=contents(parts.on(self._destination.other)),
            held=contents(parts.on(self._destination)),
            clones={},
            dropping=(),
            began=int(self._shard.clock.now() * 1000),
            merges_stopped=self._shard.options.stop_merges,
        )
        if len(record.encode()) > MOST_BYTES:
            raise Refused(too_large(record))
        stored = self._partition.create(record)
        if record.merges_stopped:
            stop_merges(self._partition, stored)
            self._refuse_assigned(gate_input)
        # The read after the ATTACH finds what changed since the parts were read.
        self._attach(stored)
        return False

    def _refuse_assigned(self, gate_input: GateInput) -> None:
        """Raise Refused if a merge was assigned before merges were stopped: its parts cannot be dropped."""
        self._read_activity()
        refusal = refuse_activity(gate_input._replace(activity=self._activity))
        if refusal is not None and self._partition.stored is not None:
            remove_record(self._partition, self._partition.stored)
            raise Refused(refusal)

    def _read_activity(self) -> None:
        shard = self._shard
        with refused_on_error():
            self._activity = [shard.servers.activity(tables, [self._id]) for tables in shard.tables]

    def _attach(self, stored: StoredRecord) -> None:
        """Clone, compare on every replica, record the clones and drop the parts; undo a faulty ATTACH.

        Raises Refused, also if the user may not carry out a statement, or not see all rows that are to be
        compared. Then the ATTACH is undone, of an earlier run too.
        """
        try:
            self._attach_and_compare(stored)
        except Refused as refused:
            if isinstance(refused.__cause__, NotPermitted):
                partition = self._partition
                undo_attach(partition, stored, partition.read()[0], refused.refusal.reason)
            raise

    def _attach_and_compare(self, stored: StoredRecord) -> None:
        partition, record = self._partition, stored.record
        partition.record_event(
            Event.ATTACHING, state=record.destination.value.upper(), parts=sorted(record.parts)
        )
        # Before the ATTACH: reading all rows may take long, and rows should be in both tables only briefly.
        checksums = partition.checksums(record.destination.other, sorted(record.parts))
        began = self._shard.clock.now()
        problem = partition.attach(record.destination)
        parts = partition.read()[0]
        clones = clones_of(record, parts, self._id)
        if not isinstance(clones, str):
            cloned = parts_holding_clones(record, parts, clones, self._id)
            checksums += partition.checksums(record.destination, cloned)
            clones = checksum_problem(checksums) or clones
        if not isinstance(clones, str):
            self._attached_at = began
            stored = partition.replace(stored, record._replace(clones=clones))
            self._drop(stored, sorted(record.parts))
            return
        self._problem = problem or clones
        undo_attach(partition, stored, parts, self._problem)
        if partition.stored is None:
            # Activity that began during the ATTACH may still be in progress.
            self._read_activity()

    def _drop(self, stored: StoredRecord, parts: Sequence[str]) -> None:
        drop_recorded(self._partition, stored, parts)
        self._dropped_at = self._shard.clock.now()

    def _remove_record(self, current: _Current) -> bool:
        """Remove the record after all recorded parts are gone; return whether the partition is at an end."""
        stored, parts = current.record, current.parts
        record, attached_at = stored.record, self._attached_at
        remove_record(self._partition, stored)
        self._attached_at = None
        if record.destination is not self._destination:
            return False
        seconds = None if attached_at is None else self._dropped_at - attached_at
        sizes = {part.name: part.bytes_on_disk for part in parts.on(record.destination)}
        moved = MovedTwin(
            self._id,
            len(record.parts),
            sum(content.rows for content in record.parts.values()),
            sum(sizes.get(clone, 0) for clone in record.clones.values()),
            tuple(part.name for part in parts.on(record.destination.other)),
            seconds,
        )
        self._report_moved(moved)
        return True

    def _refuse_other_tables(self, record: TwinRecord) -> None:
        tables = self._shard.tables[0]
        if (record.hot, record.cold) != (tables.hot.place, tables.cold.place):
            raise self._partition.unknown_state(
                f"its record is about a move between {record.hot} and {record.cold}, and these tables are"
                f" {tables.hot.place} and {tables.cold.place}"
            )


_STEP_OF: Mapping[TwinState, Callable[[PartitionMove, _Current], bool]] = {
    TwinState.ABSENT: PartitionMove._defer_absent,
    TwinState.AT_DESTINATION: PartitionMove._report_unchanged,
    TwinState.AT_SOURCE: PartitionMove._begin,
    TwinState.RECORDED: PartitionMove._attach_recorded,
    TwinState.STALE: PartitionMove._roll_back,
    TwinState.UNDOING: PartitionMove._continue_undo,
    TwinState.ATTACHED: PartitionMove._drop_rest,
    TwinState.DROPPED_PARTLY: PartitionMove._drop_rest,
    TwinState.MERGED: PartitionMove._drop_merged_clones,
    TwinState.DROPPED: PartitionMove._remove_record,
    TwinState.UNKNOWN: PartitionMove._fail_unknown,
}
"""State → the step that `transitions.TRANSITIONS` describes; returns whether the partition is at an end."""
