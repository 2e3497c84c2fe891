# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Enters the partitions of a twin in its ledger, for twins that were filled before there was a ledger.

A partition without an entry is entered as it is. An entry stays as long as the twin has what the entry
lists; it is never replaced by an entry of fewer rows, unless lineage proves retention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...text import first_few
from ..move.tables import PartsOf, Side
from .compare import Blocks, entry_of, has_same_contents, missing_of
from .entry import LedgerEntry
from .identity import found_as, replaced_twin, was_there
from .ledger import Changes
from .retention import is_retention, uncovered_folders
from .servers import LostFacts
from .work import WHOLE_TABLE, LedgerWork, in_batches, small_changes

_AUDIT = "Run twin_audit_info, and follow the remedy of its finding; run again once the audit is consistent"

_OTHER = (
    "Drop nothing, and copy nothing while the twin has the rows. If the twin of the ledger is under another"
    " name or was dropped, RENAME it back, or UNDROP it. If the twin certainly lacks rows, copy these from a"
    " backup, and run again"
)
_HIDDEN = (
    "Drop nothing and copy nothing. If all replicas were replaced, only the auxiliary ensemble shows that the"
    " twin is the same. Let a server show it: give the user the right to read system.zookeeper, or upgrade"
    " the server of a replica to ClickHouse 25.8 or later. Then run again. Else RENAME the twin of the ledger"
    " back, or UNDROP it"
)


def enter(work: LedgerWork) -> Iterator[Changes]:
    """Yield the changes that enter all partitions of the twin. Raises PartMoveError."""
    case = work.case
    if any(each.is_exchanged for each in case.pairs) or _refuse_without_twin(work):
        return
    if _refuse_other_twin(work):
        return
    ids = set(work.entries)
    for tables in case.tables:
        ids.update(work.context.servers.partition_ids(tables, Side.COLD))
    # New UUIDs are written even if no entry changes.
    work.pair = case.now
    yield {}
    for batch in in_batches(sorted(ids)):
        yield from small_changes(_changes(work, batch))


def _refuse_without_twin(work: LedgerWork) -> bool:
    """Whether the twin is not there on every replica; refused if another replica or the ledger has it."""
    case, ledger = work.case, work.open.ledger
    if case.tables:
        return False
    lacking = [each.server for each in case.pairs if each.cold is None]
    if len(lacking) < len(case.pairs):
        work.refuse(WHOLE_TABLE, f"{lacking[0]} has no twin", "Run twin_table, which creates it")
    elif ledger is not None:
        reason = f"no replica has {ledger.pair.cold.name}{found_as(ledger.pair.cold, case.identities)}"
        work.refuse(WHOLE_TABLE, reason, _AUDIT)
    return True


def _refuse_other_twin(work: LedgerWork) -> bool:
    """Whether the twin is another one that is not proven to have all rows of the ledger; then refused.

    All or nothing: the block numbers of the other twin say nothing about the remaining entries.
    """
    case, ledger = work.case, work.open.ledger
    if ledger is None or case.now is None:
        return False
    other = replaced_twin(ledger.pair, case.now, case.identities)
    if not other:
        return False
    may_be_same = was_there(case.now, ledger.pair, ledger.written)
    remedy = _OTHER if case.now.cold.born else _HIDDEN
    for batch in in_batches(list(work.entries)):
        facts = work.lost_facts(batch) if may_be_same else None
        for each, parts in work.even_parts(batch):
            is_same = has_same_contents(work.entries[each], parts.cold)
            if not is_same and not (facts and _is_whole(work, each, parts, facts)):
                work.refuse(each, f"{other}, and its rows are not equal", remedy)
    return bool(work.outcome.refused)


def _is_whole(work: LedgerWork, partition_id: str, parts: PartsOf, facts: LostFacts) -> bool:
    """Whether the twin has all blocks of the entry, and its ensemble every block number of then."""
    entry, blocks = work.entries[partition_id], facts.cold_blocks
    if blocks is None or blocks.get(partition_id, 0) < entry.cold_blocks:
        return False
    return not missing_of(entry, parts.cold, partition_id, work.case.tables[0].cold.definition)


def _changes(work: LedgerWork, partition_ids: Sequence[str]) -> dict[str, LedgerEntry | None]:
    """Return the changes of some partitions; note the refused and the unchanged ones."""
    case = work.case
    parts = dict(work.even_parts(partition_ids))
    facts = work.lost_facts(partition_ids)
    expiries = work.context.servers.expiries(case.tables[0], partition_ids)
    changes: dict[str, LedgerEntry | None] = {}
    for each, both in parts.items():
        problem = _problem(work, each, both, facts)
        if problem:
            work.refuse(each, problem, _AUDIT)
            continue
        blocks = Blocks(facts.hot_blocks.get(each, 0), (facts.cold_blocks or {}).get(each, 0))
        entry = entry_of(both.cold, each, blocks, expiries) if both.cold else None
        if _is_same(work.entries.get(each), entry):
            work.outcome.unchanged.add(each)
        else:
            changes[each] = entry
    return changes


def _is_same(before: LedgerEntry | None, after: LedgerEntry | None) -> bool:
    """Whether the entries differ in block numbers only, which grow with each insert."""
    if before is None or after is None:
        return before is after
    return before == after._replace(cold_blocks=before.cold_blocks, hot_blocks=before.hot_blocks)


def _problem(work: LedgerWork, partition_id: str, parts: PartsOf, facts: LostFacts) -> str:
    """Return why the twin is not proven to have all rows of the partition; "" if it is."""
    entry = work.entries.get(partition_id)
    if entry is None:
        folders = uncovered_folders(parts.cold, partition_id, facts)
        return f"detached/ of the twin has {first_few(folders)}, with blocks of no part" if folders else ""
    missing = missing_of(entry, parts.cold, partition_id, work.case.tables[0].cold.definition)
    return "" if not missing or is_retention(entry, parts, partition_id, facts) else missing
