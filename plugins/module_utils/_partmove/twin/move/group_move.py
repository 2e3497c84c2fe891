# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves partitions between a table and its cold twin in groups, step by step.

The state of a partition is given by its record in hot and by the parts that every replica has. `transitions`
lists the states, the step of each state, and the states after the step. A group reads all its partitions at
once, classifies each, and takes the step of each state for all partitions in this state. A partition that is
refused, merged or changed leaves the group, and does not stop the others. A killed run leaves each partition
in one of these states, and the next run continues from there.

Why nothing is lost:

- A part of the source is dropped only by its name, only if it was recorded before the ATTACH, and only after
  every replica had an equal part in the destination that was not there when the record was written.
- An insert at any moment makes a part with another name, so no run drops it from the source.
- If the destination has any other new part, the comparison fails, and the run drops only parts that certainly
  are clones. Inserts into hot during a move to hot are the exception: they stay beside the clones.
- A statement that changed rows or the structure of a table since the record is found by the marks of both
  tables, right before the first DROP PART. Then the run drops the clones instead (`changes`).

Why no row is there twice: a run executes ATTACH only if the destination has no new part that may be a clone.
Otherwise it adopts clones that the record or the ensemble proves to be clones, or drops them first. For how
long a server remembers what it has cloned does not matter.

Why no row stays in both tables: the record stays until the recorded parts are gone from the source, and every
run, whatever it was asked for, first finishes the recorded partitions in the direction of their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ...errors import PartMoveError
from .classify import Classification, TwinState, classify_recorded, classify_unrecorded
from .clones import new_parts
from .cloning import adopt, attach_recorded, begin
from .dropping import drop_recorded
from .ending import end_moves
from .gates import GateInput, refuse_activity, refuse_uneven
from .group import Group
from .known_pair import problem_of_record
from .merges import restart_merges, restart_merges_after_error, stop_merges
from .progress import Current, Progress
from .record import StoredRecord
from .refusals import Refused, absent, keeps_changing, keeps_refusing
from .tables import Side
from .undoing import continue_undo, drop_merged_clones, undo, undo_clones

_MOST_STEPS = 24
"""The number of steps after which a run gives up on a partition that keeps changing."""
_READS = 60
_READ_AGAIN_SECONDS = 0.5
_MERGE_SECONDS = 0.5


