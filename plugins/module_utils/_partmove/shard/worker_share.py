# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Splits the parts of a large shard path into worker shares, for parallel reads by several workers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Each worker of a replica lists all names. A listing is cheap compared with the read of so many parts.
_PARTS_PER_SHARE = 1_000_000


class WorkerShare(NamedTuple):
    """The parts of a shard path for a single worker.

    The shares of `worker_shares` are disjoint and complete, even for new replicas: these belong to the share
    without a replica of its own.
    """

    replica: str = ""
    """The only replica of the share; empty for all replicas except ``without``."""
    without: frozenset[str] = frozenset()
    number: int = 0
    """The number of the share among the shares of the replica, from 0."""
    of: int = 1
    """The number of shares of the replica, split by part name."""

    def has_replica(self, name: str) -> bool:
        """Whether the share has parts of the replica."""
        return name == self.replica if self.replica else name not in self.without

    def has_part(self, name: str) -> bool:
        """Whether the share has parts of this name, if the share has the replica."""
        return self.of == 1 or zlib.crc32(name.encode()) % self.of == self.number


EVERYTHING = WorkerShare()


def worker_shares(parts: Mapping[str, int], size: int) -> Sequence[tuple[WorkerShare, int]]:
    """Split a shard path into worker shares, each with its approximate number of parts.

    A replica with at least ``size`` parts has a share of its own, or several shares for millions of parts.
    All other replicas are together in the last share.

    parts: replica → number of parts.
    """
    large = {name: number for name, number in parts.items() if number >= size}
    shares = []
    for name, number in sorted(large.items()):
        of = 1 + number // max(size, _PARTS_PER_SHARE)
        shares += [(WorkerShare(name, number=each, of=of), number // of) for each in range(of)]
    rest = sum(parts.values()) - sum(large.values())
    return [*shares, (WorkerShare(without=frozenset(large)), rest)]
