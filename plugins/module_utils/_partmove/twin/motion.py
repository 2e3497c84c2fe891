# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition on its way from a table to its twin: its states, and the one step that takes it on.

What is so is what every replica says, together with the record of the partition; a run that is killed at any
point leaves one of these states, and the next run goes on from there::

    nowhere         neither table has it                     → deferred
    at_destination  the source has none of it                → unchanged, or moved where this run did it
    at_source       no record                                → gates, then the record is written: recorded
    recorded        there is a record, and nothing new, and
                    the source is not as it was recorded     → the record is removed: at_source
    recorded        there is a record, and no clone was seen → ATTACH, and a look at every replica:
                        what is new equals the record        → the clones are recorded: attached
                        anything else                        → what came is dropped by name, the record is
                                                               removed: at_source, a few times
    attached        every replica had every clone            → DROP PART of each recorded part, by its name
    dropped_partly  some of these are gone                   → the same
    merged          a recorded part was merged in the source → its clone is dropped by name, and it leaves the
                                                               record: attached, dropped or at_source
    dropped         all of these are gone on every replica   → the record is removed: at_destination, or
                                                               at_source with an insert that came late
    unknown         what is there fits none of these         → failed, with nothing done

Why nothing is lost: a part of the source is dropped only by its name, only if it was recorded before the
ATTACH, and only after every replica was seen to have an equal part in the destination that was not there
when the record was written. An insert that comes at any moment has another name, so it is never dropped from
the source. Whatever is new in the destination and no clone, such as an insert on the way back, makes the
comparison fail, and then only what the source has as well is dropped there. ATTACH is given again by every
run that finds the partition recorded: servers do not clone twice what they have cloned, and so an insert of
the same rows is never mistaken for a clone that a statement of a killed run did not make.

Why nothing is there twice for good: the record stays until the recorded parts are gone, and every run,
whatever it was asked for, first takes a partition with a record on in the direction of that record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import PartMoveError
from ..journal.events import Event
from ..lease.lease import Lease, confirm_lease
from ..tree.ports import Clock, Journal, ZnodeStore
from .gates import Seen, refuse_start, refuse_uneven, refuse_unrest, servers_silent
from .record import MOST_BYTES, KeptRecord, Records, TwinRecord, contents
from .refusals import Refused, keeps_changing, not_known, nowhere, too_large
from .report import MovedTwin, TwinReport
from .servers import PartsOf, Side, TwinServers, TwinTables, Unrest
from .state import Found, TwinState, clones_of, is_stale, undoing, with_record, without_record

ROUNDS = 3
"""How often a partition that changed meanwhile is recorded and attached again."""
_STEPS = 24
"""How many states a partition may go through in one run."""
_LOOKS = 10
_LOOK_AGAIN_SECONDS = 0.5


class Shard(NamedTuple):
    """What all partitions of a shard path are moved with, under one lease."""

    shard_path: str
    hot: ZnodeStore
    clock: Clock
    journal: Journal
    servers: TwinServers
    records: Records
    lease: Lease
    tables: Sequence[TwinTables]
    """Of every replica, in the order of their names."""
    min_age: float


