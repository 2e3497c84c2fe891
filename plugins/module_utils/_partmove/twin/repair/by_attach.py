# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attaches parts that servers or people moved to ``detached/`` of the twin, under the lease.

A part is attached only if the ledger lists its blocks and no active part has any of them. Afterwards the rows
are compared: with the entry of the ledger, with the other parts of the twin and with the table. If a row is
there already, the attached parts are detached again.

SQL attaches a folder only by the name of its part. A server that moves a part to ``detached/`` writes a
reason in front, so that a person has to rename the folder first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...formats.names import PartName, parse_names
from ...formats.sql import literal
from ..audit.verdict import TwinVerdict
from ..ledger.compare import has_same_contents, uncovered
from ..ledger.entry import BlockRange, LedgerEntry
from ..ledger.servers import SetAside
from ..move.tables import PartsOf, Side, TwinTables
from .leased import AGAIN, left_on_error
from .report import LeftAsIs, RepairedTwin, rows_of
from .shard import RepairShard
from .statements import AttachPart, DetachPart, ReplicaCommand

_AUDIT = "Run twin_audit_info, and follow the remedy of its finding"


class _Folder(NamedTuple):
    """A folder in ``detached/`` of the twin on one replica."""

    tables: TwinTables
    folder: str
    name: PartName


class AttachRepair:
    """The repair of one partition of which the twin lacks parts that are in ``detached/``."""

    def __init__(self, shard: RepairShard, partition_id: str, verdict: TwinVerdict) -> None:
        """``verdict``: the verdict under the lease."""
        del verdict
        self._shard = shard
        self._id = partition_id

    def carry_out(self) -> RepairedTwin:
        """Repair the partition. Raises LeftAsIs, NotPermitted, LeaseLost, EnsembleError and kin."""
        shard = self._shard
        entry = shard.ledger.entries.get(self._id)
        if entry is None:
            raise LeftAsIs("the ledger no longer lists it", _AUDIT)
        if self._id in shard.records.partition_ids():
            raise LeftAsIs(
                "its move is recorded and not finished",
                "Run twin_move with the partition and either state, then run twin_repair again",
            )
        # Before the ATTACH: what is compared afterwards must be known to be comparable.
        shard.refuse_names()
        with left_on_error():
            before = shard.read(self._id)
            shard.refuse_activity(self._id)
            attaches = self._attaches(entry, before)
            # An ATTACH PART waits for no other replica, whatever its settings. The first SYNC shows whether
            # the user may execute the last one.
            syncs = [ReplicaCommand(each, "SYNC") for each in shard.tables]
            texts = [f"{each.sql} -- on {each.tables.server}" for each in syncs]
            shard.announce([*texts, *(each.sql for each in attaches), *texts])
            rows = rows_of(before)
            if not shard.check_mode:
                self._attach(attaches, syncs, entry, before)
        after = {**rows, Side.COLD: entry.rows}
        what = f"{len(attaches)} parts from detached/ of the twin, whose blocks it lacked, were attached"
        return RepairedTwin(self._id, what, rows, after, {})

    def _attaches(self, entry: LedgerEntry, parts: PartsOf) -> list[AttachPart]:
        """Return the statements. Raises LeftAsIs if a folder has to be renamed before."""
        active = parse_names((part.name for part in parts.cold), self._id, "system.parts")
        folders = {
            each.replica.name: self._shard.servers.set_aside(each).get(self._id, ())
            for each in self._shard.tables
        }
        found = missing_folders(entry, active, folders, self._id)
        if not found:
            raise LeftAsIs(
                "no folder in detached/ has only blocks that the ledger lists and the twin lacks", _AUDIT
            )
        attaches, renames = [], []
        for name, by_replica in sorted(found.items(), key=lambda one: one[0].text):
            places = [
                _Folder(tables, by_replica[tables.replica.name], name)
                for tables in self._shard.tables
                if tables.replica.name in by_replica
            ]
            ready = [each for each in places if each.folder == name.text]
            if ready:
                attaches.append(AttachPart(ready[0].tables, name.text))
            else:
                renames.append(places[0])
        if renames:
            raise _to_be_renamed(renames)
        return attaches

    def _attach(
        self,
        attaches: Sequence[AttachPart],
        syncs: Sequence[ReplicaCommand],
        entry: LedgerEntry,
        before: PartsOf,
    ) -> None:
        shard = self._shard
        for sync in syncs:
            shard.servers.command(sync)
        for each in attaches:
            shard.about_to_act()
            shard.servers.attach_part(each)
        for sync in syncs:
            shard.servers.command(sync)
        after = shard.read(self._id)
        known = {part.name for part in before.cold}
        new = sorted(part.name for part in after.cold if part.name not in known)
        if {part.name for part in after.cold}.issuperset(known):
            problem = self._double(entry, after, new)
            if problem:
                self._detach(new)
                raise LeftAsIs(
                    f"{problem}; the attached parts are in detached/ again, as {', '.join(new)}", _AUDIT
                )
        rows = sum(part.content.rows for part in after.cold)
        if rows != entry.rows:
            raise LeftAsIs(
                f"{len(attaches)} parts were attached; the twin has {rows:,} rows of {entry.rows:,}", _AUDIT
            )
        shard.records.commit(shard.lease, {}, shard.ledger.ops_of_whole({self._id: after}))
        shard.ledger.written()

    def _double(self, entry: LedgerEntry, after: PartsOf, new: Sequence[str]) -> str:
        """Return which rows are there twice with the new parts; "" if none is."""
        servers, tables = self._shard.servers, self._shard.tables[0]
        hot = [part.name for part in after.hot]
        if hot and new:
            both = servers.row_counts(tables, hot, new).both
            if both:
                return f"the table has {both:,} rows of the parts in detached/"
        if has_same_contents(entry, after.cold):
            return ""
        rows = sum(part.content.rows for part in after.cold)
        if rows > entry.rows:
            return f"the twin would have {rows:,} rows, and the ledger lists {entry.rows:,}"
        others = [part.name for part in after.cold if part.name not in new]
        common = servers.rows_in_common(tables, new, others) if others and new else 0
        return f"the twin has {common:,} rows of the parts in detached/ already" if common else ""

    def _detach(self, names: Sequence[str]) -> None:
        shard = self._shard
        statements = [DetachPart(shard.tables[0], Side.COLD, each) for each in names]
        shard.announce([each.sql for each in statements])
        for each in statements:
            shard.about_to_act()
            if not shard.servers.detach(each):
                raise LeftAsIs(f"a merge or mutation took part {each.part} of the twin", AGAIN)


