# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the twin with its ledger: what should be in the twin, and is not.

An audit without these rules could not tell a lost partition from one that never went to the twin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...formats.names import parse_names
from ...text import count_of, first_few
from ..ledger.compare import has_as_many_rows, has_same_contents, missing_of, uncovered
from ..ledger.entry import BlockRange, LedgerEntry
from ..ledger.identity import found_as, pair_of, replaced_table, replaced_twin
from ..ledger.retention import folders_with, is_retention
from ..move.tables import PartsOf, TwinTables
from .evidence import LedgerRead, ReplicaTables, TwinShardRead
from .kind import TwinKind


def unreadable_ledger(read: TwinShardRead) -> tuple[TwinKind, str] | None:
    """Return the kind of a shard path whose ledger is unreadable, with the reason; None if it is readable."""
    return (TwinKind.RECORD_UNREADABLE, read.ledger.problem) if read.ledger.problem else None


def ledger_of_gone_table(ledger: LedgerRead) -> str:
    """Return what the ledger of a table lists that hot no longer has, for people; "" without entries."""
    if ledger.pair is None:
        return ""
    partitions = count_of(len(ledger.entries), "partition")
    return f"{partitions} should be in {ledger.pair.cold.name} at {ledger.pair.cold.place}"


def judge_twin(read: TwinShardRead) -> tuple[TwinKind, str] | None:
    """Return what is wrong with the two tables as a whole, by the ledger: the kind and the reason.

    Only with answers of all replicas: the silent server may have the table of the ledger.
    """
    ledger = read.ledger
    if ledger.pair is None or read.silent or read.problem:
        return None
    if not any(each.cold for each in read.pairs):
        cold, partitions = ledger.pair.cold, count_of(len(ledger.entries), "partition")
        reason = f"{partitions} should be in {cold.name} at {cold.place}{found_as(cold, ledger.identities)}"
        return TwinKind.TWIN_GONE, reason
    now = pair_of([_tables_of(each) for each in read.pairs if each.cold], ledger.identities, ledger.births)
    reason = replaced_twin(ledger.pair, now, ledger.identities)
    if reason:
        return TwinKind.TWIN_REPLACED, reason
    now = pair_of([_tables_of(each) for each in read.pairs], ledger.identities, ledger.births)
    reason = replaced_table(ledger.pair, now, ledger.identities)
    return (TwinKind.TABLE_REPLACED, reason) if reason else None


def _tables_of(pair: ReplicaTables) -> TwinTables:
    return TwinTables(pair.replica, pair.server, pair.hot, pair.cold or pair.hot)


def judge_entry(
    tables: Sequence[TwinTables], ledger: LedgerRead, parts: PartsOf, partition_id: str
) -> tuple[TwinKind, tuple[str, ...], str] | None:
    """Return kind, parts and reason if the twin lacks what the ledger lists; None if it has everything."""
    entry = ledger.entries.get(partition_id)
    if entry is None:
        return None
    missing = missing_of(entry, parts.cold, partition_id, tables[0].cold.definition)
    if not missing or ledger.lost is None or is_retention(entry, parts, partition_id, ledger.lost):
        return None
    if has_as_many_rows(entry, parts.cold):
        # Attaching a part from detached/ would add rows that are there already.
        moved = ", under other block numbers" if _missing_blocks(entry, parts, partition_id) else ""
        return TwinKind.LOST, (), f"{missing}{moved}"
    folders = _folders(entry, parts, partition_id, ledger)
    if folders:
        names = sorted({name for of_replica in folders.values() for name in of_replica})
        where = first_few(sorted(folders))
        reason = f"{missing}; detached/ of the twin has {first_few(names)} on replica {where}"
        return TwinKind.SET_ASIDE, tuple(names), reason
    return TwinKind.LOST, (), missing


def unlisted(
    ledger: LedgerRead, inserted: Collection[str], parts: PartsOf, partition_id: str
) -> Collection[str]:
    """Return the inserted parts of the twin that the ledger does not list.

    A part from ``detached/`` that was attached again counts as inserted on the server.
    """
    entry = ledger.entries.get(partition_id)
    if entry is None or not inserted:
        return inserted
    if has_same_contents(entry, parts.cold):
        return ()
    names = parse_names(inserted, partition_id, "znodes of inserted blocks")
    return [
        each.text
        for each in names
        if not any(one.first <= each.min_block and each.max_block <= one.last for one in entry.ranges)
    ]


def _folders(
    entry: LedgerEntry, parts: PartsOf, partition_id: str, ledger: LedgerRead
) -> dict[str, list[str]]:
    """Map replicas to folders in ``detached/`` with blocks that the twin lacks."""
    if ledger.lost is None:
        return {}
    ranges = _missing_blocks(entry, parts, partition_id) or list(entry.ranges)
    return folders_with(ranges, partition_id, ledger.lost)


def _missing_blocks(entry: LedgerEntry, parts: PartsOf, partition_id: str) -> list[BlockRange]:
    names = parse_names((part.name for part in parts.cold), partition_id, "system.parts")
    return uncovered(entry.ranges, names)
