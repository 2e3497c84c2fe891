# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition of a shard path under its lease: what every step of a motion works with.

Statements are given here and nowhere else, each after a look whether the lease still holds, and so is the
record written: what a step has to remember of it is in ``kept``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ...errors import PartMoveError
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.lease import Lease, confirm_lease
from ...tree.ports import Clock, ZnodeStore
from .gates import refuse_uneven, servers_silent
from .record import KeptRecord, Records, TwinRecord
from .refusals import Refused, not_known
from .report import TwinReport
from .servers import TwinServers
from .statements import AttachPartition, DropPart
from .tables import PartsOf, Side, TwinTables

_LOOKS = 60
_LOOK_AGAIN_SECONDS = 0.5


class TwinOptions(NamedTuple):
    """What the operator may set about a run."""

    min_age: float = 0.0
    """Seconds that the newest part has to be old, for the way to the twin."""
    stop_merges: bool = False
    """Whether merges of both tables are stopped while a partition is in both of them."""
    checksums: bool = False
    """Whether rows are read and compared, besides the hashes of their files."""


class TwinShard(NamedTuple):
    """What all partitions of a shard path are moved with, under one lease."""

    shard_path: str
    hot: ZnodeStore
    clock: Clock
    journal: Journal
    servers: TwinServers
    records: Records
    lease: Lease
    tables: Sequence[TwinTables]
    """Of every replica, in the order of their names."""
    options: TwinOptions


class TwinPartition:
    """A partition on its way, with its record as it was read or written last."""

    def __init__(
        self, shard: TwinShard, partition_id: str, report: TwinReport, kept: KeptRecord | None
    ) -> None:
        self.shard = shard
        self.id = partition_id
        self.kept = kept
        self._report = report

    def look(self) -> Sequence[PartsOf]:
        """What every replica has now, which has to be the same for all; raises Refused."""
        shard = self.shard
        for attempt in range(_LOOKS):
            try:
                parts = [shard.servers.parts(tables, [self.id])[self.id] for tables in shard.tables]
            except PartMoveError as error:
                raise Refused(servers_silent(error)) from error
            uneven = refuse_uneven(shard.tables, parts)
            if uneven is None:
                return parts
            # Between the tables it is worth waiting for a replica that fetches what was just inserted.
            if self.kept is None or attempt == _LOOKS - 1:
                raise Refused(uneven)
            shard.clock.sleep(_LOOK_AGAIN_SECONDS)
        raise AssertionError("the last look returns or raises")

    def attach(self, destination: Side) -> str:
        """Clone the partition, as `TwinServers.attach` does. Raises Refused if the outcome is unknown."""
        self._about_to_act()
        with answered():
            return self.shard.servers.attach(AttachPartition(self.shard.tables[0], destination, self.id))

    def drop(self, side: Side, part: str) -> bool:
        """Drop a part, as `TwinServers.drop` does. Raises Refused if the outcome is unknown."""
        self._about_to_act()
        with answered():
            return self.shard.servers.drop(DropPart(self.shard.tables[0], side, part))

    def checksums(self, side: Side, parts: Sequence[str]) -> list[str]:
        """The checksum of these parts on every replica, if rows are to be compared; raises Refused."""
        shard = self.shard
        if not shard.options.checksums:
            return []
        with answered():
            return [shard.servers.checksum(tables, side, parts) for tables in shard.tables]

    def are_left(self, side: Side, parts: Sequence[str]) -> bool:
        """Whether one of these parts is active still; raises as `look` does."""
        return not {part.name for part in self.look()[0].on(side)}.isdisjoint(parts)

    def create(self, record: TwinRecord) -> KeptRecord:
        """Write the first record."""
        self.kept = self.shard.records.create(self.shard.lease, self.id, record)
        return self.kept

    def replace(self, kept: KeptRecord, record: TwinRecord) -> KeptRecord:
        """Write another record in place of the one that is kept."""
        self.kept = self.shard.records.replace(self.shard.lease, self.id, kept, record)
        return self.kept

    def remove(self, kept: KeptRecord) -> None:
        """Remove the record, whose merges go on."""
        self.shard.records.remove(self.shard.lease, self.id, kept)
        self.kept = None

    def tell(self, event: Event, **fields: object) -> None:
        """Let the journal have something about the partition."""
        self.shard.journal.record(
            event, [{"shard_path": self.shard.shard_path, "partition": self.id, **fields}]
        )

    def not_known(self, problem: str) -> Refused:
        """What to raise where its state is unknown."""
        return Refused(not_known(problem, self.shard.records.path(self.id)), failed=True)

    def _about_to_act(self) -> None:
        confirm_lease(self.shard.hot, self.shard.lease, self.shard.shard_path)
        self._report.touched.add(self.id)


@contextmanager
def answered() -> Iterator[None]:
    """Leave the partition as it is where nobody knows what became of a statement; its record stays."""
    try:
        yield
    except PartMoveError as error:
        raise Refused(servers_silent(error)) from error
