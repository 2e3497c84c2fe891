# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes what a statement drops or deletes out of the ledger of the twin.

Otherwise audits would report it as lost. Servers remove the parts that a DELETE leaves without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...formats.names import PartName, parse_names
from ...journal.events import Event
from ...tree.znodes import Op
from ..ledger.compare import covered, uncovered
from ..ledger.entry import MOST_RANGES, Entries, LedgerEntry
from ..ledger.ledger import Changes, OpenLedger
from ..ledger.work import in_batches, small_changes
from ..move.tables import Side, TwinTables
from .effect import Effect
from .record import AlterRecord
from .shard import AlterShard
from .statement import AlterKind


def leave_ledger(shard: AlterShard, record: AlterRecord) -> Sequence[Op]:
    """Return the operations for the multi that removes the record of the statement.

    A TRUNCATE empties the ledger, so its operations are bounded by the number of pages. A DELETE may change
    every page, so its changes are written here, a few at a time.
    """
    statement = record.statement
    if statement.kind not in (AlterKind.DROP, AlterKind.REPLACE) and not statement.is_delete:
        return ()
    opened = OpenLedger(shard.hot, shard.root, shard.shard_path)
    if opened.ledger is None:
        return ()
    if statement.is_delete:
        for changes in small_changes(_deleted(shard, record, opened.entries)):
            write_changes(shard, opened, changes)
        return ()
    partitions = [each for each in opened.entries if statement.partition in ("", each)]
    return opened.plan(opened.ledger.pair, dict.fromkeys(partitions)).ops if partitions else ()


def write_changes(shard: AlterShard, opened: OpenLedger, changes: Changes) -> None:
    """Write changes of entries under the lease, after a line in the journal. Raises PartMoveError."""
    if opened.ledger is None or not changes:
        return
    removed = sorted(each for each, entry in changes.items() if entry is None)
    row = {
        "shard_path": shard.shard_path,
        "entered": sorted(set(changes) - set(removed)),
        "removed": removed,
    }
    shard.journal.record(Event.LEDGER_WRITING, [row])
    opened.commit(shard.lease, opened.ledger.pair, changes)


def lacking_before(shard: AlterShard, every: Sequence[TwinTables]) -> tuple[str, ...]:
    """Return partitions of the ledger of which the twin of some replica lacks blocks, sorted.

    Before a mutation these are lost, and the mutation does not explain it.
    """
    listed = OpenLedger(shard.hot, shard.root, shard.shard_path).entries
    return tuple(
        sorted(
            {
                each
                for tables in every
                for each, names in _with_rows(shard, [tables], listed)
                if uncovered(listed[each].ranges, names)
            }
        )
    )


def _deleted(shard: AlterShard, record: AlterRecord, listed: Entries) -> Mapping[str, LedgerEntry | None]:
    """Return the entries without the blocks that certainly lost all their rows by the mutation of the record.

    Every replica must still list the mutation: an auxiliary ensemble that was set back does not have it.
    """
    every = shard.tables() if listed else ()
    if not every or not Effect(shard, record, Side.COLD).is_there():
        return {}
    changes: dict[str, LedgerEntry | None] = {}
    for each, names in _with_rows(shard, every, set(listed) - set(record.lacking)):
        before = listed[each]
        ranges = covered(before.ranges, names)[:MOST_RANGES]
        if not names:
            changes[each] = None
        elif ranges != before.ranges:
            changes[each] = before._replace(ranges=ranges)
    return changes


def _with_rows(
    shard: AlterShard, every: Sequence[TwinTables], partition_ids: Iterable[str]
) -> Iterator[tuple[str, list[PartName]]]:
    """Yield partitions with the names of the parts that have rows in the twin of any of the replicas."""
    for batch in in_batches(sorted(partition_ids)):
        reads = [shard.servers.parts(tables, batch) for tables in every]
        for each in batch:
            names = {part.name for read in reads for part in read[each].cold if part.content.rows}
            yield each, list(parse_names(sorted(names), each, "system.parts"))
