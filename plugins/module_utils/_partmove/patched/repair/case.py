# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The input of a repair: its context, its options, and the partitions to repair."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...gates.readiness import AssumePatched
from ...gates.servers import ServerCheck
from ...journal.port import Journal
from ...lease.lease import LeaseKeeper
from ...run.pace import Pace, UnlimitedPace
from ...shard.reader import ShardReader
from ...tree.ports import Clock, ZnodeStore
from ..audit.evidence import Disks, PartitionEvidence
from ..audit.judge import Verdict, judge
from ..audit.kind import FindingKind
from ..audit.reader import EvidenceReader, ShardEvidence
from ..move.run import MoveContext
from ..parts.leased_shard import LeasedShard
from .backup import SavedZnode


class NotRepaired(NamedTuple):
    """Why a partition was not repaired, and the remedy."""

    reason: str
    remedy: str

    @classmethod
    def by(cls, error: PartMoveError) -> NotRepaired:
        """Return the message and the remedy of an error."""
        return cls(error.message, error.remedy)


def _no_progress(_expected: int, _done: int) -> None:
    """Ignore the progress."""


class RepairContext(NamedTuple):
    """The ensembles (wrapped to save znodes before a change), the servers, and other tools of a repair."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    servers: ServerCheck
    disks: Disks
    backup: str = ""
    """The name of the backup file; empty without a backup."""
    pace: Pace = UnlimitedPace()
    at_once: int = 1
    """Maximum number of servers to ask for their disks at the same time."""
    on_progress: Callable[[int, int], object] = _no_progress
    """Called with the number of additional partitions to repair, and the number of newly processed ones."""

    def for_moves(self) -> MoveContext:
        """Return the context for bringing partitions back; a repair never makes a partition cold."""
        return MoveContext(
            self.hot, self.cold, self.clock, self.journal, self.leases, AssumePatched(), self.servers
        )

    def evidence(self) -> EvidenceReader:
        """Return the reader of the audit evidence."""
        return EvidenceReader(
            self.hot, self.cold, self.disks, self.clock, self.leases.root, at_once=self.at_once
        )


@dataclass(frozen=True)
class RepairOptions:
    """The options of the operator.

    registrations: former part znodes, from a backup.
    quiet: seconds without a write of another tool before its copies are adopted.
    cold_is_lost: the cold ensemble of the parts is gone for good.
    replica_is_gone: the servers of replicas missing in hot are gone for good.
    """

    registrations: Sequence[SavedZnode] = ()
    quiet: float = 3600.0
    cold_is_lost: bool = False
    replica_is_gone: bool = False


@dataclass(frozen=True)
class RepairCase:
    """The partitions of one shard path with the kind to repair."""

    context: RepairContext
    layout: ShardLayout
    kind: FindingKind
    found: Mapping[str, Mapping[str, Verdict]]
    """Partition id → replica → verdict, for the replicas with this kind."""
    options: RepairOptions

    @property
    def partition_ids(self) -> list[str]:
        """The partition ids, sorted."""
        return sorted(self.found)

    @contextmanager
    def leased(self) -> Iterator[LeasedCase]:
        """Hold the lease of the shard path. Raises LeaseHeld, LeaseLost, EnsembleError and kin."""
        lease = self.context.leases.acquire(self.layout.path)
        reader = ShardReader(
            self.context.hot, self.context.cold, self.layout, self.context.leases.root, any_cold=True
        )
        try:
            leased = LeasedShard(self.context.hot, self.context.cold, reader, self.layout, lease)
            yield LeasedCase(self, leased)
        finally:
            self.context.leases.release(lease)


class LeasedCase(NamedTuple):
    """A case on a shard path under the lease of this run."""

    case: RepairCase
    shard: LeasedShard

    def read(self) -> CaseRead:
        """Read the evidence anew; the lease held until the end. Raises LeaseLost and kin."""
        case = self.case
        evidence = case.context.evidence().read_anywhere(case.layout.path, content_of=case.partition_ids)
        self.shard.confirm()
        return CaseRead(case, evidence)


class CaseRead(NamedTuple):
    """The evidence read under the lease."""

    case: RepairCase
    evidence: ShardEvidence

    def remaining(
        self, left: dict[str, NotRepaired]
    ) -> Iterator[tuple[PartitionEvidence, dict[str, Verdict]]]:
        """Yield the partitions still of the kind, with the verdicts of the replicas concerned.

        A partition whose server is silent now cannot be judged, and is added to ``left``.
        """
        for each in self.case.partition_ids:
            partition = self.evidence.partitions.get(each)
            if partition is None:
                continue
            verdicts = judge(partition)
            silent = _unjudged(verdicts.values())
            if silent is not None:
                left[each] = silent
                continue
            of_kind = {name: one for name, one in verdicts.items() if one.kind is self.case.kind}
            if of_kind:
                yield partition, of_kind


def _unjudged(verdicts: Collection[Verdict]) -> NotRepaired | None:
    for verdict in verdicts:
        if verdict.kind is FindingKind.NOT_JUDGED:
            return NotRepaired(
                verdict.reason,
                "Start the server, or find out why it does not answer, and run part_repair again",
            )
    return None
