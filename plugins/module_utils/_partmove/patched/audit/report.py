# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit for operators and for monitoring."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf
from typing import NamedTuple

from ...findings.findings import MOST_SHOWN, Findings
from ...findings.metrics import Family, Sample
from ...shard.copy_retention import STARTING_SECONDS
from ...text import first_few
from .audit import Row, ShardAudit
from .detached import DetachedFolder, Need
from .details import seconds_until
from .kind import FindingKind
from .repair_estimate import seconds_of, znodes_of
from .repair_order import MANUAL, in_order

_NEEDS = {
    Need.YES: "needed folders, which have the only data of a partition, or a part that the replica lacks."
    " Keep them",
    Need.COMPARE: "folders whose rows may be in parts of other names, attached since. Count the rows of the"
    " partition on every replica, then delete the folder or attach it, on one server alone",
    Need.NO: "folders that are not needed, if the active part of the same name is not unlike_disk",
}


class UnsafeReplica(NamedTuple):
    """A replica whose server must not be restarted before a repair.

    host: the name of the server's host, as registered; empty if unknown.
    """

    shard_path: str
    replica: str
    host: str = ""

    def __str__(self) -> str:
        return f"{self.replica} on {self.host}" if self.host else self.replica


class OtherWrite(NamedTuple):
    """A partition that another tool wrote after the last run of this collection."""

    shard_path: str
    partition: str


class RepairStep(NamedTuple):
    """The repair, or the manual action, of one kind.

    repaired: whether part_repair repairs the kind.
    shard_paths: where the kind was found, sorted.
    partitions: the number of partitions of the shard paths, whatever the number of replicas.
    parts: the number of parts of replicas with the finding; each has one part znode or more.
    seconds: the time that the repair takes, by the time of the audit; 0.0 for a manual action.
    written, deleted: the most znodes that the repair writes and deletes.
    newest_write: time of the newest write to State and to parts in cold, in milliseconds since 1970; 0 if
        unknown.
    copies_stay: seconds for which copies in cold stay after the repair.
    """

    kind: FindingKind
    repaired: bool
    shard_paths: tuple[str, ...]
    partitions: int
    parts: int
    seconds: float = 0.0
    written: int = 0
    deleted: int = 0
    newest_write: int = 0
    copies_stay: int = 0


class WaitingCopies(NamedTuple):
    """Copies of partitions that were brought back, which a server that is starting may need.

    seconds: how long until the last of them may be removed; None while a replica is inactive, or without
        copies.
    """

    partitions: int
    seconds: int | None


_PLAY = "ansible-playbook olap.partmove.repair -e partmove_repair_kind="


