# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides the kind of each partition and replica of a shard path, from the evidence of a single read.

The first matching rule decides. A record takes precedence over the parts of the tables. A kind that needs
manual action takes precedence over a kind that another run ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...formats.names import parse_names
from ..move.gates import definition_problem, placement_problem, readiness_problem, refuse_uneven
from ..move.tables import Parts, Side, TwinTables
from .evidence import LedgerRead, ReplicaTables, TwinPartitionRead, TwinShardRead
from .kind import TwinKind
from .ledger_rules import judge_entry, judge_twin, ledger_of_gone_table, unlisted, unreadable_ledger
from .recorded import equal_parts, judge_recorded, names_of
from .verdict import ALL_REPLICAS, NO_PARTITION, ManualCheck, TwinVerdict


def judge(read: TwinShardRead) -> dict[tuple[str, str], TwinVerdict]:
    """Return the verdict on each partition and replica of the read, by partition id and replica."""
    if read.is_gone:
        return dict(_judge_gone(read))
    found = {(NO_PARTITION, replica): verdict for replica, verdict in _judge_replicas(read)}
    for each in read.partitions.values():
        verdict = _hide_run_in_progress(read, _judge_partition(read.tables or (), each, read.ledger))
        if verdict is not None:
            found[each.partition_id, ALL_REPLICAS] = verdict
    return found


def _judge_gone(read: TwinShardRead) -> Iterator[tuple[tuple[str, str], TwinVerdict]]:
    """Yield the verdicts on records and the ledger of a table that hot no longer has."""
    for each, znode in read.record_znodes.items():
        verdict = TwinVerdict(TwinKind.TABLE_GONE, reason=znode.problem, record=znode.path)
        yield (each, ALL_REPLICAS), verdict
    reason = read.ledger.problem or ledger_of_gone_table(read.ledger)
    if reason:
        verdict = TwinVerdict(TwinKind.TABLE_GONE, reason=reason, record=read.ledger.path)
        yield (NO_PARTITION, ALL_REPLICAS), verdict


def _judge_replicas(read: TwinShardRead) -> Iterator[tuple[str, TwinVerdict]]:
    """Yield the verdicts on replicas and on the whole table."""
    whole = _judge_whole(read)
    if whole is not None:
        yield ALL_REPLICAS, whole
    for replica, reason in read.silent.items():
        yield replica, TwinVerdict(TwinKind.NOT_JUDGED, reason=reason)
    has_twin = any(each.cold is not None or each.is_exchanged for each in read.pairs)
    is_settled = whole is not None and whole.kind in (TwinKind.EXCHANGED, TwinKind.TWIN_GONE)
    if not is_settled and (has_twin or read.record_znodes or read.ledger.pair is not None):
        yield from _judge_pairs(read)
    elif whole is not None and whole.kind is TwinKind.EXCHANGED:
        # Nothing else of the tables matters to a move, but such a policy still hides rows of the name.
        for each in read.pairs:
            verdict = _judge_policies(read, each)
            if verdict is not None:
                yield each.replica.name, verdict


def _judge_whole(read: TwinShardRead) -> TwinVerdict | None:
    """Return the verdict on the table and its twin on all replicas; None without one."""
    exchanged = [each for each in read.pairs if each.is_exchanged]
    if exchanged and len(exchanged) == len(read.pairs):
        return TwinVerdict(TwinKind.EXCHANGED)
    of_ledger = unreadable_ledger(read) or judge_twin(read)
    if of_ledger is not None and not exchanged:
        kind, reason = of_ledger
        return TwinVerdict(kind, reason=reason, record=read.ledger.path)
    if read.problem:
        return TwinVerdict(TwinKind.NOT_JUDGED, reason=read.problem)
    is_without = not any(each.cold for each in read.pairs) and not exchanged
    if is_without and not (read.record_znodes or read.silent or read.ledger.pair):
        return TwinVerdict(TwinKind.WITHOUT_TWIN)
    return None


def _judge_pairs(read: TwinShardRead) -> Iterator[tuple[str, TwinVerdict]]:
    """Yield the verdicts on single replicas."""
    first: TwinTables | None = None
    for each in read.pairs:
        if each.is_exchanged:
            in_part = TwinVerdict(TwinKind.EXCHANGED_IN_PART, reason=each.server)
            yield each.replica.name, _judge_policies(read, each) or in_part
            continue
        if each.cold is None:
            yield each.replica.name, TwinVerdict(TwinKind.TWIN_MISSING, reason=f"{each.server} has none")
            continue
        tables = TwinTables(each.replica, each.server, each.hot, each.cold)
        first = first or tables
        verdict = _judge_pair(read, tables, first) or _judge_policies(read, each)
        if verdict is not None:
            yield each.replica.name, verdict


