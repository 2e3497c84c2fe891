# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the repairs of all partitions of a shard path share under a lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...journal.events import Event
from ...journal.port import Journal
from ...lease.confirmation import confirm_lease
from ...lease.lease import (
    Lease,
)
from ...tree.ports import ZnodeStore
from ..ledger.moves import MoveLedger
from ..move.droppable import refuse_undroppable
from ..move.gates import GateInput, refuse_activity, refuse_uneven
from ..move.readers import Readers
from ..move.record import Records
from ..move.row_sql import NAME_REMEDY, name_problem
from ..move.tables import Parts, PartsOf, TwinTables
from .kept import KeptParts
from .leased import leave_if_refused
from .report import LeftAsIs, TwinRepairReport
from .servers import RepairServers


class RepairShard(NamedTuple):
    """Everything that the repairs of all partitions of a shard path share under a lease.

    tables: of every replica, sorted by the name of the replica.
    """

    shard_path: str
    hot: ZnodeStore
    journal: Journal
    servers: RepairServers
    records: Records
    kept: KeptParts
    ledger: MoveLedger
    lease: Lease
    tables: Sequence[TwinTables]
    report: TwinRepairReport
    readers: Readers
    check_mode: bool = False

    def announce(self, statements: Sequence[str]) -> None:
        """Report the statements, and write them to the journal, before they are executed."""
        self.report.statements += statements
        self.journal.record(Event.WRITING, [{"shard_path": self.shard_path, "operations": list(statements)}])

    def refuse_names(self) -> None:
        """Raise LeftAsIs unless queries can tell the rows of the parts of both tables apart."""
        for tables in self.tables:
            problem = name_problem(tables.hot) or name_problem(tables.cold)
            if problem:
                raise LeftAsIs(problem, NAME_REMEDY)

    def about_to_act(self) -> None:
        """Confirm the lease. Raises LeaseLost."""
        confirm_lease(self.hot, self.lease, self.shard_path)

    def read(self, partition_id: str) -> PartsOf:
        """Return the parts of a partition on the first replica. Raises LeftAsIs if replicas differ."""
        parts = [self.servers.parts(tables, [partition_id])[partition_id] for tables in self.tables]
        leave_if_refused(refuse_uneven(self.tables, parts))
        return parts[0]

    def refuse_activity(self, partition_id: str) -> None:
        """Raise LeftAsIs while a merge, mutation or ALTER of the partition is under way."""
        activity = [self.servers.activity(tables, [partition_id]) for tables in self.tables]
        leave_if_refused(refuse_activity(GateInput(partition_id, self.tables, (), activity)))

    def refuse_undroppable(self, partition_id: str, parts: Parts) -> None:
        """Raise LeftAsIs if the first server would not detach one of the parts because of its size."""
        first = self.tables[0]
        leave_if_refused(refuse_undroppable(first, self.servers.activity(first, [partition_id]), parts))
