# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs work on a shard path under its lease, and repeats the work after a lost lease."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import LeaseHeld, LeaseLost
from ..gates.gate import Refusal
from ..gates.names import GateName
from ..lease.held_lease import Leases
from ..lease.lease import Lease

MAX_LEASES = 3
"""The most leases of a run for one shard path; every lost session needs a new lease."""


def work_under_leases(leases: Leases, shard_path: str, work: Callable[[Lease], None]) -> Refusal | None:
    """Call ``work`` under a lease; after a LeaseLost call it again under a new lease, for the remaining work.

    Returns None after complete work, else a refusal with the gate LOCK_FREE or LOCK_KEPT.

    Raises the other errors of the work, and EnsembleError and its subclasses. The lease is released in any
    case.
    """
    refusal: Refusal | None = None
    for _lease in range(MAX_LEASES):
        try:
            lease = leases.acquire(shard_path)
        except LeaseHeld as error:
            return Refusal(GateName.LOCK_FREE, error.message, error.remedy)
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
