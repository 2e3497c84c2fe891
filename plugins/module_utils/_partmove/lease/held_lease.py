# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lends the lease that a caller holds to a run that would take a lease of its own.

So the run writes under the lease under which its caller has judged, and nothing can come in between.
"""

from __future__ import annotations

from typing import Protocol

from ..errors import LeaseLost
from .lease import Lease, LeaseZnodes, path_of_lock


class Leases(Protocol):
    """Acquires and releases the leases of shard paths, as `LeaseKeeper` does."""

    root: str
    """The coordination root."""

    def acquire(self, shard_path: str, seen: LeaseZnodes | None = None) -> Lease:
        """Return the lease of the shard path. Raises LeaseHeld, LeaseLost, EnsembleError and kin.

        seen: the znodes as of an earlier read, which may save requests.
        """

    def release(self, lease: Lease) -> None:
        """Give the lease back."""


class HeldLease:
    """Implements Leases with one lease, which its holder releases.

    States: lent once at most. Whoever acquires a second time has lost the lease, and the judgement of the
    holder is void with it: LeaseLost.
    """

    def __init__(self, root: str, lease: Lease) -> None:
        self.root = root
        self._lease = lease
        self._is_lent = False

    def acquire(self, shard_path: str, seen: LeaseZnodes | None = None) -> Lease:
        """Return the lease, once. Raises LeaseLost later, and for every other shard path."""
        del seen
        if self._is_lent or self._lease.lock_path != path_of_lock(self.root, shard_path):
            raise LeaseLost(
                f"{shard_path}: the lease under which this run judged is no longer held",
                remedy="Run again: the run then judges anew under its new lease",
            )
        self._is_lent = True
        return self._lease

    def release(self, lease: Lease) -> None:
        """Do nothing: the holder releases the lease."""
