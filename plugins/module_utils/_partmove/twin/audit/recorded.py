# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides the kind of a partition with a record, by the parts that the record names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..move.classify import TwinState, classify_recorded
from ..move.clones import clones_of, is_source_changed, new_parts
from ..move.record import TwinRecord, contents
from ..move.tables import Parts, PartsOf, TwinPart, TwinTables
from ..move.undo_plan import plan_undo, plan_undo_of_clones
from .evidence import RecordZnode, TwinPartitionRead
from .kind import TwinKind
from .verdict import ManualCheck, TwinVerdict


def judge_recorded(
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
    if classification.state is TwinState.CHANGED:
        problem = plan_undo_of_clones(record, parts, read.partition_id).problem
        kind = TwinKind.UNKNOWN if problem else kind
    if kind is not TwinKind.UNKNOWN and not (parts.hot or parts.cold):
        kind = TwinKind.WITHOUT_PARTS
    if record.merges_stopped:
        problem = f"{problem}; merges of both tables may be stopped until the next run".lstrip("; ")
    manual_check = _manual_check(record, parts) if kind is TwinKind.UNKNOWN else None
    names = tuple(sorted(classification.parts or record.parts))
    return TwinVerdict(kind, names, problem, znode.path, manual_check)


_KIND_OF_STATE = {
    TwinState.RECORDED: TwinKind.RECORDED,
    TwinState.CLONED: TwinKind.RECORDED,
    TwinState.STALE: TwinKind.RECORDED,
    TwinState.UNDOING: TwinKind.CLONED,
    TwinState.ATTACHED: TwinKind.ATTACHED,
    TwinState.CHANGED: TwinKind.ATTACHED,
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
        compare = {record.destination.other: tuple(sorted(record.parts)), record.destination: names_of(new)}
        return ManualCheck(
            compare if new else {}, tuple((record.destination, name) for name in names_of(new))
        )
    # If the source has lost a recorded part, its rows may be in the destination alone: drop no part there.
    equal = names_of(equal_parts(source, new))
    if equal or not (source and new):
        return ManualCheck({}, tuple((record.destination.other, name) for name in equal))
    return ManualCheck({record.destination.other: names_of(source), record.destination: names_of(new)}, ())


def equal_parts(parts: Parts, others: Iterable[TwinPart]) -> list[TwinPart]:
    """Return the parts with an equal among ``others``; each of ``others`` counts for a single part."""
    left = Counter(part.content for part in others)
    found = []
    for part in sorted(parts):
        if left[part.content]:
            left[part.content] -= 1
            found.append(part)
    return found


def names_of(parts: Iterable[TwinPart]) -> tuple[str, ...]:
    """Return the names of the parts, sorted."""
    return tuple(sorted(part.name for part in parts))
