# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the ledger of a twin, which lists what should be in the twin.

A run asks the ledger before it records a partition, and enters the partition in the transaction that removes
its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ...gates.gate import Refusal
from ...tree.ports import ZnodeStore
from ...tree.znodes import Op
from .tables import PartsOf, Side, TwinTables


class EndedMove(NamedTuple):
    """A partition whose recorded parts are all gone from the source."""

    destination: Side
    parts: PartsOf
    """Its parts now, the same on every replica."""


class ShardLedger(Protocol):
    """The ledger of a shard path under the lease of a run. Raises PartMoveError if a server fails."""

    def refusal(self, partition_id: str, parts: PartsOf) -> Refusal | None:
        """Return why a partition may not be moved, either way; None if the twin has what it should."""

    def ops_of(self, ended: Mapping[str, EndedMove]) -> Sequence[Op]:
        """Return the operations that enter partitions, for the transaction that removes their records."""

    def written(self) -> None:
        """Continue after the transaction with `ops_of` was committed."""


class Ledgers(Protocol):
    """Opens the ledgers of shard paths."""

    def open(self, hot: ZnodeStore, root: str, shard_path: str, tables: Sequence[TwinTables]) -> ShardLedger:
        """Read the ledger of a shard path, under its lease. Raises PartMoveError."""


class NoLedger:
    """Implements ShardLedger: refuses and enters nothing."""

    def refusal(self, partition_id: str, parts: PartsOf) -> Refusal | None:
        """Refuse nothing."""
        del partition_id, parts
        return None

    def ops_of(self, ended: Mapping[str, EndedMove]) -> Sequence[Op]:
        """Enter nothing."""
        del ended
        return ()

    def written(self) -> None:
        """Do nothing."""


class NoLedgers:
    """Implements Ledgers."""

    def open(self, hot: ZnodeStore, root: str, shard_path: str, tables: Sequence[TwinTables]) -> ShardLedger:
        """Return a ledger that refuses and enters nothing."""
        del hot, root, shard_path, tables
        return NoLedger()
