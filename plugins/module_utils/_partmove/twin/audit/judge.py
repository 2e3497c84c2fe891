# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which kind each partition of a shard path is of: decided from what one look has seen, and nothing else.

The first rule that holds decides. What a record says comes before what the tables have, and what needs a
person before what another run ends by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...formats.names import parse_names
from ..move.classify import TwinState, undoing, with_record
from ..move.clones import clones_of, is_changed, new_in
from ..move.gates import misplaced, not_ready, refuse_uneven, unlike
from ..move.record import TwinRecord, contents
from ..move.tables import Parts, PartsOf, Side, TwinPart, TwinTables
from .evidence import RecordZnode, TwinPartitionRead, TwinShardRead
from .kind import TwinKind

NO_PARTITION = ""
"""Stands for the partition of what is about a whole table."""
ALL_REPLICAS = ""
"""Stands for the replica of what is about all of them."""


class ManualCheck(NamedTuple):
    """What a person has to compare, and what may be dropped then, by names of parts."""

    compare: Mapping[Side, tuple[str, ...]]
    """Parts whose rows should be the same; empty where parts that are equal need no comparison."""
    drop: tuple[tuple[Side, str], ...]
    """What is there twice, if they are."""


class TwinVerdict(NamedTuple):
    """What a partition, or a replica, is.

    parts: names of the parts that it is so for, sorted.
    reason: what was seen; empty where the kind says it all.
    record: path of the znode that has, or should have, a record; empty where there is none.
    doubt: for what a person has to act on; else None.
    """

    kind: TwinKind
    parts: tuple[str, ...] = ()
    reason: str = ""
    record: str = ""
    doubt: ManualCheck | None = None


Verdicts = Mapping[tuple[str, str], TwinVerdict]
"""Partition id and replica → verdict."""


def judge(look: TwinShardRead) -> dict[tuple[str, str], TwinVerdict]:
    """What everything is that the look has seen."""
    if look.is_gone:
        return {
            (each, ALL_REPLICAS): TwinVerdict(TwinKind.TABLE_GONE, reason=noted.problem, record=noted.path)
            for each, noted in look.noted.items()
        }
    found = {(NO_PARTITION, replica): verdict for replica, verdict in _replicas(look)}
    for each in look.partitions.values():
        verdict = _under_lock(look, _partition(look.tables or (), each))
        if verdict is not None:
            found[each.partition_id, ALL_REPLICAS] = verdict
    return found


def _replicas(look: TwinShardRead) -> Iterator[tuple[str, TwinVerdict]]:
    """What is told of replicas, or of the table."""
    if look.problem:
        yield ALL_REPLICAS, TwinVerdict(TwinKind.NOT_JUDGED, reason=look.problem)
    for replica, reason in look.silent.items():
        yield replica, TwinVerdict(TwinKind.NOT_JUDGED, reason=reason)
    exchanged = [each for each in look.pairs if each.is_exchanged]
    if exchanged and len(exchanged) == len(look.pairs):
        yield ALL_REPLICAS, TwinVerdict(TwinKind.EXCHANGED)
        return
    with_twin = [each for each in look.pairs if each.cold is not None or each.is_exchanged]
    if not with_twin and not look.noted:
        if not look.silent:
            yield ALL_REPLICAS, TwinVerdict(TwinKind.WITHOUT_TWIN)
        return
    first: TwinTables | None = None
    for each in look.pairs:
        if each.is_exchanged:
            yield each.replica.name, TwinVerdict(TwinKind.EXCHANGED_IN_PART, reason=each.server)
            continue
        if each.cold is None:
            yield each.replica.name, TwinVerdict(TwinKind.TWIN_MISSING, reason=f"{each.server} has none")
            continue
        tables = TwinTables(each.replica, each.server, each.hot, each.cold)
        first = first or tables
        verdict = _tables(look, tables, first)
        if verdict is not None:
            yield each.replica.name, verdict


def _tables(look: TwinShardRead, tables: TwinTables, first: TwinTables) -> TwinVerdict | None:
    problems = (
        (TwinKind.TWIN_ELSEWHERE, misplaced(look.shard_path, tables, first)),
        (TwinKind.NOT_READY, not_ready(tables, len(look.pairs) + len(look.silent))),
        (TwinKind.TWIN_UNLIKE, unlike(tables, first)),
    )
    for kind, problem in problems:
        if problem:
            return TwinVerdict(kind, reason=f"{tables.server}: {problem}")
    return None


def _under_lock(look: TwinShardRead, verdict: TwinVerdict | None) -> TwinVerdict | None:
    """What a run is in the middle of is nothing to tell of."""
    if verdict is None or verdict.kind.is_consistent or not look.lock:
        return verdict
    return TwinVerdict(TwinKind.NOT_JUDGED, verdict.parts, f"a run works on the table: {look.lock}")


def _partition(tables: Sequence[TwinTables], look: TwinPartitionRead) -> TwinVerdict | None:
    """None for a partition that is in neither table and has no record."""
    if look.changed:
        return TwinVerdict(TwinKind.NOT_JUDGED, reason="a run was at it while the servers were asked")
    noted = look.noted
    if noted is not None and noted.record is None:
        return TwinVerdict(TwinKind.RECORD_UNREADABLE, reason=noted.problem, record=noted.path)
    uneven = refuse_uneven(tables, look.parts)
    if uneven is not None:
        return TwinVerdict(TwinKind.UNEVEN, reason=uneven.reason, record="" if noted is None else noted.path)
    if noted is not None and noted.record is not None:
        return _begun(tables[0], look, noted, noted.record)
    return _at_rest(look)


