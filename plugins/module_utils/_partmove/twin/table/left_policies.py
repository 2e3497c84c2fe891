# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuses to move a whole table while a row policy of twin_move may hide rows of the pair.

A row policy of twin_move names a table and block numbers, and the record of the move is all that explains the
policy. So a move of the whole table must not end the record: nothing would remove the policy afterwards. It
must not exchange the names either: the policy would hide the parts of the other table.

twin_move alone waits for the readers that began under a policy, so it ends the move together with the policy.
A policy that the user may not see is not taken for none: whoever started twin_move may have other rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few
from ..move.partition import TwinShard
from ..move.readers import NoReaders
from ..move.record import Records
from ..move.tables import Side, TwinTables
from ..readers.statements import DropPolicy, LeftPolicy
from .table_refused import TableRefused


class PolicyServers(Protocol):
    """Queries the servers of replicas about row policies. Raises PartMoveError."""

    def left_policies(self, tables: TwinTables) -> Sequence[LeftPolicy]:
        """Return the row policies of moves of the pair. Raises NotPermitted if the user may not see all."""


class RefusingReaders:
    """Opens the port `Readers` of a whole table, which hides nothing. Implements `OpenReaders`."""

    def __init__(self, servers: PolicyServers) -> None:
        self._servers = servers

    def __call__(self, shard: TwinShard, *, has_records: bool, executed: list[str] | None) -> NoReaders:
        """Raise TableRefused under the lease, before any record is written or ended, if a policy is left.

        Raises PartMoveError if a server does not say so. No other run creates a policy during the lease.
        """
        del has_records, executed
        refuse_left_policies(self._servers, shard.tables, shard.records)
        return NoReaders()


def refuse_left_policies(servers: PolicyServers, tables: Sequence[TwinTables], records: Records) -> None:
    """Raise TableRefused if a replica has a row policy of a move."""
    for each in tables:
        left = servers.left_policies(each)
        if left:
            drops = "; ".join(DropPolicy(each, policy).sql for policy in left)
            reason = f"{each.server}: a row policy of twin_move may hide rows of {each.hot}: {left[0].name}"
            # After the policies: a move writes its record before its policy, and removes the policy first.
            remedy = _remedy(each, records.partition_ids(), drops)
            raise TableRefused(Refusal(GateName.READERS_READY, reason, remedy))


def _remedy(tables: TwinTables, recorded: Sequence[str], drops: str) -> str:
    # Names are exchanged only without a record, so no policy of an exchanged pair belongs to a move.
    if recorded and tables.home is Side.HOT:
        return (
            f"Run twin_move for partition {first_few(recorded)} of {tables.shard_path}, which ends its move"
            " and removes the policy, and run again"
        )
    return f"No move needs the policy any more: execute {drops} on {tables.server}, and run again"
