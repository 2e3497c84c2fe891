# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The input of a repair: its context, its options, and its partitions, before and under the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import LeaseLost, NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout
from ...gates.readiness import AssumePatched
from ...gates.servers import ServerCheck
from ...journal.port import Journal
from ...lease.held_lease import HeldLease, Leases
from ...lease.lease import Lease
from ...run.pace import Pace, UnlimitedPace
from ...shard.facts import ShardFacts
from ...shard.fence import no_table
from ...shard.reader import ShardReader
from ...tree.ports import Clock, ZnodeStore
from ..audit.evidence import Disks
from ..audit.kind import FindingKind
from ..audit.reader import EvidenceReader, ShardEvidence
from ..move.run import MoveContext
from ..parts.leased_shard import LeasedShard
from .backup import PartitionLeft, SavedZnode
from .left import read_left


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


def _save_nothing(_left: Sequence[PartitionLeft]) -> None:
    """Save nothing, as without a backup."""


class RepairContext(NamedTuple):
    """The ensembles (wrapped to save znodes before a change), the servers, and other tools of a repair."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: Leases
    servers: ServerCheck
    disks: Disks
    backup: str = ""
    """The name of the backup file; empty without a backup."""
    pace: Pace = UnlimitedPace()
    at_once: int = 1
    """Maximum number of servers to ask for their disks at the same time."""
    on_progress: Callable[[int, int], object] = _no_progress
    """Called with the number of additional partitions to repair, and the number of newly processed ones."""

    save_left: Callable[[Sequence[PartitionLeft]], object] = _save_nothing
    """Called under the lease with the state in which the repair leaves partitions."""

    def for_moves(self, leases: Leases) -> MoveContext:
        """Return the context for bringing partitions back; a repair never makes a partition cold."""
        return MoveContext(
            self.hot, self.cold, self.clock, self.journal, leases, AssumePatched(), self.servers
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
    disks_are_mounted: all disks of all replicas are mounted, so a part that no server shows is on no disk.
    without_hashes: parts of other tools are adopted by name where a server shows no hash of its parts.
    """

    registrations: Sequence[SavedZnode] = ()
    quiet: float = 3600.0
    cold_is_lost: bool = False
    replica_is_gone: bool = False
    disks_are_mounted: bool = False
    without_hashes: bool = False


@dataclass(frozen=True)
class RepairCase:
    """The partitions of one shard path with the kind to repair, as found without the lease."""

    context: RepairContext
    layout: ShardLayout
    kind: FindingKind
    partition_ids: Sequence[str]
    options: RepairOptions

    @contextmanager
    def leased(self) -> Iterator[LeasedCase]:
        """Hold the lease of the shard path, with the evidence that was read under it.

        Raises LeaseHeld, LeaseLost, EnsembleError and kin.
        """
        lease = self.context.leases.acquire(self.layout.path)
        try:
            leased = LeasedCase.read(self, lease)
            yield leased
            leased.save_left()
        finally:
            self.context.leases.release(lease)


class LeasedCase(NamedTuple):
    """A case on a shard path under the lease of this run.

    known: the facts of the shard path, read before the evidence; None without a table in hot.
    evidence: the evidence under the lease; None if neither ensemble has anything of the table.
    """

    case: RepairCase
    shard: LeasedShard
    lease: Lease
    known: ShardFacts | None
    evidence: ShardEvidence | None

    @classmethod
    def read(cls, case: RepairCase, lease: Lease) -> LeasedCase:
        """Read the facts, and then the evidence; the lease held until the end. Raises LeaseLost and kin."""
        context, root = case.context, case.context.leases.root
        reader = ShardReader(context.hot, context.cold, case.layout, root, any_cold=True)
        shard = LeasedShard(context.hot, context.cold, reader, case.layout, lease)
        try:
            # A multi with this fence fails if a server changes anything from here on.
            known: ShardFacts | None = shard.shard()
        except NoSuchTable:
            known = None
            # Let writes to cold carry the marker all the same.
            shard.binding()
        try:
            evidence: ShardEvidence | None = context.evidence().read_anywhere(
                case.layout.path, content_of=case.partition_ids
            )
        except NoSuchTable:
            evidence = None
        shard.confirm()
        return cls(case, shard, lease, known, evidence)

    @property
    def facts(self) -> ShardFacts:
        """The facts read before the evidence. Raises NoSuchTable without a table in hot."""
        if self.known is None:
            raise no_table(self.case.layout)
        return self.known

    def read_again(self, *, whole: bool = False) -> ShardEvidence:
        """Read the evidence once more, with ``whole`` including the content of every partition.

        Raises NoSuchTable without a table in hot, LeaseLost and kin.
        """
        reader = self.case.context.evidence()
        evidence = reader.read(self.case.layout.path)
        if whole:
            evidence = reader.read(self.case.layout.path, content_of=evidence.partitions)
        self.shard.confirm()
        return evidence

    def save_left(self) -> None:
        """Save the state in which the repair leaves the partitions, unless the lease is lost by now."""
        case, context = self.case, self.case.context
        left = read_left(context.hot, context.cold, case.layout, case.partition_ids)
        with suppress(LeaseLost):
            self.shard.confirm()
            context.save_left(left)

    def lend(self) -> HeldLease:
        """Return the lease for one run with the means of moves, which takes it once."""
        return HeldLease(self.case.context.leases.root, self.lease)
