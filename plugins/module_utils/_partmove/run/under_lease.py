# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work on a shard path under its lease, taken again where it was lost, or the gate that says why not."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import LeaseHeld, LeaseLost
from ..gates.gate import Refusal
from ..gates.names import GateName
from ..lease.lease import Lease, LeaseKeeper

LEASES = 3
"""How often a run takes a shard path up again after its session ended."""


def work_under_leases(leases: LeaseKeeper, shard_path: str, work: Callable[[Lease], None]) -> Refusal | None:
    """Let ``work`` do what is open, again after a LeaseLost of it; None where it came to its end.

    Raises what else the work raises, and EnsembleError and kin. The lease is released in any case.
    """
    refusal: Refusal | None = None
    for _lease in range(LEASES):
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
