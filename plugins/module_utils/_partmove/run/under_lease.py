# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs work on a shard path under its lease, and repeats the work after a lost lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import AlterUnfinished, LeaseHeld, LeaseLost, ShardHeld
from ..gates.gate import Refusal
from ..gates.names import GateName
from ..lease.bars import Bar, path_of_bar, unfinished
from ..lease.held_lease import Leases
from ..lease.lease import Lease, LeaseZnodes
from ..tree.znodes import Znode

MAX_LEASES = 3
"""The most leases of a run for one shard path; every lost session needs a new lease."""

_GATES: Mapping[type[LeaseHeld], GateName] = {
    ShardHeld: GateName.NOT_HELD,
    AlterUnfinished: GateName.ALTER_FINISHED,
}
"""Errors about a shard path that no run may work on → the gate; the others are about the lock."""


def gate_of(error: LeaseHeld) -> GateName:
    """Return the gate that refuses a shard path whose lease cannot be had."""
    return _GATES.get(type(error), GateName.LOCK_FREE)


def work_under_leases(
    leases: Leases, shard_path: str, work: Callable[[Lease], None], seen: LeaseZnodes | None = None
) -> Refusal | None:
    """Call ``work`` under a lease; after a LeaseLost call it again under a new lease, for the remaining work.

    seen: the znodes of the lease as of an earlier read, which save requests.

    Returns None after complete work, else a refusal: NOT_HELD or ALTER_FINISHED if no run may work on the
    shard path, LOCK_FREE or LOCK_KEPT for a lease that another run has or took over.

    Raises the other errors of the work, and EnsembleError and its subclasses. The lease is released in any
    case.
    """
    refusal: Refusal | None = None
    for _lease in range(MAX_LEASES):
        seen, known = None, seen
        try:
            lease = leases.acquire(shard_path, known)
        except LeaseHeld as error:
            return Refusal(gate_of(error), error.message, error.remedy)
        except LeaseLost as error:
            refusal = Refusal(GateName.LOCK_KEPT, error.message, error.remedy)
            continue
        try:
            work(lease)
        except LeaseLost as error:
            refusal = Refusal(GateName.LOCK_KEPT, error.message, error.remedy)
        else:
            return None
        finally:
            leases.release(lease)
    return refusal


def refuse_unfinished(read: Callable[[str], Znode | None], root: str, shard_path: str) -> Refusal | None:
    """Return the refusal of a shard path with an unfinished statement of twin_alter; None without one.

    read: reads a znode in hot.
    """
    path = path_of_bar(root, Bar.ALTER, shard_path)
    if read(path) is None:
        return None
    error = unfinished(shard_path, path)
    return Refusal(GateName.ALTER_FINISHED, error.message, error.remedy)
