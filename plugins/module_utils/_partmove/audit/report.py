# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What audits found, for people and for monitoring."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..text import few
from .audit import Row, ShardAudit
from .kind import Kind
from .metrics import Family, Sample, exposition

_MOST_SHOWN, _FEWEST_SHOWN = 5, 2


class UnsafeReplica(NamedTuple):
    """A replica whose server must not be restarted before something is done."""

    shard_path: str
    replica: str


class AuditReport:
    """The audits of several shard paths, of each path one.

    ``unread`` stands for the tables below znodes that could not be read, with the paths of these.
    """

    def __init__(self, audits: Sequence[ShardAudit], unread: Sequence[ShardAudit] = ()) -> None:
        self._audits = sorted(audits, key=_path_of)
        self._unread = tuple(unread)
        self.rows = _worst_first(row for audit in audits for row in audit.rows)
        """Every partition of every replica, the worst first."""
        self.findings = [row for row in self.rows if not row.verdict.kind.is_sound]
        """Those that are not sound."""

    def kinds(self) -> dict[Kind, int]:
        """How many partitions of replicas are of each kind, the worst first; also 0."""
        counted = Counter(row.verdict.kind for row in self.rows)
        return {kind: counted[kind] for kind in Kind}

    def unsafe(self) -> list[UnsafeReplica]:
        """The replicas whose restart would set parts aside, or leave the server without the table; sorted."""
        return sorted({UnsafeReplica(row.shard_path, row.replica) for row in self._unsafe_rows()})

    def unjudged(self) -> list[ShardAudit]:
        """The shard paths of which nothing could be judged, and the znodes that were not read; sorted."""
        return sorted([*(audit for audit in self._audits if audit.unjudged), *self._unread], key=_path_of)

    @property
    def shard_paths(self) -> int:
        """How many shard paths were looked at."""
        return len(self._audits)

    @property
    def is_drifted(self) -> bool:
        """Whether something is not as it should be."""
        return any(row.verdict.kind.is_drift for row in self.findings)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be judged."""
        return not self.unjudged() and not self.kinds()[Kind.NOT_JUDGED]

    def summary(self) -> list[str]:
        """Lines for people: first the servers that must not be restarted, then what there is of each kind."""
        return [*self._unsafe_lines(), self._head(), *self._kind_lines(), *self._unjudged_lines()]

    def metrics(self, now: float) -> str:
        """The text for a collector of Prometheus; ``now`` is the time of the audit in seconds since 1970."""
        return exposition(self._families(now))

    def _unsafe_rows(self) -> list[Row]:
        return [row for row in self.findings if row.verdict.restart_unsafe]

    def _unsafe_lines(self) -> Iterator[str]:
        by_path: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._unsafe_rows():
            by_path[row.shard_path].append(row)
        for path, rows in sorted(by_path.items()):
            replicas = ", ".join(sorted({row.replica for row in rows}))
            kinds = ", ".join(dict.fromkeys(row.verdict.kind.value for row in rows))
            partitions = few(sorted({row.partition for row in rows}), _MOST_SHOWN)
            yield f"DO NOT RESTART {replicas} ({path}): {kinds} in partition {partitions}"

    def _head(self) -> str:
        kinds = self.kinds()
        sound = sum(count for kind, count in kinds.items() if kind.is_sound)
        drifted = sum(count for kind, count in kinds.items() if kind.is_drift)
        return (
            f"Shard paths: {self.shard_paths}; partitions of replicas: {sound} sound, {drifted} drifted,"
            f" {kinds[Kind.NOT_JUDGED]} not judged"
        )

    def _kind_lines(self) -> Iterator[str]:
        for kind, found in groupby(self.findings, key=lambda row: row.verdict.kind):
            rows = list(found)
            reasons = sorted({row.verdict.reason for row in rows} - {""})
            told = f" {few(reasons, _FEWEST_SHOWN)}" if reasons else ""
            places = dict.fromkeys(f"{row.shard_path} {row.partition}".rstrip() for row in rows)
            yield (
                f"{kind.value} {len(rows)}: {kind.means}. {kind.way_out}.{told} ({few(places, _MOST_SHOWN)})"
            )

    def _unjudged_lines(self) -> Iterator[str]:
        for audit in self.unjudged():
            yield f"not audited: {audit.shard_path}: {audit.unjudged}"

    def _families(self, now: float) -> Iterator[Family]:
        yield Family(
            "partmove_audit_drift",
            "Partitions of replicas that are not as they should be, by shard path and kind.",
            tuple(self._drift()),
        )
        yield Family(
            "partmove_audit_restart_unsafe",
            "1 for a replica whose server must not be restarted before something is done.",
            tuple(Sample(1, tuple(each._asdict().items())) for each in self.unsafe()),
        )
        yield Family(
            "partmove_audit_partitions",
            "Partitions of replicas by kind, sound ones included.",
            tuple(Sample(count, (("kind", kind.value),)) for kind, count in self.kinds().items()),
        )
        yield Family(
            "partmove_audit_unjudged",
            "1 for a shard path of which nothing could be judged.",
            tuple(Sample(1, (("shard_path", each.shard_path),)) for each in self.unjudged()),
        )
        yield Family(
            "partmove_audit_complete",
            "Whether everything could be judged.",
            (Sample(int(self.is_complete)),),
        )
        yield Family("partmove_audit_timestamp_seconds", "When the audit was made.", (Sample(round(now, 3)),))
        if self.is_complete:
            yield Family(
                "partmove_audit_last_complete_timestamp_seconds",
                "When the last audit was made that could judge everything.",
                (Sample(round(now, 3)),),
            )

    def _drift(self) -> Iterator[Sample]:
        for audit in self._audits:
            counted = Counter(row.verdict.kind for row in audit.rows)
            for kind in Kind:
                if kind.is_drift and not audit.unjudged:
                    yield Sample(counted[kind], (("shard_path", audit.shard_path), ("kind", kind.value)))


def _path_of(audit: ShardAudit) -> str:
    return audit.shard_path


def _worst_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.verdict.kind.rank, row.shard_path, row.partition, row.replica))
