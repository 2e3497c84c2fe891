# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes partitions out of the ledger that were dropped from the twin on purpose.

Nothing proves a purpose but the command. So a partition is refused while its rows are still somewhere: in the
twin, in ``detached/`` of the twin, or in the twin of the ledger under another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...formats.names import parse_names
from ...text import first_few
from ..move.tables import PartsOf
from .compare import Blocks, entry_of, has_as_many_rows, missing_of, uncovered
from .entry import LedgerEntry, TablePlace, TwinPair
from .identity import found_as, replaced_twin
from .ledger import Changes
from .retention import folders_with
from .servers import LostFacts
from .work import WHOLE_TABLE, LedgerWork, in_batches, small_changes


def drop(partition_ids: Sequence[str]) -> Callable[[LedgerWork], Iterator[Changes]]:
    """Return what takes the partitions out of the ledger."""

    def decide(work: LedgerWork) -> Iterator[Changes]:
        ledger = work.open.ledger
        listed = []
        for each in sorted(set(partition_ids)):
            if each in work.entries:
                listed.append(each)
            else:
                work.outcome.unchanged.add(each)
        if ledger is None or not listed or _refuse_table(work, ledger.pair):
            return
        if not work.case.tables:
            yield from small_changes(dict.fromkeys(listed))
            return
        for batch in in_batches(listed):
            yield from small_changes(_changes(work, ledger.pair, batch))

    return decide


def _refuse_table(work: LedgerWork, pair: TwinPair) -> bool:
    """Whether no partition may be taken out, because the rows may be in a table elsewhere; then refused."""
    case = work.case
    if any(each.is_exchanged for each in case.pairs):
        work.refuse(WHOLE_TABLE, "the names of the table and its twin are exchanged", "Run table_move first")
        return True
    lacking = [each.server for each in case.pairs if each.cold is None]
    if lacking and len(lacking) < len(case.pairs):
        work.refuse(WHOLE_TABLE, f"{lacking[0]} has no twin", "Run twin_table, which creates it")
        return True
    elsewhere = _former_twin(work, pair)
    if elsewhere:
        work.refuse(
            WHOLE_TABLE,
            f"the twin of the ledger was not dropped{elsewhere}",
            f"RENAME it to {pair.cold.name}, or drop it first if nobody needs its rows",
        )
    return bool(elsewhere)


def _former_twin(work: LedgerWork, pair: TwinPair) -> str:
    """Return where the twin of the ledger is under another name; "" if it is not, or has the name.

    Of a table that is replaced, the former twin may stay under another name: its rows are not of this table.
    """
    hot = {
        each.replica.name: uuid
        for each in work.case.pairs
        if (uuid := work.case.identities.get(each.replica.name, {}).get(str(each.hot), ""))
    }
    now = pair.hot._replace(uuids=hot, born=work.case.births.hot)
    if pair.hot.is_replaced_by(now) or _has_former_twin(work, pair.cold):
        return ""
    return found_as(pair.cold, work.case.identities)


def _has_former_twin(work: LedgerWork, cold: TablePlace) -> bool:
    now = work.case.now
    if now is None:
        return False
    has_uuid = bool(set(now.cold.uuids.values()) & set(cold.uuids.values()))
    return has_uuid or (cold.born is not None and cold.born == now.cold.born)


def _changes(work: LedgerWork, pair: TwinPair, partition_ids: Sequence[str]) -> dict[str, LedgerEntry | None]:
    """Return the changes of partitions of which the twin lacks something; refuse the others."""
    facts, now = work.lost_facts(partition_ids), work.case.now
    other = "" if now is None else replaced_twin(pair, now, work.case.identities)
    changes: dict[str, LedgerEntry | None] = {}
    for each, parts in work.even_parts(partition_ids):
        entry = work.entries[each]
        missing = missing_of(entry, parts.cold, each, work.case.tables[0].cold.definition)
        folders = _folders(entry, parts, each, facts)
        if other and parts.cold:
            work.refuse(each, other, "Run twin_ledger with the state entered, which compares all rows")
        elif not missing:
            work.refuse(
                each,
                "the twin has all that the ledger lists",
                "Do nothing: the partition is whole, and only one that was dropped from the twin leaves the"
                " ledger",
            )
        elif folders and not has_as_many_rows(entry, parts.cold):
            work.refuse(
                each,
                f"{missing}; detached/ of the twin has {first_few(folders)}",
                "Attach these parts, or delete their folders only if nobody needs the rows",
            )
        else:
            blocks = Blocks(facts.hot_blocks.get(each, 0), (facts.cold_blocks or {}).get(each, 0))
            changes[each] = entry_of(parts.cold, each, blocks) if parts.cold else None
    return changes


def _folders(entry: LedgerEntry, parts: PartsOf, partition_id: str, facts: LostFacts) -> list[str]:
    """Return the folders in ``detached/`` of any replica with blocks that the twin lacks, sorted."""
    names = parse_names((part.name for part in parts.cold), partition_id, "system.parts")
    found = folders_with(uncovered(entry.ranges, names), partition_id, facts)
    return sorted({folder for folders in found.values() for folder in folders})
