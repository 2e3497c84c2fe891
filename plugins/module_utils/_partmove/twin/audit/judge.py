# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides the kind of each partition and replica of a shard path, from the evidence of a single read.

The first matching rule decides. A record takes precedence over the parts of the tables. A kind that needs
manual action takes precedence over a kind that another run ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...formats.names import parse_names
from ..move.classify import TwinState, classify_recorded, plan_undo
from ..move.clones import clones_of, is_source_changed, new_parts
from ..move.gates import definition_problem, placement_problem, readiness_problem, refuse_uneven
from ..move.record import TwinRecord, contents
from ..move.tables import Parts, PartsOf, Side, TwinPart, TwinTables
from .evidence import RecordZnode, TwinPartitionRead, TwinShardRead
from .kind import TwinKind

NO_PARTITION = ""
"""The partition of a verdict on a whole table."""
ALL_REPLICAS = ""
"""The replica of a verdict on all replicas."""


class ManualCheck(NamedTuple):
    """The rows to compare by hand, and the parts to drop if the rows are equal."""

    compare: Mapping[Side, tuple[str, ...]]
    """Parts whose rows should be equal; empty if no comparison is needed because the hashes are equal."""
    drop: tuple[tuple[Side, str], ...]
    """Parts that may be dropped after an equal comparison: table and name."""


class TwinVerdict(NamedTuple):
    """The kind of a partition or of a replica, with details.

    parts: names of the parts in question, sorted.
    reason: details; empty if the kind needs none.
    record: path of the record's znode, whether or not the znode exists; empty without a record.
    manual_check: for kinds that need manual action; else None.
    """

    kind: TwinKind
    parts: tuple[str, ...] = ()
    reason: str = ""
    record: str = ""
    manual_check: ManualCheck | None = None

    @property
    def can_wait(self) -> bool:
        """Whether the inconsistency is harmless so far; never for twins."""
        return False


Verdicts = Mapping[tuple[str, str], TwinVerdict]
"""Partition id and replica → verdict."""


def judge(read: TwinShardRead) -> dict[tuple[str, str], TwinVerdict]:
    """Return the verdict on each partition and replica of the read, by partition id and replica."""
    if read.is_gone:
        return {
            (each, ALL_REPLICAS): TwinVerdict(TwinKind.TABLE_GONE, reason=znode.problem, record=znode.path)
            for each, znode in read.record_znodes.items()
        }
    found = {(NO_PARTITION, replica): verdict for replica, verdict in _judge_replicas(read)}
    for each in read.partitions.values():
        verdict = _hide_run_in_progress(read, _judge_partition(read.tables or (), each))
        if verdict is not None:
            found[each.partition_id, ALL_REPLICAS] = verdict
    return found


def _judge_replicas(read: TwinShardRead) -> Iterator[tuple[str, TwinVerdict]]:
    """Yield the verdicts on replicas and on the whole table."""
    if read.problem:
        yield ALL_REPLICAS, TwinVerdict(TwinKind.NOT_JUDGED, reason=read.problem)
    for replica, reason in read.silent.items():
        yield replica, TwinVerdict(TwinKind.NOT_JUDGED, reason=reason)
    exchanged = [each for each in read.pairs if each.is_exchanged]
    if exchanged and len(exchanged) == len(read.pairs):
        yield ALL_REPLICAS, TwinVerdict(TwinKind.EXCHANGED)
        return
    with_twin = [each for each in read.pairs if each.cold is not None or each.is_exchanged]
    if not with_twin and not read.record_znodes:
        if not read.silent:
            yield ALL_REPLICAS, TwinVerdict(TwinKind.WITHOUT_TWIN)
        return
    first: TwinTables | None = None
    for each in read.pairs:
        if each.is_exchanged:
            yield each.replica.name, TwinVerdict(TwinKind.EXCHANGED_IN_PART, reason=each.server)
            continue
        if each.cold is None:
            yield each.replica.name, TwinVerdict(TwinKind.TWIN_MISSING, reason=f"{each.server} has none")
            continue
        tables = TwinTables(each.replica, each.server, each.hot, each.cold)
        first = first or tables
        verdict = _judge_tables(read, tables, first)
        if verdict is not None:
            yield each.replica.name, verdict


def _judge_tables(read: TwinShardRead, tables: TwinTables, first: TwinTables) -> TwinVerdict | None:
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


def _judge_partition(tables: Sequence[TwinTables], read: TwinPartitionRead) -> TwinVerdict | None:
    """Judge a partition; None if neither table has the partition and no record names it."""
    if read.changed:
        return TwinVerdict(TwinKind.NOT_JUDGED, reason="a run changed its record while the servers were read")
    znode = read.record_znode
    if znode is not None and znode.record is None:
        return TwinVerdict(TwinKind.RECORD_UNREADABLE, reason=znode.problem, record=znode.path)
    uneven = refuse_uneven(tables, read.parts)
    if uneven is not None:
        return TwinVerdict(TwinKind.UNEVEN, reason=uneven.reason, record="" if znode is None else znode.path)
    if znode is not None and znode.record is not None:
        return _judge_recorded(tables[0], read, znode, znode.record)
    return _judge_unrecorded(read)