def missing_folders(
    entry: LedgerEntry,
    active: Sequence[PartName],
    folders: Mapping[str, Sequence[SetAside]],
    partition_id: str,
) -> dict[PartName, dict[str, str]]:
    """Map parts in ``detached/`` to their folders by replica: parts with nothing but missing blocks.

    The blocks of such a part are in the ledger, and no active part has any of them. Of parts that were merged
    only the result counts. Among folders of one replica with the same part, the one with its name counts.
    """
    missing = uncovered(entry.ranges, active)
    found: dict[PartName, dict[str, str]] = {}
    for replica, of_replica in folders.items():
        for each in sorted(of_replica, key=lambda one: one.folder == one.part):
            (name,) = parse_names([each.part], partition_id, "system.detached_parts")
            if _is_missing(name, missing, active):
                found.setdefault(name, {})[replica] = each.folder
    return {
        name: by_replica
        for name, by_replica in found.items()
        if not any(other != name and other.covers(name) for other in found)
    }


def _is_missing(name: PartName, missing: Sequence[BlockRange], active: Sequence[PartName]) -> bool:
    is_listed = any(each.first <= name.min_block and name.max_block <= each.last for each in missing)
    return is_listed and not any(
        each.min_block <= name.max_block and name.min_block <= each.max_block for each in active
    )


def _to_be_renamed(folders: Sequence[_Folder]) -> LeftAsIs:
    first = folders[0].tables
    cold = first.cold
    here = [each for each in folders if each.tables.replica == first.replica]
    moves = "; ".join(f"mv {each.folder} {each.name.text}" for each in here)
    return LeftAsIs(
        f"{len(folders)} folders in detached/ have a reason in front of the name of their part, and no"
        " statement attaches such a folder",
        f"On {first.server}, in the folder detached/ below SELECT data_paths FROM system.tables WHERE"
        f" database = {literal(cold.database)} AND name = {literal(cold.name)}, run: {moves}. Then run"
        " twin_repair again",
    )