def _judge_policies(read: TwinShardRead, tables: ReplicaTables) -> TwinVerdict | None:
    """Judge the row policies of moves on a replica; None if a record or a run may need them."""
    if not tables.policies or read.record_znodes or read.lock:
        return None
    return TwinVerdict(TwinKind.POLICY_LEFT, reason=f"{tables.server}: {'; '.join(tables.policies)}")


def _judge_pair(read: TwinShardRead, tables: TwinTables, first: TwinTables) -> TwinVerdict | None:
    problems = (
        (TwinKind.TWIN_ELSEWHERE, placement_problem(read.shard_path, tables, first)),
        (TwinKind.NOT_READY, readiness_problem(tables, len(read.pairs) + len(read.silent))),
        (TwinKind.TWIN_UNLIKE, definition_problem(tables, first)),
    )
    for kind, problem in problems:
        if problem:
            return TwinVerdict(kind, reason=f"{tables.server}: {problem}")
    return None


def _hide_run_in_progress(read: TwinShardRead, verdict: TwinVerdict | None) -> TwinVerdict | None:
    """Return NOT_JUDGED in place of an inconsistency while a run holds the lock of the shard path."""
    if verdict is None or verdict.kind.is_consistent or not read.lock:
        return verdict
    return TwinVerdict(TwinKind.NOT_JUDGED, verdict.parts, f"a run works on the table: {read.lock}")


def _judge_partition(
    tables: Sequence[TwinTables], read: TwinPartitionRead, ledger: LedgerRead
) -> TwinVerdict | None:
    """Judge a partition; None if neither table has the partition, and neither record nor ledger names it."""
    if read.changed:
        return TwinVerdict(TwinKind.NOT_JUDGED, reason="a run changed its record while the servers were read")
    znode = read.record_znode
    if znode is not None and znode.record is None:
        return TwinVerdict(TwinKind.RECORD_UNREADABLE, reason=znode.problem, record=znode.path)
    uneven = refuse_uneven(tables, read.parts)
    if uneven is not None:
        return TwinVerdict(TwinKind.UNEVEN, reason=uneven.reason, record="" if znode is None else znode.path)
    record = None if znode is None else znode.record
    if record is None or record.destination is Side.COLD:
        # On the way to hot, a run drops from the twin what the ledger still lists.
        found = judge_entry(tables, ledger, read.parts[0], read.partition_id)
        if found is not None:
            return TwinVerdict(*found, record=ledger.path)
    if znode is not None and record is not None:
        return judge_recorded(tables[0], read, znode, record)
    inserted = unlisted(ledger, read.inserted, read.parts[0], read.partition_id)
    return _judge_unrecorded(read._replace(inserted=inserted))


def _judge_unrecorded(read: TwinPartitionRead) -> TwinVerdict | None:
    """Judge a partition without a record."""
    parts = read.parts[0]
    both = bool(parts.hot and parts.cold)
    equal = equal_parts(parts.hot, parts.cold) if both else []
    if equal:
        kind = TwinKind.EQUAL if len(equal) == len(parts.hot) else TwinKind.EQUAL_IN_PART
        drop = tuple((Side.HOT, name) for name in names_of(equal))
        reason = f"{len(equal)} of {len(parts.hot)} parts of the table equal parts of the twin"
        return TwinVerdict(kind, names_of(equal), reason, manual_check=ManualCheck({}, drop))
    if both and _rows(parts.hot) == _rows(parts.cold):
        hot, cold = names_of(parts.hot), names_of(parts.cold)
        manual_check = ManualCheck({Side.HOT: hot, Side.COLD: cold}, tuple((Side.HOT, name) for name in hot))
        return TwinVerdict(
            TwinKind.AS_MANY_ROWS, hot, f"{_rows(parts.hot)} rows each", manual_check=manual_check
        )
    inserted = _active_inserts(read.inserted, parts.cold, read.partition_id)
    if inserted:
        return TwinVerdict(TwinKind.INSERTED, inserted)
    if both:
        rows = f"{_rows(parts.hot)} rows of the table, {_rows(parts.cold)} of the twin"
        return TwinVerdict(TwinKind.LATE, names_of(parts.hot), rows)
    if parts.cold:
        return TwinVerdict(TwinKind.COLD, names_of(parts.cold))
    return TwinVerdict(TwinKind.HOT, names_of(parts.hot)) if parts.hot else None


def _active_inserts(inserted: Iterable[str], parts: Parts, partition_id: str) -> tuple[str, ...]:
    """Return the active parts that an INSERT wrote, alone or merged with other parts."""
    names = parse_names(names_of(parts), partition_id, "system.parts")
    inserted_names = parse_names(inserted, partition_id, "znodes of inserted blocks")
    return tuple(
        name.text
        for name in names
        if any(name.text == each.text or name.covers(each) for each in inserted_names)
    )


def _rows(parts: Parts) -> int:
    return sum(part.content.rows for part in parts)
