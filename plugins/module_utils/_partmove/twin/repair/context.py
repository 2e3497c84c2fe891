# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ports of a repair, and what it shares on a shard path under a lease."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...journal.port import Journal
from ...lease.lease import Lease, LeaseKeeper
from ...run.pace import Pace, UnlimitedPace
from ...tree.ports import Clock, ZnodeStore
from ..audit.reader import TwinReader
from ..ledger.moves import MoveLedgers
from ..move.partition import TwinOptions, TwinShard
from ..move.record import Records
from ..move.run import OpenReaders
from ..move.tables import TwinTables
from .kept import KeptParts
from .leased import left_on_error
from .report import TwinRepairReport
from .servers import RepairServers
from .shard import RepairShard


def _no_progress(_expected: int, _done: int) -> None:
    """Ignore the progress."""


class TwinRepairContext(NamedTuple):
    """The ports of a repair. In check mode ``hot`` must be an overlay.

    readers: opens the port to readers of both tables.
    on_progress: called with the number of additional partitions, and the number of newly processed ones.
    """

    hot: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    servers: RepairServers
    readers: OpenReaders
    pace: Pace = UnlimitedPace()
    check_mode: bool = False
    at_once: int = 1
    on_progress: Callable[[int, int], object] = _no_progress

    def reader(self) -> TwinReader:
        """Return the reader of the audit."""
        return TwinReader(self.hot, self.servers, self.clock, self.leases.root, at_once=self.at_once)

    def open(self, lease: Lease, tables: Sequence[TwinTables], report: TwinRepairReport) -> RepairShard:
        """Return what repairs share under the lease. Raises LeftAsIs if a server fails."""
        path, root = report.shard_path, self.leases.root
        records = Records(self.hot, root, path)
        with left_on_error():
            ledger = MoveLedgers(self.servers).open(self.hot, root, path, tables)
        moves = TwinShard(
            path, self.hot, self.clock, self.journal, self.servers, records, lease, tables, TwinOptions()
        )
        executed = report.statements if self.check_mode else None
        readers = self.readers(moves, has_records=bool(records.partition_ids()), executed=executed)
        return RepairShard(
            path,
            self.hot,
            self.journal,
            self.servers,
            records,
            KeptParts(self.hot, root, path),
            ledger,
            lease,
            tables,
            report,
            readers,
            self.check_mode,
        )