def _begun(
    tables: TwinTables, look: TwinPartitionRead, noted: RecordZnode, record: TwinRecord
) -> TwinVerdict:
    """A partition with a record."""
    if (record.hot, record.cold) != (tables.hot.place, tables.cold.place):
        reason = f"the record is about {record.hot} and {record.cold}"
        return TwinVerdict(TwinKind.RECORD_ELSEWHERE, reason=reason, record=noted.path)
    there = look.parts[0]
    found = with_record(record, there, look.partition_id)
    kind, problem = _OF_STATE[found.state], found.problem
    if kind is TwinKind.RECORDED:
        kind, problem = _recorded(record, there, look.partition_id)
    if kind is not TwinKind.UNKNOWN and not (there.hot or there.cold):
        kind = TwinKind.WITHOUT_PARTS
    if record.merges_stopped:
        problem = f"{problem}; merges of both tables may be stopped until then".lstrip("; ")
    doubt = _unknown(record, there) if kind is TwinKind.UNKNOWN else None
    parts = tuple(sorted(found.parts or record.parts))
    return TwinVerdict(kind, parts, problem, noted.path, doubt)


_OF_STATE = {
    TwinState.RECORDED: TwinKind.RECORDED,
    TwinState.STALE: TwinKind.RECORDED,
    TwinState.UNDOING: TwinKind.CLONED,
    TwinState.ATTACHED: TwinKind.ATTACHED,
    TwinState.DROPPED_PARTLY: TwinKind.DROPPED_PARTLY,
    TwinState.DROPPED: TwinKind.DROPPED,
    TwinState.MERGED: TwinKind.MERGED,
    TwinState.UNKNOWN: TwinKind.UNKNOWN,
}


def _recorded(record: TwinRecord, there: PartsOf, partition_id: str) -> tuple[TwinKind, str]:
    """What has become of a partition whose clones no run has seen yet, and what was seen."""
    if not new_in(record, there):
        return (TwinKind.STALE if is_changed(record, there) else TwinKind.RECORDED), ""
    clones = clones_of(record, there, partition_id)
    if not isinstance(clones, str):
        return TwinKind.CLONED, ""
    problem = undoing(record, there, partition_id).problem
    return (TwinKind.UNKNOWN, problem) if problem else (TwinKind.CLONED, clones)


def _unknown(record: TwinRecord, there: PartsOf) -> ManualCheck:
    """What of the destination should be what the source has: all that is new, as long as nothing is lost."""
    source, new = there.on(record.destination.other), new_in(record, there)
    names = contents(source)
    if all(names.get(name) == content for name, content in record.parts.items()):
        compare = {record.destination.other: tuple(sorted(record.parts)), record.destination: _names(new)}
        return ManualCheck(compare if new else {}, tuple((record.destination, name) for name in _names(new)))
    # What was lost in the source is in the destination alone, if anywhere.
    equal = _names(_equal(source, new))
    if equal or not (source and new):
        return ManualCheck({}, tuple((record.destination.other, name) for name in equal))
    return ManualCheck({record.destination.other: _names(source), record.destination: _names(new)}, ())


def _at_rest(look: TwinPartitionRead) -> TwinVerdict | None:
    """A partition that no run has begun with."""
    there = look.parts[0]
    both = bool(there.hot and there.cold)
    equal = _equal(there.hot, there.cold) if both else []
    if equal:
        kind = TwinKind.EQUAL if len(equal) == len(there.hot) else TwinKind.EQUAL_IN_PART
        drop = tuple((Side.HOT, name) for name in _names(equal))
        reason = f"{len(equal)} of {len(there.hot)} parts of the table equal some of the twin"
        return TwinVerdict(kind, _names(equal), reason, doubt=ManualCheck({}, drop))
    if both and _rows(there.hot) == _rows(there.cold):
        hot, cold = _names(there.hot), _names(there.cold)
        doubt = ManualCheck({Side.HOT: hot, Side.COLD: cold}, tuple((Side.HOT, name) for name in hot))
        return TwinVerdict(TwinKind.AS_MANY_ROWS, hot, f"{_rows(there.hot)} rows each", doubt=doubt)
    inserted = _still_there(look.inserted, there.cold, look.partition_id)
    if inserted:
        return TwinVerdict(TwinKind.INSERTED, inserted)
    if both:
        rows = f"{_rows(there.hot)} rows of the table, {_rows(there.cold)} of the twin"
        return TwinVerdict(TwinKind.LATE, _names(there.hot), rows)
    if there.cold:
        return TwinVerdict(TwinKind.COLD, _names(there.cold))
    return TwinVerdict(TwinKind.HOT, _names(there.hot)) if there.hot else None


def _equal(parts: Parts, others: Iterable[TwinPart]) -> list[TwinPart]:
    """Those of the parts that equal others, no more of them than there are others."""
    left = Counter(part.content for part in others)
    found = []
    for part in sorted(parts):
        if left[part.content]:
            left[part.content] -= 1
            found.append(part)
    return found


def _still_there(inserted: Iterable[str], parts: Parts, partition_id: str) -> tuple[str, ...]:
    """The active parts that were inserted, or have one in them that was."""
    names = parse_names(_names(parts), partition_id, "system.parts")
    came = parse_names(inserted, partition_id, "znodes of inserted blocks")
    return tuple(
        name.text for name in names if any(name.text == each.text or name.covers(each) for each in came)
    )


def _rows(parts: Parts) -> int:
    return sum(part.content.rows for part in parts)


def _names(parts: Iterable[TwinPart]) -> tuple[str, ...]:
    return tuple(sorted(part.name for part in parts))
