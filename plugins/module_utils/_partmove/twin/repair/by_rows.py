# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs a partition by comparing rows, under the lease of its shard path.

Each row stays as often as it is in the table that has it more often. Steps:

1. Read every replica, and compare the rows of the doubtful parts on every replica.
2. If both tables have rows that the other one lacks: write the rows that only the table has into a scratch
   table on one server, and ATTACH them to the twin, into which nobody inserts.
3. Compare again on every replica. DETACH each part whose rows the other table has, by its name.
4. Remove the record.

Before the first ATTACH or DETACH, the run notes in the record that a repair works on the partition, removes
what hides its parts from readers, and waits for readers that began before.

Why no row is lost: a part is detached only after every replica had each of its rows in the other table, and
the folder in ``detached/`` keeps the rows. An insert at any moment makes a part with another name, which is
not detached. Why a killed run does no harm: rows are added at most once, because the next run compares the
tables as they are, and finds the added rows in the twin.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..audit.kind import TwinKind
from ..audit.verdict import TwinVerdict
from ..move.merges import merge_statements
from ..move.record import Change, StoredRecord
from ..move.tables import PartsOf, Side
from .doubtful import Doubtful, doubtful_with_record, doubtful_without_record
from .leased import AGAIN, leave_if_refused, left_on_error
from .report import LeftAsIs, RepairedTwin, rows_of
from .servers import RowCounts
from .shard import RepairShard
from .statements import AttachScratch, BuildScratch, DetachPart, DropScratch
from .way import WHAT, Way, is_proven, way_of

_EQUAL = (TwinKind.EQUAL, TwinKind.EQUAL_IN_PART)


