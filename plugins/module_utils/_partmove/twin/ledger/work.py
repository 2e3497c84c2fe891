# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes the ledger of a shard path by command, under its lease.

A change is refused for each partition that is not proven. So a command never makes a loss consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.held_lease import Leases
from ...lease.lease import Lease
from ...tree.ports import ZnodeStore
from ...zip_strict import zip_strict
from ..move.gates import placement_problem, readiness_problem, refuse_uneven
from ..move.record import Records
from ..move.servers import read_replicas
from ..move.tables import PartsOf, TwinTables
from .blocks import read_hot_blocks
from .entry import LedgerEntry, TwinPair
from .identity import Births, pair_of, read_births, read_identities
from .ledger import MOST_CHANGES, Changes, OpenLedger
from .servers import Identities, LedgerServers, LostFacts, TablesOfReplica, read_lost_facts

QUERY_BATCH = 500
"""How many partitions one query asks a server about."""
WHOLE_TABLE = ""
"""The partition of a refusal that is about all partitions."""


class LedgerContext(NamedTuple):
    """The ports of a command."""

    hot: ZnodeStore
    leases: Leases
    servers: LedgerServers
    journal: Journal
    root: str


class NotProven(NamedTuple):
    """Why a partition stays as the ledger has it, and the remedy."""

    reason: str
    remedy: str


class LedgerOutcome:
    """What a command did to the ledger of a shard path."""

    def __init__(self, shard_path: str) -> None:
        self.shard_path = shard_path
        self.entered: dict[str, LedgerEntry] = {}
        """Partitions whose entry was written."""
        self.removed: dict[str, LedgerEntry] = {}
        """Partitions that left the ledger, with their former entry."""
        self.unchanged: set[str] = set()
        self.refused: dict[str, NotProven] = {}
        """Partition, or WHOLE_TABLE → why it was refused."""


class LedgerCase(NamedTuple):
    """What was read of a shard path under the lease."""

    pairs: Sequence[TablesOfReplica]
    tables: Sequence[TwinTables]
    """Of every replica; empty unless every replica has both tables."""
    identities: Identities
    now: TwinPair | None
    """Both tables as of now; None unless every replica has both tables."""
    births: Births
    """When the znodes of the tables were created."""


Decide = Callable[["LedgerWork"], Iterator[Changes]]
"""Yields changes of at most MOST_CHANGES partitions each, and notes refusals in the outcome."""


class LedgerWork:
    """The work of a command on a shard path, under the lease."""

    def __init__(self, context: LedgerContext, outcome: LedgerOutcome) -> None:
        """Read the ledger and the tables of every replica. Raises PartMoveError."""
        self.context = context
        self.outcome = outcome
        self.open = OpenLedger(context.hot, context.root, outcome.shard_path)
        self.entries = self.open.entries
        self.case = self._read()
        known = self.open.ledger
        self.pair = None if known is None else known.pair
        """The tables that the ledger will be about."""
        self.recorded = set(Records(context.hot, context.root, outcome.shard_path).partition_ids())

    def _read(self) -> LedgerCase:
        servers, path = self.context.servers, self.outcome.shard_path
        pairs = [servers.pair(path, each) for each in read_replicas(self.context.hot, path)]
        known = None if self.open.ledger is None else self.open.ledger.pair
        tables = [TwinTables(each.replica, each.server, each.hot, each.cold or each.hot) for each in pairs]
        identities = read_identities(servers, tables, known)
        both = [each for each, pair in zip_strict(tables, pairs) if pair.cold]
        births = read_births(self.context.hot, path, servers, both)
        if len(both) < len(pairs):
            return LedgerCase(pairs, (), identities, None, births)
        for each in tables:
            problem = placement_problem(path, each, tables[0]) or readiness_problem(each, len(tables))
            if problem:
                raise PartMoveError(
                    f"{each.server}: {problem}",
                    remedy="See that every replica has both tables, runs and has its sessions, and run again",
                )
        return LedgerCase(pairs, tables, identities, pair_of(tables, identities, births, known), births)

    def refuse(self, partition: str, reason: str, remedy: str) -> None:
        """Note that a partition is refused."""
        self.outcome.refused[partition] = NotProven(reason, remedy)

    def even_parts(self, partition_ids: Sequence[str]) -> Iterator[tuple[str, PartsOf]]:
        """Yield partitions with their parts, which all replicas have; refuse the others."""
        tables = self.case.tables
        reads = [self.context.servers.parts(each, partition_ids) for each in tables]
        for each in partition_ids:
            if each in self.recorded:
                self.refuse(each, "a move of the partition is unfinished", "Run twin_move, which finishes it")
                continue
            parts = [read[each] for read in reads]
            uneven = refuse_uneven(tables, parts)
            if uneven is None:
                yield each, parts[0]
            else:
                self.refuse(each, uneven.reason, uneven.remedy)

    def lost_facts(self, partition_ids: Sequence[str]) -> LostFacts:
        """Read what else is known of the partitions."""
        blocks = read_hot_blocks(self.context.hot, self.outcome.shard_path, partition_ids)
        return read_lost_facts(self.context.servers, self.case.tables, partition_ids, blocks)

    def write(self, lease: Lease, changes: Changes) -> None:
        """Write changes, after a line in the journal."""
        if self.pair is None:
            return
        wanted = {each: entry for each, entry in changes.items() if entry != self.entries.get(each)}
        if wanted:
            entered = sorted(each for each, entry in wanted.items() if entry is not None)
            removed = sorted(each for each, entry in wanted.items() if entry is None)
            row = {"shard_path": self.outcome.shard_path, "entered": entered, "removed": removed}
            self.context.journal.record(Event.LEDGER_WRITING, [row])
        self.open.commit(lease, self.pair, wanted)
        for each, entry in wanted.items():
            if entry is None:
                self.outcome.removed[each] = self.entries[each]
            else:
                self.outcome.entered[each] = entry


def run_under_lease(context: LedgerContext, outcome: LedgerOutcome, decide: Decide) -> None:
    """Change the ledger of a shard path. Raises PartMoveError; complete changes remain."""
    lease = context.leases.acquire(outcome.shard_path)
    try:
        work = LedgerWork(context, outcome)
        for changes in decide(work):
            work.write(lease, changes)
    finally:
        context.leases.release(lease)


def in_batches(partition_ids: Sequence[str], size: int = QUERY_BATCH) -> Iterator[Sequence[str]]:
    """Yield slices of at most ``size`` partitions."""
    for first in range(0, len(partition_ids), size):
        yield partition_ids[first : first + size]


def small_changes(changes: Mapping[str, LedgerEntry | None]) -> Iterator[Changes]:
    """Yield changes of at most MOST_CHANGES partitions each."""
    for batch in in_batches(sorted(changes), MOST_CHANGES):
        yield {each: changes[each] for each in batch}
