# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger during a run: refuses moves while the twin lacks something, and enters what was moved.

The entry of a partition is written in the transaction that removes its record. So at every moment a record or
an entry says where the rows of a moved partition are.

After an exchange of names the table in the auxiliary ensemble has the name of the table, and is no twin. Then
nothing is refused, and partitions leave the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...gates.gate import Refusal
from ...gates.names import GateName
from ...lease.lease import Lease
from ...tree.ports import ZnodeStore
from ...tree.znodes import Op
from ..move.ledgers import EndedMove
from ..move.tables import PartsOf, Side, TwinTables
from .blocks import read_hot_blocks
from .compare import Blocks, entry_of, missing_of, with_loss
from .entry import LedgerEntry
from .identity import pair_of, read_births, read_identities, replaced_table, replaced_twin
from .ledger import LedgerChange, OpenLedger
from .retention import is_retention
from .servers import FactServers, read_lost_facts

_REMEDY = "Run twin_audit_info, and follow the remedy of its finding before anything is moved"


class MoveLedger:
    """The ledger of a shard path under the lease of a run."""

    def __init__(
        self,
        hot: ZnodeStore,
        root: str,
        shard_path: str,
        servers: FactServers,
        tables: Sequence[TwinTables],
    ) -> None:
        """Read the ledger and the UUIDs of both tables on every replica. Raises PartMoveError."""
        self._hot = hot
        self._shard_path = shard_path
        self._servers = servers
        self._tables = tables
        self._open = OpenLedger(hot, root, shard_path)
        ledger = self._open.ledger
        known = None if ledger is None else ledger.pair
        identities = read_identities(servers, tables, known)
        births = read_births(hot, shard_path, servers, tables)
        self._pair = pair_of(tables, identities, births, known)
        self._problem = ""
        """Why no partition may be moved; "" if the ledger is about these tables."""
        if known is not None:
            self._problem = replaced_twin(known, self._pair, identities) or replaced_table(
                known, self._pair, identities
            )
            if self._problem:
                # A run that finishes a move must not make the ledger one of the other table.
                self._pair = known
        self._entries = self._open.entries
        self._change: LedgerChange | None = None

    @property
    def _is_exchanged(self) -> bool:
        return self._tables[0].home is Side.COLD

    def refusal(self, partition_id: str, parts: PartsOf) -> Refusal | None:
        """Implement `ShardLedger.refusal`."""
        if self._is_exchanged:
            return None
        reason = self._problem or self._missing(partition_id, parts)
        return Refusal(GateName.TWIN_WHOLE, reason, _REMEDY) if reason else None

    def _missing(self, partition_id: str, parts: PartsOf) -> str:
        entry = self._entries.get(partition_id)
        if entry is None:
            return ""
        missing = missing_of(entry, parts.cold, partition_id, self._tables[0].cold.definition)
        if not missing:
            return ""
        blocks = read_hot_blocks(self._hot, self._shard_path, [partition_id])
        facts = read_lost_facts(self._servers, self._tables, [partition_id], blocks)
        return "" if is_retention(entry, parts, partition_id, facts) else f"the twin lacks rows: {missing}"

    def ops(self, parts: Mapping[str, PartsOf], destination: Side) -> Sequence[Op]:
        """Return the operations of `ops_of` for partitions with the same destination."""
        return self.ops_of({each: EndedMove(destination, both) for each, both in parts.items()})

    def ops_of(self, ended: Mapping[str, EndedMove]) -> Sequence[Op]:
        """Implement `ShardLedger.ops_of`."""
        changes: dict[str, LedgerEntry | None] = dict.fromkeys(ended)
        if not self._is_exchanged:
            ids = sorted(ended)
            blocks = read_hot_blocks(self._hot, self._shard_path, ids)
            expiries = self._servers.expiries(self._tables[0], ids)
            for each, (destination, parts) in ended.items():
                if parts.cold:
                    entry = entry_of(parts.cold, each, Blocks(blocks.get(each, 0)), expiries)
                    changes[each] = self._with_loss(each, entry, parts) if destination is Side.COLD else entry
        self._change = self._open.plan(self._pair, changes)
        return self._change.ops

    def _with_loss(self, partition_id: str, entry: LedgerEntry, parts: PartsOf) -> LedgerEntry:
        """Return the entry, with what the twin lost during the move, so that an audit reports the loss."""
        before = self._entries.get(partition_id)
        if before is None:
            return entry
        missing = missing_of(before, parts.cold, partition_id, self._tables[0].cold.definition)
        return with_loss(before, entry) if missing else entry

    @property
    def entries(self) -> Mapping[str, LedgerEntry]:
        """Partition id → entry."""
        return self._entries

    def ops_of_whole(self, parts: Mapping[str, PartsOf]) -> Sequence[Op]:
        """Return the operations that enter partitions of which the twin certainly has every row again.

        The parts may have other block numbers than the former entries.
        """
        # An entry of a partition on its way to the table is the one of the parts alone.
        return self.ops(parts, Side.HOT)

    def written(self) -> None:
        """Continue after the transaction with `ops_of` was committed."""
        if self._change is not None:
            self._open.adopt(self._change)
            self._entries, self._change = self._open.entries, None


class MoveLedgers:
    """Opens the ledgers of shard paths for runs."""

    def __init__(self, servers: FactServers) -> None:
        self._servers = servers

    def open(self, hot: ZnodeStore, root: str, shard_path: str, tables: Sequence[TwinTables]) -> MoveLedger:
        """Read the ledger of a shard path, under its lease. Raises PartMoveError."""
        return MoveLedger(hot, root, shard_path, self._servers, tables)


def close_ledger(hot: ZnodeStore, root: str, shard_path: str, lease: Lease) -> None:
    """Remove the ledger before the names are exchanged, because the table away is no twin afterwards.

    Raises LeaseLost and EnsembleError.
    """
    opened = OpenLedger(hot, root, shard_path)
    if opened.ledger is not None:
        opened.commit(lease, opened.ledger.pair, dict.fromkeys(opened.entries))
