# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Places holds on shard paths and removes them, for people who change tables with their own tools.

States of a shard path: free → held → free. A hold ends when its owner removes it, or when a run whose lease
began after `Hold.until` deletes it.

A hold is placed under the lease of the shard path, and only if no partition is between the two tables and no
statement of twin_alter is unfinished. So no run is at work when the hold begins, and none begins afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import EnsembleError, LeaseLost, PartMoveError, ShardHeld
from ...lease.bars import Bar, Hold, parse_hold, path_of_bar, unfinished
from ...lease.held_lease import Leases
from ...lease.lease import Lease, raise_if_lease_lost
from ...tree.paths import ensure_path, parent_of, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Op, Rejected, SetData
from ..move.record import Records


class HoldChange(NamedTuple):
    """The hold of a shard path before and after a run; None for none."""

    shard_path: str
    before: Hold | None
    after: Hold | None

    @property
    def is_change(self) -> bool:
        """Whether the shard path is held by another owner or for another reason; a later end is no change."""
        shown = [None if each is None else (each.owner, each.reason) for each in (self.before, self.after)]
        return shown[0] != shown[1]


class Holds:
    """The holds of shard paths. ``leases``: a keeper that no bar keeps from a shard path."""

    def __init__(self, hot: ZnodeStore, leases: Leases) -> None:
        self._hot = hot
        self._leases = leases

    def place(self, shard_path: str, owner: str, reason: str, seconds: int) -> HoldChange:
        """Place or prolong the hold of the owner, for ``seconds`` from now by the clock of hot.

        Raises ShardHeld if another owner has a hold, PartMoveError while the work of a run is unfinished,
        LeaseHeld while a run is at work, LeaseLost and EnsembleError.
        """
        lease = self._leases.acquire(shard_path)
        try:
            return self._placed(
                lease, shard_path, Hold(owner, reason, int(lease.taken_at * 1000) + seconds * 1000)
            )
        finally:
            self._leases.release(lease)

    def _placed(self, lease: Lease, shard_path: str, hold: Hold) -> HoldChange:
        path = path_of_bar(self._leases.root, Bar.HOLD, shard_path)
        alter = path_of_bar(self._leases.root, Bar.ALTER, shard_path)
        self._refuse_partitions(shard_path)
        znode, record = self._hot.read([path, alter])
        if record is not None:
            raise unfinished(shard_path, alter)
        before = None if znode is None else parse_hold(znode)
        if before is not None and before.owner != hold.owner and not before.is_over(lease.taken_at):
            raise ShardHeld(
                f"{shard_path} is held by {before}",
                remedy="Ask the owner, or remove the hold: run twin_hold with state=absent and this owner",
            )
        ensure_path(self._hot, parent_of(path))
        op: Op = Create(path, hold.data) if znode is None else SetData(path, hold.data, znode.stat.version)
        self._commit((*lease.hot_checks, op), len(lease.hot_checks), shard_path)
        return HoldChange(shard_path, before, hold)

    def remove(self, shard_path: str, owner: str) -> HoldChange:
        """Remove the hold of the owner. Raises ShardHeld if another owner has a hold, and EnsembleError."""
        path = path_of_bar(self._leases.root, Bar.HOLD, shard_path)
        znode = self._hot.read([path])[0]
        if znode is None:
            return HoldChange(shard_path, None, None)
        before = parse_hold(znode)
        if before.owner != owner:
            raise ShardHeld(
                f"{shard_path} is held by {before}",
                remedy=f"Its owner is {before.owner!r}, and not {owner!r}: give the first one to remove it",
            )
        self._commit((Delete(path, znode.stat.version),), 0, shard_path)
        return HoldChange(shard_path, before, None)

    def _refuse_partitions(self, shard_path: str) -> None:
        records = Records(self._hot, self._leases.root, shard_path)
        partitions = records.partition_ids()
        if partitions:
            raise PartMoveError(
                f"{shard_path} is not held, as partition {partitions[0]} is between the table and its twin,"
                f" says {records.path(partitions[0])}",
                remedy=f"Run twin_move for partition {partitions[0]} first, which finishes its move",
            )

    def _commit(self, multi: tuple[Op, ...], checks: int, shard_path: str) -> None:
        path = multi[-1].path
        outcome = self._hot.commit([multi])[0]
        if isinstance(outcome, Committed):
            return
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, checks, shard_path)
            raise_if_unwritable(self._hot, path, outcome)
            raise LeaseLost(
                f"{path} has changed since this run read it: {outcome.reason.value}", remedy="Run again"
            )
        raise EnsembleError(
            f"It is not known whether {path} was written: {outcome.cause}", remedy="Run again"
        )


def hold_line(shard_path: str, hold: Hold | None) -> str:
    """Return a line for people about the hold of a shard path."""
    return f"{shard_path}: {'not held' if hold is None else f'held by {hold}'}\n"