class RowsRepair:
    """The repair of one partition."""

    def __init__(self, shard: RepairShard, partition_id: str, verdict: TwinVerdict) -> None:
        """``verdict``: the verdict under the lease."""
        self._shard = shard
        self._id = partition_id
        self._verdict = verdict
        self._tables = shard.tables
        self._stored: StoredRecord | None = None
        """The record of the partition, as read or written last."""

    def carry_out(self) -> RepairedTwin:
        """Repair the partition. Raises LeftAsIs, LeaseLost, EnsembleError and kin."""
        with left_on_error():
            stored = self._stored = self._shard.records.read([self._id]).get(self._id)
            before = self._shard.read(self._id)
            self._shard.refuse_activity(self._id)
            self._drop_scratch()
        if not before.hot and not before.cold:
            return self._end_without_parts(before)
        self._refuse_loss(stored, before)
        doubtful = self._doubtful(stored, before)
        is_compared = doubtful.cold and (doubtful.hot or doubtful.problem)
        counts = self._count(doubtful) if is_compared else None
        destination = Side.COLD if stored is None else stored.record.destination
        way = way_of(doubtful, counts, destination)
        if way is Way.NOTHING and stored is None:
            raise LeftAsIs(
                "no row of it is in both tables: rows came late", "Run twin_move with the desired state"
            )
        after = rows_of(before)
        side, names = _given_up(way, doubtful)
        given_up = tuple(part for part in before.on(side) if part.name in names)
        after[side] -= sum(part.content.rows for part in given_up)
        with left_on_error():
            self._shard.refuse_undroppable(self._id, given_up)
        if way is Way.BUILD and counts is not None:
            self._add_surplus(doubtful, counts, before)
            after[Side.COLD] += counts.hot_only
        if names:
            self._detach(way, doubtful, side, names)
        self._remove_record(Side.HOT if way is Way.DETACH_COLD else Side.COLD)
        return RepairedTwin(self._id, WHAT[way], rows_of(before), after, {side: names} if names else {})

    def _doubtful(self, stored: StoredRecord | None, parts: PartsOf) -> Doubtful:
        if stored is None:
            equal = self._verdict.parts if self._verdict.kind in _EQUAL else ()
            return doubtful_without_record(parts, equal)
        kept = self._shard.kept.read(self._id)
        if kept is None:
            return doubtful_with_record(stored.record, parts, self._id)
        former = kept.parts[stored.record.destination.other]
        return doubtful_with_record(stored.record, parts, self._id, former, kept.added)

    def _count(self, doubtful: Doubtful) -> RowCounts:
        """Compare the doubtful parts on every replica. Raises LeftAsIs if replicas differ or hide rows."""
        servers = self._shard.servers
        self._shard.refuse_names()
        with left_on_error():
            for side, names in ((Side.HOT, doubtful.hot), (Side.COLD, doubtful.cold)):
                if names and len({servers.checksum(tables, side, names) for tables in self._tables}) > 1:
                    raise LeftAsIs(
                        f"replicas read different rows from the same parts of {self._tables[0].on(side)}",
                        "CHECK TABLE on every replica, and run twin_repair again once the rows are the same",
                    )
            counts = [servers.row_counts(each, doubtful.hot, doubtful.cold) for each in self._tables]
            self._refuse_changed(doubtful)
        if len(set(counts)) > 1:
            raise LeftAsIs("replicas count different rows in the same parts", AGAIN)
        return counts[0]

    def _refuse_changed(self, doubtful: Doubtful) -> None:
        """Raise LeftAsIs if a part that was compared is not active any more: its rows may have changed."""
        parts = self._shard.read(self._id)
        for side, names in ((Side.HOT, doubtful.hot), (Side.COLD, doubtful.cold)):
            gone = sorted({*names} - {part.name for part in parts.on(side)})
            if gone:
                raise LeftAsIs(
                    f"part {gone[0]} of {self._tables[0].on(side)} was merged, mutated or dropped meanwhile",
                    AGAIN,
                )

    def _add_surplus(self, doubtful: Doubtful, counts: RowCounts, before: PartsOf) -> None:
        """Add to the twin the rows that only the table has, through a scratch table on the first server."""
        servers, tables = self._shard.servers, self._tables[0]
        build = BuildScratch(tables, self._id, doubtful.hot, doubtful.cold)
        attach, drop = AttachScratch(tables, self._id), DropScratch(tables, self._id)
        with left_on_error():
            self._shard.announce([*build.statements, attach.sql, drop.sql])
            if self._shard.check_mode:
                return
            rows = servers.build(build)
            united = servers.row_counts(tables, doubtful.hot, doubtful.cold, build.scratch)
            if (rows, united.hot_only, united.cold_only) != (counts.hot_only, 0, counts.cold_only):
                raise LeftAsIs(
                    f"the scratch table got {rows:,} rows, which are not the {counts.hot_only:,} rows that"
                    " only the table has; a MATERIALIZED column may have been computed anew",
                    "Nothing was changed. Manual action: see docs/twin/repair.md",
                )
            self._refuse_changed(doubtful)
            self._shard.refuse_activity(self._id)
            self._shard.kept.add(self._shard.lease, self._id, Side.HOT, doubtful.hot, added=counts.hot_only)
            self._show()
            self._shard.about_to_act()
            servers.attach_scratch(attach)
            new = {part.name for part in self._shard.read(self._id).cold} - {
                part.name for part in before.cold
            }
            self._prove(Way.BUILD, doubtful._replace(cold=(*doubtful.cold, *sorted(new))))
            servers.drop_scratch(drop)

    def _prove(self, way: Way, doubtful: Doubtful) -> None:
        """Raise LeftAsIs unless every replica proves that the parts to detach hold no row of their own."""
        for tables in self._tables:
            counts = self._shard.servers.row_counts(tables, doubtful.hot, doubtful.cold)
            if not is_proven(way, doubtful, counts):
                raise LeftAsIs(
                    f"{tables.server} does not have all rows in both tables after the ATTACH",
                    f"No part was detached. {AGAIN}",
                )
        self._refuse_changed(doubtful)

    def _detach(self, way: Way, doubtful: Doubtful, side: Side, names: Sequence[str]) -> None:
        statements = [DetachPart(self._tables[0], side, name) for name in names]
        self._shard.announce([each.sql for each in statements])
        if self._shard.check_mode:
            return
        with left_on_error():
            if way is not Way.BUILD:
                self._prove(way, doubtful)
            self._shard.refuse_activity(self._id)
            # Before the first DETACH: the next run must know that a repair took these parts out.
            self._shard.kept.add(self._shard.lease, self._id, side, names)
            self._show()
            for each in statements:
                self._shard.about_to_act()
                if not self._shard.servers.detach(each):
                    raise LeftAsIs(f"a merge or mutation took part {each.part} of {side.value}", AGAIN)
            active = {part.name for part in self._shard.read(self._id).on(side)}
        if not active.isdisjoint(names):
            raise LeftAsIs("a detached part is still active", AGAIN)

    def _show(self) -> None:
        """Hide nothing of the partition from readers, before anything of it leaves a table.

        The row policy of the record may hide the very rows that stay. The record says that nothing is to be
        hidden any more, so a run that continues after a killed repair hides nothing either.
        """
        shard, stored = self._shard, self._stored
        if stored is None:
            return
        if not stored.record.repairing:
            change = Change(stored, stored.record._replace(repairing=True))
            self._stored = shard.records.commit(shard.lease, {self._id: change})[self._id]
        leave_if_refused(shard.readers.before_repair(self._tables))

    def _end_without_parts(self, parts: PartsOf) -> RepairedTwin:
        """Remove the record of a partition of which neither table has anything, not even detached."""
        with left_on_error():
            for tables in self._tables:
                for side, names in self._shard.servers.detached(tables, self._id).items():
                    if names:
                        raise LeftAsIs(
                            f"neither table has a part of it, and {tables.on(side)} on {tables.server} has"
                            f" {names[0]} in its detached folder",
                            "ALTER TABLE … ATTACH PART if its rows are needed, else ALTER TABLE … DROP"
                            " DETACHED PART, and run twin_repair again",
                        )
        self._remove_record(Side.COLD)
        return RepairedTwin(self._id, "neither table has a part of it", rows_of(parts), rows_of(parts), {})

    def _refuse_loss(self, stored: StoredRecord | None, parts: PartsOf) -> None:
        """Raise LeftAsIs if the twin lacks rows that the ledger lists, or is another one."""
        if stored is not None and stored.record.destination is Side.HOT:
            return  # A run drops from the twin what the ledger still lists.
        with left_on_error():
            leave_if_refused(self._shard.ledger.refusal(self._id, parts))

    def _enter(self, parts: PartsOf, destination: Side) -> None:
        """Enter in the ledger what the twin has. ``destination``: the table that got rows."""
        shard = self._shard
        with left_on_error():
            ops = shard.ledger.ops({self._id: parts}, destination)
        if ops:
            shard.records.commit(shard.lease, {}, ops)
            shard.ledger.written()

    def _remove_record(self, destination: Side) -> None:
        """Start the merges stopped for the partition, and remove its record; enter what the twin has.

        Row policies that hide something of the partition are removed before: only the record explains them.
        """
        shard, stored = self._shard, self._stored
        settled = shard.kept.settle(self._id)
        if stored is None:
            if settled:
                shard.records.commit(shard.lease, {}, settled)
            self._enter(self._shard.read(self._id), destination)
            return
        parts = self._shard.read(self._id)
        if stored.record.merges_stopped:
            for tables in self._tables:
                for statement in merge_statements(tables, allowed=True):
                    self._shard.announce([statement.sql])
                    if not shard.check_mode:
                        with left_on_error():
                            shard.servers.set_merges(statement)
        with left_on_error():
            leave_if_refused(shard.readers.before_removal(self._tables, {self._id}))
            ops = shard.ledger.ops({self._id: parts}, destination)
        shard.records.commit(shard.lease, {self._id: Change(stored, None)}, [*settled, *ops])
        shard.ledger.written()
        shard.report.records_removed.append(shard.records.path(self._id))

    def _drop_scratch(self) -> None:
        """Drop what a killed run left."""
        if not self._shard.check_mode:
            for tables in self._tables:
                self._shard.servers.drop_scratch(DropScratch(tables, self._id))


def _given_up(way: Way, doubtful: Doubtful) -> tuple[Side, tuple[str, ...]]:
    """Return the table that gives up parts, and their names."""
    if way is Way.NOTHING:
        return Side.HOT, ()
    return (Side.COLD, doubtful.cold) if way is Way.DETACH_COLD else (Side.HOT, doubtful.hot)
