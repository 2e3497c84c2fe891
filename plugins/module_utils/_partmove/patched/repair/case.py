# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a repair works with and on."""

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
    """Why a partition was not repaired, and the way out."""

    reason: str
    remedy: str

    @classmethod
    def by(cls, error: PartMoveError) -> NotRepaired:
        """As an error says it."""
        return cls(error.message, error.remedy)


def _nobody(_expected: int, _done: int) -> None:
    """Tell it to nobody."""


class RepairContext(NamedTuple):
    """The ensembles, which keep what is deleted or changed, the servers, and all else."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    servers: ServerCheck
    disks: Disks
    backup: str = ""
    """The file that keeps what is deleted or changed; empty where nothing is."""
    pace: Pace = UnlimitedPace()
    at_once: int = 1
    """How many servers are asked what they have on disk at the same time."""
    told: Callable[[int, int], object] = _nobody
    """Is told how many partitions there are to repair, and, of those, how many more were gone through."""

    def for_moves(self) -> MoveContext:
        """What the way back and the like work with; no partition becomes cold by a repair."""
        return MoveContext(
            self.hot, self.cold, self.clock, self.journal, self.leases, AssumePatched(), self.servers
        )

    def evidence(self) -> EvidenceReader:
        """What reads the evidence of shard paths."""
        return EvidenceReader(
            self.hot, self.cold, self.disks, self.clock, self.leases.root, at_once=self.at_once
        )


@dataclass(frozen=True)
class RepairOptions:
    """What an operator may say.

    registrations: znodes that registered parts once, from a backup.
    quiet: seconds for which another tool must not have written, until its copies are adopted.
    cold_is_lost: the cold ensemble that the parts went to is gone for good.
    replica_is_gone: the servers of replicas that hot does not have are gone for good.
    """

    registrations: Sequence[SavedZnode] = ()
    quiet: float = 3600.0
    cold_is_lost: bool = False
    replica_is_gone: bool = False


@dataclass(frozen=True)
class RepairCase:
    """The partitions of one shard path that are of the kind that is to be repaired."""

    context: RepairContext
    layout: ShardLayout
    kind: FindingKind
    found: Mapping[str, Mapping[str, Verdict]]
    """Partition id → replica → verdict, of those replicas for which it is of the kind."""
    options: RepairOptions

    @property
    def partition_ids(self) -> list[str]:
        """The partitions, sorted."""
        return sorted(self.found)

    @contextmanager
    def leased(self) -> Iterator[LeasedCase]:
        """Take the shard path; raises LeaseHeld, LeaseLost, EnsembleError and kin."""
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
    """A case on a shard path that nobody else writes to."""

    case: RepairCase
    shard: LeasedShard

    def look(self) -> CaseRead:
        """Read the evidence anew; the lease was ours until the end. Raises LeaseLost and kin."""
        case = self.case
        evidence = case.context.evidence().read_anywhere(case.layout.path, content_of=case.partition_ids)
        self.shard.confirm()
        return CaseRead(case, evidence)


class CaseRead(NamedTuple):
    """What was so under the lease."""

    case: RepairCase
    evidence: ShardEvidence

    def still(self, left: dict[str, NotRepaired]) -> Iterator[tuple[PartitionEvidence, dict[str, Verdict]]]:
        """The partitions that are still of the kind, with the replicas for which they are.

        What cannot be judged now, as a server is silent, is added to ``left``.
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
            found = {name: one for name, one in verdicts.items() if one.kind is self.case.kind}
            if found:
                yield partition, found


def _unjudged(verdicts: Collection[Verdict]) -> NotRepaired | None:
    for verdict in verdicts:
        if verdict.kind is FindingKind.NOT_JUDGED:
            return NotRepaired(
                verdict.reason, "Start the server, or see why it does not answer, and run again"
            )
    return None
