# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of loss: compares an earlier state of a server's disk with the current one.

Inserts and merges go on meanwhile, so the two states are never simply equal. No data is lost if each earlier
part is active, or covered by an active part, and no partition has fewer rows. Rows removed on purpose, by a
merge or a mutation, are reported as a notice only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..formats.names import parse_names, uncovered_names
from ..text import first_few
from .facts import DiskPartition, DiskTable, HealthFacts, TableKey
from .symptom import Occurrence, Severity, Symptom

_COLLAPSING = ("Replacing", "Collapsing", "Summing", "Aggregating", "Graphite")
"""Words in the names of table engines whose merges remove rows."""


class _Pair(NamedTuple):
    """A table at the earlier time and now."""

    key: TableKey
    then: DiskTable
    now: DiskTable


def _table_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.before is not None:
        for key, table in facts.before.tables.items():
            rows = sum(partition.rows for partition in table.partitions.values())
            if key not in facts.disk.tables and rows:
                yield Occurrence(str(key), f"the table is gone; it had {rows} rows")


def _partition_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    for key, then, now in _pairs(facts):
        gone = [
            f"{name} with {partition.rows} rows"
            for name, partition in sorted(then.partitions.items())
            if partition.rows and name not in now.partitions
        ]
        if gone:
            yield Occurrence(str(key), f"partitions are gone: {first_few(gone)}")


def _part_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    for pair in _pairs(facts):
        gone = [
            part
            for name, then, now in _partitions(pair)
            for part in uncovered_names(then.parts, now.parts, name, str(pair.key))
        ]
        if gone:
            yield Occurrence(
                str(pair.key), f"neither active nor merged into an active part: {first_few(gone)}"
            )


def _rows_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    yield from _fewer_rows(facts, explained=False)


def _rows_merged(facts: HealthFacts) -> Iterator[Occurrence]:
    yield from _fewer_rows(facts, explained=True)


def _fewer_rows(facts: HealthFacts, *, explained: bool) -> Iterator[Occurrence]:
    for pair in _pairs(facts):
        fewer = [
            f"{name} from {then.rows} to {now.rows}"
            for name, then, now in _partitions(pair)
            if now.rows < then.rows and _is_explained(pair, name, then, now) == explained
        ]
        if fewer:
            yield Occurrence(str(pair.key), f"partitions have fewer rows: {first_few(fewer)}")


def _is_explained(pair: _Pair, partition_id: str, then: DiskPartition, now: DiskPartition) -> bool:
    """Whether a merge or a mutation may have removed the rows."""
    changed = set(now.parts) - set(then.parts)
    if not changed or uncovered_names(then.parts, now.parts, partition_id, str(pair.key)):
        return False
    if pair.now.ttl or any(kind in pair.now.engine for kind in _COLLAPSING):
        return True
    return any(part.mutation is not None for part in parse_names(changed, partition_id, str(pair.key)))


def _detached_new(facts: HealthFacts) -> Iterator[Occurrence]:
    for key, now in facts.disk.detached.items():
        earlier = _detached_before(facts, key)
        if now is not None and earlier is not None and now - earlier:
            yield Occurrence(str(key), f"new in its folder detached: {first_few(sorted(now - earlier))}")


def _detached_unknown(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.before is None:
        return
    unknown = [
        str(key)
        for key, now in sorted(facts.disk.detached.items())
        if now is None or _detached_before(facts, key) is None
    ]
    if unknown:
        yield Occurrence(
            facts.server.address, f"new folders in detached are unknown for {first_few(unknown)}"
        )


def _detached_before(facts: HealthFacts, key: TableKey) -> frozenset[str] | None:
    """Return the names at the earlier time; None if unknown. A table that did not exist then had none."""
    if facts.before is None:
        return None
    return facts.before.detached.get(key, None if key in facts.before.tables else frozenset())


def _pairs(facts: HealthFacts) -> Iterator[_Pair]:
    if facts.before is not None:
        for key, then in facts.before.tables.items():
            now = facts.disk.tables.get(key)
            if now is not None:
                yield _Pair(key, then, now)


def _partitions(pair: _Pair) -> Iterator[tuple[str, DiskPartition, DiskPartition]]:
    for name, then in sorted(pair.then.partitions.items()):
        now = pair.now.partitions.get(name)
        if now is not None:
            yield name, then, now


_REMEDY = "Stop the rollout; search the folder detached and the other replicas, and find out"

LOSS_SYMPTOMS = (
    Symptom(
        "table_lost",
        Severity.ERROR,
        "A table that had rows does not exist any more.",
        "system.tables",
        f"{_REMEDY} whether somebody dropped or detached the table",
        _table_lost,
    ),
    Symptom(
        "partition_lost",
        Severity.ERROR,
        "A partition that had rows has no active part any more.",
        "system.parts, the folder detached",
        f"{_REMEDY} whether somebody dropped or detached the partition",
        _partition_lost,
    ),
    Symptom(
        "part_lost",
        Severity.ERROR,
        "A part that was active is neither active nor merged into an active one.",
        "system.parts, the folder detached",
        f"{_REMEDY} whether somebody dropped, detached or replaced the partition",
        _part_lost,
    ),
    Symptom(
        "rows_lost",
        Severity.ERROR,
        "A partition has fewer rows, and neither the engine nor a mutation explains it.",
        "system.parts",
        f"{_REMEDY} from the log of the server what happened to the parts",
        _rows_lost,
    ),
    Symptom(
        "detached_new",
        Severity.ERROR,
        "The folder detached has a new part since the earlier run.",
        "the folder detached, system.detached_parts",
        f"{_REMEDY} from the log of the server why it was detached",
        _detached_new,
    ),
    Symptom(
        "detached_unknown",
        Severity.WARNING,
        "Whether a part was detached since the earlier run is unknown.",
        "the folder detached",
        "Run replica_info on the host of the server with read_disk, both times",
        _detached_unknown,
    ),
    Symptom(
        "rows_merged",
        Severity.NOTICE,
        "A partition has fewer rows, which merges of its engine, a TTL or a mutation can cause.",
        "system.parts, system.mutations",
        "Nothing, if the table is meant to lose rows",
        _rows_merged,
    ),
)
"""These symptoms, in the order of the report."""
