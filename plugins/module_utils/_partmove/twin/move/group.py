# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions of a group under the lease of their shard path: reads, statements and records.

A group moves together: each step reads, writes and executes at once for all its partitions. Only this module
executes ATTACH and DROP PART. Each statement follows a check that the run still holds the lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import EnsembleError, LeaseLost, PartMoveError, PartTooLarge
from ...gates.gate import Refusal
from ...journal.events import Event
from ...lease.confirmation import confirm_lease
from ...tree.znodes import Op
from .attach_log import clones_since
from .droppable import not_droppable
from .gates import server_failed
from .ledgers import EndedMove
from .partition import TwinShard, refused_on_error
from .progress import Current, Progress
from .record import Change, TwinRecord
from .refusals import Refused, unknown_state
from .report import TwinReport
from .statements import AttachPartitions, DropParts
from .tables import NO_CLONES_KNOWN, ActivityInProgress, KnownClones, PairMarks, PartsOf, Side


class Group:
    """Partitions of a shard path that move together."""

    def __init__(self, shard: TwinShard, report: TwinReport, members: Sequence[Progress]) -> None:
        self.shard = shard
        self.report = report
        self.members = members
        self.marks: Sequence[PairMarks] = ()
        self.activity: Sequence[ActivityInProgress] = ()
        """Marks and activity of every replica, as read last; both before the parts that are recorded."""
        self.meets_merge = False
        """Whether a server has refused to drop a part that a merge has."""

    @property
    def open(self) -> list[Progress]:
        """The partitions without an outcome."""
        return [each for each in self.members if not each.is_done]

    @property
    def moving(self) -> dict[str, TwinRecord]:
        """Partition id → record, of all partitions between the tables."""
        return {each.id: each.stored.record for each in self.members if each.stored is not None}

    def read(self, members: Sequence[Progress]) -> Mapping[str, tuple[PartsOf, ...]]:
        """Return the parts of each partition on every replica, from one query to each replica."""
        ids = [each.id for each in members]
        shard = self.shard
        with refused_on_error():
            found = [shard.servers.parts(tables, ids) for tables in shard.tables]
        return {each: tuple(parts[each] for parts in found) for each in ids}

    def read_marks(self, members: Sequence[Progress]) -> Sequence[PairMarks]:
        """Return the marks of both tables on every replica. Raises Refused if a server fails."""
        ids = [each.id for each in members]
        with refused_on_error():
            return [self.shard.servers.marks(tables, ids) for tables in self.shard.tables]

    def read_activity(self, members: Sequence[Progress]) -> None:
        """Read the activity in both tables on every replica. Raises Refused if a server fails."""
        ids = [each.id for each in members]
        with refused_on_error():
            self.activity = [self.shard.servers.activity(tables, ids) for tables in self.shard.tables]

    def with_known_clones(self, currents: Sequence[Current]) -> list[Current]:
        """Add the clones that the ensembles know. Raises Refused if a server fails."""
        tables = self.shard.tables[0]
        found: dict[str, KnownClones] = {}
        for side in Side:
            since = {
                each.progress.id: -1 if each.record.marks is None else each.record.marks.on(side).log
                for each in currents
                if each.record.destination is side and each.parts.clones is None
            }
            if since:
                with refused_on_error():
                    found.update(self.shard.servers.known_clones(tables, side, since))
        return [self._with_clones(each, found) for each in currents]

    def _with_clones(self, current: Current, found: Mapping[str, KnownClones]) -> Current:
        partition_id, parts = current.progress.id, current.parts
        if parts.clones is not None:
            return current
        known = found.get(partition_id, NO_CLONES_KNOWN)
        clones = clones_since(current.record, parts, known, partition_id)
        return current._replace(parts=parts._replace(clones=clones))

    def attach(self, members: Sequence[Progress], destination: Side) -> str:
        """Clone the partitions, as `TwinServers.attach` does. Raises PartMoveError as it does."""
        self._about_to_act(members)
        ids = tuple(each.id for each in members)
        return self.shard.servers.attach(AttachPartitions(self.shard.tables[0], destination, ids))

    def without_clones(self, members: Sequence[Progress], destination: Side) -> frozenset[str]:
        """Return the ids of the partitions of which an ATTACH that has ended certainly made no clone.

        Only the ensemble proves that: a server may have registered clones that no replica shows yet. Raises
        PartMoveError if a server fails.
        """
        tables = self.shard.tables[0]
        since = {
            each.id: -1 if each.record.marks is None else each.record.marks.on(destination).log
            for each in members
        }
        known = self.shard.servers.known_clones(tables, destination, since)
        parts = self.shard.servers.parts(tables, [*since])
        found = {
            each.id: clones_since(each.record, parts[each.id], known[each.id], each.id) for each in members
        }
        return frozenset(each for each, clones in found.items() if clones.complete and not clones.names)

    def drop(self, members: Sequence[Progress], side: Side, parts: Iterable[str]) -> bool:
        """Drop parts, as `TwinServers.drop` does. Raises PartTooLarge, and Refused for all other errors."""
        self._about_to_act(members)
        try:
            return self.shard.servers.drop(DropParts(self.shard.tables[0], side, tuple(parts)))
        except PartTooLarge:
            raise
        except PartMoveError as error:
            raise Refused(server_failed(error)) from error

    def checksums(self, side: Side, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the checksum of the parts on every replica. Raises PartMoveError."""
        shard = self.shard
        return tuple(shard.servers.checksum(tables, side, parts) for tables in shard.tables)

    def commit(self, records: Sequence[tuple[Progress, TwinRecord | None]], more: Sequence[Op] = ()) -> None:
        """Write the record of each partition, or remove it for None. Raises LeaseLost and EnsembleError.

        more: further operations of the same transaction, see `Records.commit`.
        """
        if not records:
            return
        changes = {each.id: Change(each.stored, record) for each, record in records}
        stored = self.shard.records.commit(self.shard.lease, changes, more)
        for each, _record in records:
            if each.id in stored:
                each.stored = stored[each.id]
            else:
                each.forget_record()

    def ledger_ops(self, currents: Sequence[Current]) -> Sequence[Op]:
        """Return what enters moved partitions in the ledger. Raises Refused if a server fails."""
        ended = {each.progress.id: EndedMove(each.record.destination, each.parts) for each in currents}
        try:
            return self.shard.ledger.ops_of(ended)
        except (EnsembleError, LeaseLost):
            raise
        except PartMoveError as error:
            raise Refused(server_failed(error)) from None

    def record_events(self, event: Event, rows: Mapping[str, Mapping[str, object]]) -> None:
        """Write an event about each of the partitions to the journal."""
        path = self.shard.shard_path
        if rows:
            self.shard.journal.record(
                event, [{"shard_path": path, "partition": each, **row} for each, row in rows.items()]
            )

    def hide_clones(self) -> Refusal | None:
        """Hide from readers the clones that an ATTACH adds or an undo drops; return why this is not done."""
        going = {partition_id for partition_id, record in self.moving.items() if not record.is_whole}
        try:
            return self.shard.readers.before_attach(self.shard.tables, self.moving, going)
        except PartMoveError as error:
            return server_failed(error)

    def show_before_removal(self, members: Sequence[Progress]) -> Refusal | None:
        """Hide nothing of these partitions from readers any more; return why their records must stay."""
        try:
            return self.shard.readers.before_removal(self.shard.tables, [each.id for each in members])
        except PartMoveError as error:
            return server_failed(error)

    def leave(self, members: Iterable[Progress], refusal: Refusal, *, failed: bool = False) -> None:
        """End the move of the partitions with this outcome; their records stay as they are."""
        for each in members:
            each.is_done = True
            if each.finishing:
                self.report.unfinished[each.id] = refusal
            else:
                (self.report.failed if failed else self.report.deferred)[each.id] = refusal

    def leave_refused(self, members: Iterable[Progress], refused: Refused) -> None:
        """End the move of the partitions as `Refused` says."""
        self.leave(members, refused.refusal, failed=refused.failed)

    def leave_unknown(self, progress: Progress, problem: str) -> None:
        """End the move of a partition whose state is unknown."""
        path = self.shard.records.path(progress.id)
        self.leave([progress], unknown_state(problem, path), failed=True)

    def leave_on_error(self, members: Iterable[Progress], error: PartMoveError) -> None:
        """End the move of the partitions because a server failed."""
        self.leave(members, server_failed(error))

    def note_refused_drop(self, members: Sequence[Progress]) -> None:
        """Let the next statement name each partition alone; if it already did, wait for a merge."""
        self.meets_merge = self.meets_merge or len(members) == 1
        for each in members:
            each.alone = each.refused_drop = True

    def refuse_too_large(self, members: Sequence[Progress], side: Side, names: Sequence[str]) -> None:
        """Let the next statement name each partition alone; raise Refused if it already did.

        Otherwise one part that is too large for the server would keep all partitions of the group in both
        tables. names: the parts of the statement, in its order; the server stopped at the first that is left.
        """
        for each in members:
            each.alone = True
        if len(members) > 1:
            return
        parts = self.read(members)[members[0].id][0].on(side)
        sizes = {part.name: part.bytes_on_disk for part in parts}
        left = next((f"part {name} of {sizes[name]:,} bytes" for name in names if name in sizes), "a part")
        tables = self.shard.tables[0]
        raise Refused(
            not_droppable(
                f"{tables.server} refuses to drop {left} of {tables.on(side)}, which is more than its"
                " max_partition_size_to_drop; its rows are in both tables, and the record of the move stays"
            )
        )

    def _about_to_act(self, members: Sequence[Progress]) -> None:
        confirm_lease(self.shard.hot, self.shard.lease, self.shard.shard_path)
        self.report.touched.update(each.id for each in members)