class Motion:
    """Takes one partition to the destination."""

    def __init__(
        self, shard: Shard, destination: Side, partition_id: str, report: TwinReport, kept: KeptRecord | None
    ) -> None:
        self._shard = shard
        self._destination = destination
        self._id = partition_id
        self._report = report
        self._kept = kept
        self._problem = ""
        """Why the last ATTACH was undone."""
        self._rounds = 0
        self._unrest: Sequence[Unrest] = ()
        self._moved: MovedTwin | None = None
        self._attached_at: float | None = None
        """When this run was about to clone what it then dropped."""
        self._dropped_at = 0.0

    def carry_out(self, unrest: Sequence[Unrest]) -> None:
        """Take the partition to one of its ends. ``unrest`` is what goes on, by replica.

        Raises LeaseLost, EnsembleError and kin; nothing is lost then, and running again goes on.
        """
        self._unrest = unrest
        try:
            for _step in range(_STEPS):
                if self._is_done(self._look()):
                    return
            raise Refused(keeps_changing(self._problem))
        except Refused as refused:
            kind = self._report.failed if refused.failed else self._report.deferred
            kind[self._id] = refused.refusal

    def _look(self) -> Sequence[PartsOf]:
        """What every replica has now, which has to be the same for all."""
        shard = self._shard
        for attempt in range(_LOOKS):
            try:
                parts = [shard.servers.parts(tables, [self._id])[self._id] for tables in shard.tables]
            except PartMoveError as error:
                raise Refused(servers_silent(error)) from error
            uneven = refuse_uneven(shard.tables, parts)
            if uneven is None:
                return parts
            # Between the tables it is worth waiting for a replica that fetches what was just inserted.
            if self._kept is None or attempt == _LOOKS - 1:
                raise Refused(uneven)
            shard.clock.sleep(_LOOK_AGAIN_SECONDS)
        raise AssertionError("the last look returns or raises")

    def _is_done(self, parts: Sequence[PartsOf]) -> bool:
        """Do the one step that follows from the state; whether there is none left."""
        there, kept = parts[0], self._kept
        seen = Seen(self._id, self._shard.tables, parts, self._unrest)
        if kept is None:
            return self._start_or_end(seen)
        self._refuse_other_tables(kept.record)
        refusal = refuse_unrest(seen)
        if refusal is not None:
            raise Refused(refusal)
        found = with_record(kept.record, there, self._id)
        if found.state is TwinState.UNKNOWN:
            raise self._not_known(found.problem)
        if found.state is TwinState.RECORDED and is_stale(kept.record, there):
            self._remove(kept)
        elif found.state is TwinState.RECORDED:
            self._attach(kept)
        elif found.state is TwinState.MERGED:
            self._release(kept, there, found)
        elif found.state is TwinState.DROPPED:
            self._forget(kept, there)
        else:
            self._drop(kept, found.parts)
        return False

    def _start_or_end(self, seen: Seen) -> bool:
        state = without_record(seen.parts[0], self._destination)
        if self._moved is not None:
            left = seen.parts[0].on(self._destination.other)
            self._end(self._moved._replace(left_behind=tuple(part.name for part in left)))
        elif state is TwinState.AT_DESTINATION:
            self._report.unchanged.add(self._id)
        elif state is TwinState.NOWHERE:
            raise Refused(nowhere())
        else:
            self._begin(seen)
            return False
        return True

    def _end(self, moved: MovedTwin) -> None:
        self._report.moved[self._id] = moved
        self._tell(
            Event.TWIN_MOVED,
            state=self._destination.value.upper(),
            parts=moved.parts,
            rows=moved.rows,
            bytes=moved.bytes_on_disk,
            left_behind=list(moved.left_behind),
        )

    def _begin(self, seen: Seen) -> None:
        """Write the record of what is there, if the gates let the partition pass."""
        refusal = refuse_start(seen, self._destination, self._shard.min_age)
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
        )
        if len(record.encode()) > MOST_BYTES:
            raise Refused(too_large(record))
        self._kept = self._shard.records.create(self._shard.lease, self._id, record)

    def _attach(self, kept: KeptRecord) -> None:
        """Clone, compare on every replica, and record the clones; undo what is not as it must be."""
        shard, record = self._shard, kept.record
        self._confirm()
        self._tell(Event.ATTACHING, state=record.destination.value.upper(), parts=sorted(record.parts))
        began = shard.clock.now()
        self._report.touched.add(self._id)
        with _answered():
            problem = shard.servers.attach(shard.tables[0], record.destination, self._id)
        there = self._look()[0]
        clones = clones_of(record, there)
        if not isinstance(clones, str):
            self._attached_at = began
            self._replace(kept, record._replace(clones=clones))
            return
        self._problem = problem or clones
        self._undo(kept, there)

    def _undo(self, kept: KeptRecord, there: PartsOf) -> None:
        """Drop by name what came and the source has as well, and remove the record."""
        shard, undo = self._shard, undoing(kept.record, there, self._id)
        if undo.problem:
            raise self._not_known(undo.problem)
        side = kept.record.destination
        if undo.drop:
            self._tell(Event.ATTACH_UNDONE, parts=list(undo.drop), reason=self._problem)
        if not all(self._drop_part(side, part) for part in undo.drop):
            return  # The record stays, so the next step attaches and compares again.
        left = {part.name for part in self._look()[0].on(side)} & set(undo.drop)
        if not left:
            self._remove(kept)
            # What was done to the partition meanwhile may go on.
            with _answered():
                self._unrest = [shard.servers.unrest(tables, [self._id]) for tables in shard.tables]

    def _drop(self, kept: KeptRecord, names: Sequence[str]) -> None:
        """Drop recorded parts from the source, each one only after the record says that it will be."""
        record = kept.record
        side = record.destination.other
        self._report.touched.add(self._id)
        self._tell(Event.TWIN_DROPPING, parts=list(names))
        # All but the last of those that are named in a record are gone for good.
        gone = [each for each in record.dropping if each not in names]
        for name in names:
            kept = self._replace(kept, record._replace(dropping=(*gone, name)))
            if not self._drop_part(side, name):
                self._replace(kept, record._replace(dropping=tuple(gone)))
                return
            gone.append(name)
        self._dropped_at = self._shard.clock.now()

    def _release(self, kept: KeptRecord, there: PartsOf, found: Found) -> None:
        """Drop the clones of parts that were merged in the source, and let these leave the record."""
        record = kept.record
        active = {part.name for part in there.on(record.destination)}
        clones = [record.clones[name] for name in found.parts if record.clones[name] in active]
        self._tell(
            Event.ATTACH_UNDONE, parts=clones, reason=f"{', '.join(found.parts)} were merged in the source"
        )
        if not all(self._drop_part(record.destination, clone) for clone in clones):
            return
        left = {part.name for part in self._look()[0].on(record.destination)} & set(clones)
        if left:
            return
        parts = {name: content for name, content in record.parts.items() if name not in found.parts}
        if parts:
            clones_left = {name: record.clones[name] for name in parts}
            self._replace(kept, record._replace(parts=parts, clones=clones_left))
        else:
            self._remove(kept)

    def _forget(self, kept: KeptRecord, there: PartsOf) -> None:
        """Remove the record of a partition whose recorded parts are gone from the source."""
        record, attached_at = kept.record, self._attached_at
        self._remove(kept)
        self._attached_at = None
        if record.destination is not self._destination:
            return
        seconds = None if attached_at is None else self._dropped_at - attached_at
        sizes = {part.name: part.bytes_on_disk for part in there.on(record.destination)}
        self._moved = MovedTwin(
            self._id,
            len(record.parts),
            sum(content.rows for content in record.parts.values()),
            sum(sizes.get(clone, 0) for clone in record.clones.values()),
            (),
            seconds,
        )

    def _replace(self, kept: KeptRecord, record: TwinRecord) -> KeptRecord:
        self._kept = self._shard.records.replace(self._shard.lease, self._id, kept, record)
        return self._kept

    def _remove(self, kept: KeptRecord) -> None:
        self._shard.records.remove(self._shard.lease, self._id, kept)
        self._kept = None

    def _drop_part(self, side: Side, part: str) -> bool:
        self._confirm()
        self._report.touched.add(self._id)
        with _answered():
            return self._shard.servers.drop(self._shard.tables[0], side, part)

    def _confirm(self) -> None:
        confirm_lease(self._shard.hot, self._shard.lease, self._shard.shard_path)

    def _tell(self, event: Event, **fields: object) -> None:
        place = {"shard_path": self._shard.shard_path, "partition": self._id}
        self._shard.journal.record(event, [{**place, **fields}])

    def _refuse_other_tables(self, record: TwinRecord) -> None:
        tables = self._shard.tables[0]
        if (record.hot, record.cold) != (tables.hot.place, tables.cold.place):
            raise self._not_known(
                f"it is on its way between {record.hot} and {record.cold}, and these tables are"
                f" {tables.hot.place} and {tables.cold.place}"
            )

    def _not_known(self, problem: str) -> Refused:
        return Refused(not_known(problem, self._shard.records.path(self._id)), failed=True)


@contextmanager
def _answered() -> Iterator[None]:
    """Leave the partition as it is where nobody knows what became of a statement; its record stays."""
    try:
        yield
    except PartMoveError as error:
        raise Refused(servers_silent(error)) from error