class GroupMove:
    """Takes the partitions of a group to the destination, or to the ends of their records."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def carry_out(self) -> None:
        """Take each partition to its outcome. Raises LeaseLost and EnsembleError.

        No row is lost then, and the next run continues.
        """
        group = self._group
        try:
            self._stop_merges_of_recorded()
            while group.open:
                self._take_steps()
        except BaseException:
            restart_merges_after_error(group)
            raise
        self._restart_merges_at_the_end()
        # An error leaves rows hidden, which is right as long as the records are left.
        with suppress(PartMoveError):
            group.shard.readers.after(group.shard.tables, group.moving)

    def _stop_merges_of_recorded(self) -> None:
        group = self._group
        recorded = [each for each in group.open if each.stored is not None]
        if recorded and group.shard.options.stop_merges:
            try:
                stop_merges(group, recorded)
            except Refused as refused:
                group.leave_refused(recorded, refused)

    def _take_steps(self) -> None:
        """Read all open partitions, and take one step with each."""
        group = self._group
        for each in group.open:
            each.steps += 1
            if each.steps > _MOST_STEPS:
                group.leave([each], keeps_refusing() if each.refused_drop else keeps_changing(each.problem))
        members = group.open
        try:
            self._read_before_the_parts(members)
            currents = self._read_states(members)
        except Refused as refused:
            group.leave_refused(members, refused)
            return
        for state, step in _STEP_OF.items():
            found = [each for each in currents if each.classification.state is state]
            if found:
                step(group, found)
        self._wait_for_merges()

    def _read_before_the_parts(self, members: Sequence[Progress]) -> None:
        """Read marks and activity for new records, which have to be older than the parts in the record.

        The marks come first: a mutation that they already have is then seen by the activity until it is done.
        """
        group = self._group
        fresh = [each for each in members if each.stored is None or each.steps == 1]
        if fresh:
            group.marks = group.read_marks(fresh)
            group.read_activity(fresh)

    def _read_states(self, members: Sequence[Progress]) -> list[Current]:
        """Read every replica and classify the partitions that all replicas have alike."""
        group, found = self._group, []
        read = group.read(members)
        for each in members:
            parts = read[each.id]
            uneven = refuse_uneven(group.shard.tables, parts)
            if uneven is None:
                found.append(Current(each, Classification(TwinState.UNKNOWN), parts[0], parts))
                continue
            # A partition between the tables is worth a wait: a replica may still be fetching new parts.
            each.waits += 1
            each.steps -= 1
            if each.stored is None or each.waits >= _READS:
                group.leave([each], uneven)
        if group.open and not found:
            group.shard.clock.sleep(_READ_AGAIN_SECONDS)
        return [*self._classified(found)]

    def _classified(self, currents: Sequence[Current]) -> Iterator[Current]:
        to_ask = [each for each in currents if _needs_known_clones(each)]
        if to_ask:
            asked = {each.progress.id: each for each in self._group.with_known_clones(to_ask)}
            currents = [asked.get(each.progress.id, each) for each in currents]
        for each in currents:
            stored = each.progress.stored
            if stored is None:
                yield each._replace(classification=self._unrecorded(each))
            elif self._may_continue(each, stored):
                classification = classify_recorded(stored.record, each.parts, each.progress.id)
                if classification.state is TwinState.STALE and each.progress.attached:
                    # The comparison shows whether the source changed after the ATTACH alone, by an insert.
                    classification = Classification(TwinState.CLONED)
                yield each._replace(classification=classification)

    def _unrecorded(self, current: Current) -> Classification:
        return Classification(classify_unrecorded(current.parts, current.progress.destination))

    def _may_continue(self, current: Current, stored: StoredRecord) -> bool:
        """Whether the record is of these tables, and nothing is in progress that its move must not meet."""
        group, progress = self._group, current.progress
        problem = problem_of_record(stored.record, group.shard.tables[0])
        if problem:
            group.leave_unknown(progress, problem)
            return False
        if progress.steps > 1:
            return True
        refusal = refuse_activity(
            GateInput(progress.id, group.shard.tables, current.all_parts, group.activity)
        )
        if refusal is not None:
            group.leave([progress], refusal)
        return refusal is None

    def _wait_for_merges(self) -> None:
        """Wait briefly if a server has refused to drop a part of an assigned merge.

        Servers assign merges even while merges are stopped.
        """
        group = self._group
        if not group.meets_merge:
            return
        group.meets_merge = False
        try:
            restart_merges(group)
        except Refused as refused:
            group.leave_refused(group.open, refused)
        if group.open:
            group.shard.clock.sleep(_MERGE_SECONDS)

    def _restart_merges_at_the_end(self) -> None:
        """Start the merges again; a failure is added to the refusals of the partitions that are left."""
        group = self._group
        try:
            restart_merges(group)
        except Refused as refused:
            problem = f"merges of both tables are still stopped: {refused.refusal.reason}"
            report = group.report
            for each in group.moving:
                for refusals in (report.deferred, report.failed, report.unfinished):
                    if each in refusals:
                        reason = f"{refusals[each].reason}; {problem}"
                        refusals[each] = refusals[each]._replace(reason=reason)


def _needs_known_clones(current: Current) -> bool:
    """Whether only the ensemble shows which new parts of hot are clones: an earlier run may have attached."""
    progress = current.progress
    if progress.stored is None or progress.attached:
        return False
    record = progress.stored.record
    is_open = not record.is_verified and not record.undoing
    return is_open and record.destination is Side.HOT and bool(new_parts(record, current.parts))


def _defer_absent(group: Group, currents: Sequence[Current]) -> None:
    group.leave((each.progress for each in currents), absent())


def _fail_unknown(group: Group, currents: Sequence[Current]) -> None:
    for each in currents:
        group.leave_unknown(each.progress, each.classification.problem)


def _report_unchanged(group: Group, currents: Sequence[Current]) -> None:
    for each in currents:
        each.progress.is_done = True
        group.report.unchanged.add(each.progress.id)


def _roll_back(group: Group, currents: Sequence[Current]) -> None:
    for each in currents:
        each.progress.problem = each.progress.problem or "parts of the source are not as recorded"
    undo(group, currents)


def _roll_back_clones(group: Group, currents: Sequence[Current]) -> None:
    for each in currents:
        each.progress.problem = "a mutation has rewritten its parts"
    undo_clones(group, currents)


def _adopt_and_drop(group: Group, currents: Sequence[Current]) -> None:
    verified = adopt(group, currents)
    attached = [
        Classification(TwinState.ATTACHED, parts=tuple(sorted(each.record.parts))) for each in verified
    ]
    drop_recorded(group, [each._replace(classification=state) for each, state in zip(verified, attached)])


_STEP_OF: Mapping[TwinState, Callable[[Group, Sequence[Current]], None]] = {
    TwinState.UNKNOWN: _fail_unknown,
    TwinState.ABSENT: _defer_absent,
    TwinState.AT_DESTINATION: _report_unchanged,
    TwinState.DROPPED: end_moves,
    TwinState.UNDOING: continue_undo,
    TwinState.STALE: _roll_back,
    TwinState.CHANGED: _roll_back_clones,
    TwinState.MERGED: drop_merged_clones,
    TwinState.ATTACHED: drop_recorded,
    TwinState.DROPPED_PARTLY: drop_recorded,
    TwinState.CLONED: _adopt_and_drop,
    TwinState.RECORDED: attach_recorded,
    TwinState.AT_SOURCE: begin,
}
"""State → the step that `transitions.TRANSITIONS` describes, in the order of the steps of a group."""