class AuditReport(Findings[Row, FindingKind]):
    """The audited partitions of every replica; servers with an unsafe restart come first."""

    prefix = "partmove_audit"
    counted = "partitions of replicas"

    def __init__(self, audits: Sequence[ShardAudit], unread: Sequence[ShardAudit] = ()) -> None:
        super().__init__(FindingKind, audits, unread)
        self._judged = sorted((audit for audit in audits if not audit.unjudged), key=_path_of)

    def only_counted(self) -> Counter[FindingKind]:
        """Return the number of consistent rows that the audits only counted, by kind."""
        numbers: Counter[FindingKind] = Counter()
        for audit in self._judged:
            numbers.update(audit.counted)
        return numbers

    def unsafe(self) -> list[UnsafeReplica]:
        """Return the replicas with an unsafe restart: it would detach parts or lose the table; sorted."""
        hosts = {audit.shard_path: audit.hosts for audit in self._judged}
        return sorted(
            {
                UnsafeReplica(row.shard_path, row.replica, hosts[row.shard_path].get(row.replica, ""))
                for row in self._unsafe_rows()
            }
        )

    def written_by_another(self) -> list[OtherWrite]:
        """Return the partitions that another tool wrote after the last run, sorted."""
        return [
            OtherWrite(each.shard_path, partition)
            for each in self._judged
            for partition in each.written_by_another
        ]

    def summary(self) -> list[str]:
        """Return the lines for the operator; ``detached``, SQL and the order of repairs are at the end."""
        lines = (self._detached_lines(), self._statement_lines(), self._order_lines())
        return [*super().summary(), *(line for each in lines for line in each)]

    def repair_order(self) -> list[RepairStep]:
        """Return the steps of a repair of everything that was found, in the order in which they work."""
        by_kind: defaultdict[FindingKind, list[Row]] = defaultdict(list)
        for row in self.findings:
            by_kind[row.verdict.kind].append(row)
        return [_step(kind, by_kind[kind], self._judged) for kind in in_order(by_kind)]

    def waiting_copies(self) -> WaitingCopies:
        """Return the partitions whose copies have to stay for now."""
        rows = [row for row in self.rows if row.verdict.kind is FindingKind.COPIES_NEEDED]
        seconds = max((row.details.seconds_needed for row in rows), default=inf)
        return WaitingCopies(len({(row.shard_path, row.partition) for row in rows}), seconds_until(seconds))

    def detached(self) -> list[tuple[str, DetachedFolder]]:
        """Return shard path and folder of each part folder in ``detached``, sorted."""
        return [(each.shard_path, folder) for each in self._judged for folder in each.detached]

    def _detached_lines(self) -> Iterator[str]:
        for need, text in _NEEDS.items():
            places = [
                f"{path} {each.replica} {each.folder}" for path, each in self.detached() if each.need is need
            ]
            if places:
                yield f"detached {len(places)}: {text} ({first_few(places, MOST_SHOWN)})"

    def _statement_lines(self) -> Iterator[str]:
        """Yield the SQL of the remedies, for the first rows of each kind."""
        by_kind: defaultdict[FindingKind, list[Row]] = defaultdict(list)
        for row in self.findings:
            if row.details.statements:
                by_kind[row.verdict.kind].append(row)
        for kind, rows in by_kind.items():
            for row in rows[:MOST_SHOWN]:
                yield from (
                    f"SQL {kind.value} {row.shard_path} {row.partition}: {statement}"
                    for statement in row.details.statements
                )
            if len(rows) > MOST_SHOWN:
                yield f"SQL {kind.value}: {len(rows) - MOST_SHOWN} more rows have statements in the findings"

    def _order_lines(self) -> Iterator[str]:
        """Yield the order of the repairs, with their commands; nothing for a consistent table."""
        steps = self.repair_order() if self.is_drifted else []
        if steps:
            yield f"Repair in this order, or all that is repaired by a module with {_PLAY}all:"
        for number, step in enumerate(steps, 1):
            how = f"{_PLAY}{step.kind.value}" if step.repaired else "manual action, see above"
            yield f"{number}. {step.kind.value}: {how}"

    def urgent(self) -> Iterator[str]:
        """Yield the lines about servers with an unsafe restart, and about other tools that write."""
        yield from self._unsafe_lines()
        for each in self._judged:
            if each.written_by_another:
                partitions = first_few(each.written_by_another, MOST_SHOWN)
                yield (
                    f"WRITTEN BY ANOTHER TOOL ({each.shard_path}): State or parts in cold are newer than the"
                    f" last run of olap.partmove in partition {partitions}. Stop the other tool for good, and"
                    " audit again"
                )

    def _unsafe_lines(self) -> Iterator[str]:
        by_path: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._unsafe_rows():
            by_path[row.shard_path].append(row)
        unsafe = {path: list(each) for path, each in groupby(self.unsafe(), _shard_path_of)}
        for path, rows in sorted(by_path.items()):
            replicas = ", ".join(map(str, unsafe[path]))
            kinds = ", ".join(dict.fromkeys(row.verdict.kind.value for row in rows))
            partitions = first_few(sorted({row.partition for row in rows}), MOST_SHOWN)
            yield f"DO NOT RESTART {replicas} ({path}): {kinds} in partition {partitions}"

    def urgent_families(self) -> Iterator[Family]:
        """Yield the metrics about servers with an unsafe restart, and about other tools that write."""
        yield Family(
            "partmove_audit_restart_unsafe",
            "1 for a replica whose server must not be restarted before a repair.",
            tuple(Sample(1, tuple(each._asdict().items())) for each in self.unsafe()),
        )
        yield Family(
            "partmove_audit_written_by_another",
            "Partitions that another tool wrote after the last run of olap.partmove.",
            tuple(
                Sample(len(each.written_by_another), (("shard_path", each.shard_path),))
                for each in self._judged
                if each.written_by_another
            ),
        )

    def _unsafe_rows(self) -> list[Row]:
        return [row for row in self.findings if row.verdict.restart_unsafe]


def _step(kind: FindingKind, rows: Sequence[Row], audits: Sequence[ShardAudit]) -> RepairStep:
    paths = sorted({row.shard_path for row in rows})
    is_repaired = kind not in MANUAL
    znodes = znodes_of(kind, rows)
    return RepairStep(
        kind,
        is_repaired,
        tuple(paths),
        len({(row.shard_path, row.partition) for row in rows}),
        sum(len(row.verdict.parts) for row in rows),
        round(seconds_of(audits, set(paths)), 1) if is_repaired else 0.0,
        *znodes,
        newest_write=max(row.details.newest_write for row in rows),
        copies_stay=STARTING_SECONDS if kind is FindingKind.HALF_COLD else 0,
    )


def _path_of(audit: ShardAudit) -> str:
    return audit.shard_path


def _shard_path_of(unsafe: UnsafeReplica) -> str:
    return unsafe.shard_path