def _judge_recorded(
    tables: TwinTables, read: TwinPartitionRead, znode: RecordZnode, record: TwinRecord
) -> TwinVerdict:
    """Judge a partition with a record."""
    if (record.hot, record.cold) != (tables.hot.place, tables.cold.place):
        reason = f"the record is about {record.hot} and {record.cold}"
        return TwinVerdict(TwinKind.RECORD_ELSEWHERE, reason=reason, record=znode.path)
    parts = read.parts[0]
    classification = classify_recorded(record, parts, read.partition_id)
    kind, problem = _KIND_OF_STATE[classification.state], classification.problem
    if kind is TwinKind.RECORDED:
        kind, problem = _judge_clones(record, parts, read.partition_id)
    if kind is not TwinKind.UNKNOWN and not (parts.hot or parts.cold):
        kind = TwinKind.WITHOUT_PARTS
    if record.merges_stopped:
        problem = f"{problem}; merges of both tables may be stopped until the next run".lstrip("; ")
    manual_check = _manual_check(record, parts) if kind is TwinKind.UNKNOWN else None
    names = tuple(sorted(classification.parts or record.parts))
    return TwinVerdict(kind, names, problem, znode.path, manual_check)


_KIND_OF_STATE = {
    TwinState.RECORDED: TwinKind.RECORDED,
    TwinState.STALE: TwinKind.RECORDED,
    TwinState.UNDOING: TwinKind.CLONED,
    TwinState.ATTACHED: TwinKind.ATTACHED,
    TwinState.DROPPED_PARTLY: TwinKind.DROPPED_PARTLY,
    TwinState.DROPPED: TwinKind.DROPPED,
    TwinState.MERGED: TwinKind.MERGED,
    TwinState.UNKNOWN: TwinKind.UNKNOWN,
}


def _judge_clones(record: TwinRecord, parts: PartsOf, partition_id: str) -> tuple[TwinKind, str]:
    """Return the kind of a partition without verified clones, and the problem of its clones."""
    if not new_parts(record, parts):
        return (TwinKind.STALE if is_source_changed(record, parts) else TwinKind.RECORDED), ""
    clones = clones_of(record, parts, partition_id)
    if not isinstance(clones, str):
        return TwinKind.CLONED, ""
    problem = plan_undo(record, parts, partition_id).problem
    return (TwinKind.UNKNOWN, problem) if problem else (TwinKind.CLONED, clones)


def _manual_check(record: TwinRecord, parts: PartsOf) -> ManualCheck:
    """Decide which new parts of the destination to compare with the source.

    All new parts are compared as long as the source has every recorded part.
    """
    source, new = parts.on(record.destination.other), new_parts(record, parts)
    names = contents(source)
    if all(names.get(name) == content for name, content in record.parts.items()):
        compare = {record.destination.other: tuple(sorted(record.parts)), record.destination: _names(new)}
        return ManualCheck(compare if new else {}, tuple((record.destination, name) for name in _names(new)))
    # If the source has lost a recorded part, its rows may be in the destination alone: drop no part there.
    equal = _names(_equal(source, new))
    if equal or not (source and new):
        return ManualCheck({}, tuple((record.destination.other, name) for name in equal))
    return ManualCheck({record.destination.other: _names(source), record.destination: _names(new)}, ())


def _judge_unrecorded(read: TwinPartitionRead) -> TwinVerdict | None:
    """Judge a partition without a record."""
    parts = read.parts[0]
    both = bool(parts.hot and parts.cold)
    equal = _equal(parts.hot, parts.cold) if both else []
    if equal:
        kind = TwinKind.EQUAL if len(equal) == len(parts.hot) else TwinKind.EQUAL_IN_PART
        drop = tuple((Side.HOT, name) for name in _names(equal))
        reason = f"{len(equal)} of {len(parts.hot)} parts of the table equal parts of the twin"
        return TwinVerdict(kind, _names(equal), reason, manual_check=ManualCheck({}, drop))
    if both and _rows(parts.hot) == _rows(parts.cold):
        hot, cold = _names(parts.hot), _names(parts.cold)
        manual_check = ManualCheck({Side.HOT: hot, Side.COLD: cold}, tuple((Side.HOT, name) for name in hot))
        return TwinVerdict(
            TwinKind.AS_MANY_ROWS, hot, f"{_rows(parts.hot)} rows each", manual_check=manual_check
        )
    inserted = _active_inserts(read.inserted, parts.cold, read.partition_id)
    if inserted:
        return TwinVerdict(TwinKind.INSERTED, inserted)
    if both:
        rows = f"{_rows(parts.hot)} rows of the table, {_rows(parts.cold)} of the twin"
        return TwinVerdict(TwinKind.LATE, _names(parts.hot), rows)
    if parts.cold:
        return TwinVerdict(TwinKind.COLD, _names(parts.cold))
    return TwinVerdict(TwinKind.HOT, _names(parts.hot)) if parts.hot else None


def _equal(parts: Parts, others: Iterable[TwinPart]) -> list[TwinPart]:
    """Return the parts with an equal among ``others``; each of ``others`` counts for a single part."""
    left = Counter(part.content for part in others)
    found = []
    for part in sorted(parts):
        if left[part.content]:
            left[part.content] -= 1
            found.append(part)
    return found


def _active_inserts(inserted: Iterable[str], parts: Parts, partition_id: str) -> tuple[str, ...]:
    """Return the active parts that an INSERT wrote, alone or merged with other parts."""
    names = parse_names(_names(parts), partition_id, "system.parts")
    inserted_names = parse_names(inserted, partition_id, "znodes of inserted blocks")
    return tuple(
        name.text
        for name in names
        if any(name.text == each.text or name.covers(each) for each in inserted_names)
    )


def _rows(parts: Parts) -> int:
    return sum(part.content.rows for part in parts)


def _names(parts: Iterable[TwinPart]) -> tuple[str, ...]:
    return tuple(sorted(part.name for part in parts))
