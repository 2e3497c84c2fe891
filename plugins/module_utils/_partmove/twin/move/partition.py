# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition of a shard path under its lease: the state and the operations for every step of a move.

Only this module executes ATTACH and DROP PART. Each statement follows a check that the run still holds the
lease. ``TwinPartition.stored`` is the record as read or written last.
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
from .gates import refuse_uneven, server_failed
from .record import Records, StoredRecord, TwinRecord
from .refusals import Refused, unknown_state
from .report import TwinReport
from .servers import TwinServers
from .statements import AttachPartition, DropPart
from .tables import PartsOf, Side, TwinTables

_READS = 60
_READ_AGAIN_SECONDS = 0.5


class TwinOptions(NamedTuple):
    """Options of a run."""

    min_age: float = 0.0
    """The age that the newest part must have, in seconds. Only for moves to cold."""
    stop_merges: bool = False
    """Whether merges of both tables are stopped while a partition is in both of them."""
    checksums: bool = False
    """Whether rows are read and compared, in addition to the hashes of the files."""


class TwinShard(NamedTuple):
    """Everything that the moves of all partitions of a shard path share under a lease."""

    shard_path: str
    hot: ZnodeStore
    clock: Clock
    journal: Journal
    servers: TwinServers
    records: Records
    lease: Lease
    tables: Sequence[TwinTables]
    """Of every replica, sorted by the name of the replica."""
    options: TwinOptions


class TwinPartition:
    """A partition during its move, with its record as read or written last."""

    def __init__(
        self, shard: TwinShard, partition_id: str, report: TwinReport, stored: StoredRecord | None
    ) -> None:
        self.shard = shard
        self.id = partition_id
        self.stored = stored
        self._report = report

    def read(self) -> Sequence[PartsOf]:
        """Return the parts of every replica, in their order. Raises Refused if replicas differ or fail."""
        shard = self.shard
        for attempt in range(_READS):
            try:
                parts = [shard.servers.parts(tables, [self.id])[self.id] for tables in shard.tables]
            except PartMoveError as error:
                raise Refused(server_failed(error)) from error
            uneven = refuse_uneven(shard.tables, parts)
            if uneven is None:
                return parts
            # A partition between the tables is worth a wait: a replica may still be fetching new parts.
            if self.stored is None or attempt == _READS - 1:
                raise Refused(uneven)
            shard.clock.sleep(_READ_AGAIN_SECONDS)
        raise AssertionError("the last read returns or raises")

    def attach(self, destination: Side) -> str:
        """Clone the partition, as `TwinServers.attach` does. Raises Refused if the outcome is unknown."""
        self._about_to_act()
        with refused_on_error():
            return self.shard.servers.attach(AttachPartition(self.shard.tables[0], destination, self.id))

    def drop(self, side: Side, part: str) -> bool:
        """Drop a part, as `TwinServers.drop` does. Raises Refused if the outcome is unknown."""
        self._about_to_act()
        with refused_on_error():
            return self.shard.servers.drop(DropPart(self.shard.tables[0], side, part))

    def checksums(self, side: Side, parts: Sequence[str]) -> list[str]:
        """Return the checksum of the parts on every replica; [] unless the option asks. Raises Refused."""
        shard = self.shard
        if not shard.options.checksums:
            return []
        with refused_on_error():
            return [shard.servers.checksum(tables, side, parts) for tables in shard.tables]

    def any_active(self, side: Side, parts: Sequence[str]) -> bool:
        """Whether any of the parts is still active. Raises Refused as `read` does."""
        return not {part.name for part in self.read()[0].on(side)}.isdisjoint(parts)

    def create(self, record: TwinRecord) -> StoredRecord:
        """Create the record. Raises LeaseLost and EnsembleError, as `replace` and `remove` do."""
        self.stored = self.shard.records.create(self.shard.lease, self.id, record)
        return self.stored

    def replace(self, stored: StoredRecord, record: TwinRecord) -> StoredRecord:
        """Replace the record ``stored``."""
        self.stored = self.shard.records.replace(self.shard.lease, self.id, stored, record)
        return self.stored

    def remove(self, stored: StoredRecord) -> None:
        """Remove the record ``stored``. Merges that were stopped for it must be started before."""
        self.shard.records.remove(self.shard.lease, self.id, stored)
        self.stored = None

    def record_event(self, event: Event, **fields: object) -> None:
        """Write an event about the partition to the journal."""
        self.shard.journal.record(
            event, [{"shard_path": self.shard.shard_path, "partition": self.id, **fields}]
        )

    def unknown_state(self, problem: str) -> Refused:
        """Return the error to raise if the state of the partition is unknown."""
        return Refused(unknown_state(problem, self.shard.records.path(self.id)), failed=True)

    def _about_to_act(self) -> None:
        confirm_lease(self.shard.hot, self.shard.lease, self.shard.shard_path)
        self._report.touched.add(self.id)


@contextmanager
def refused_on_error() -> Iterator[None]:
    """Raise Refused on an error of a server, so that the partition and its record stay as they are.

    The statement may have taken effect: the next run compares the tables with the record.
    """
    try:
        yield
    except PartMoveError as error:
        raise Refused(server_failed(error)) from error
