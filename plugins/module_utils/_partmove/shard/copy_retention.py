# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the copies in cold have to stay after a partition was brought back to hot."""

from __future__ import annotations

from math import inf

from ..tree.znodes import Znode
from .facts import ShardFacts
from .location import never_was_cold

STARTING_SECONDS = 600
"""Longer than the session of a stopped server can last."""


def retention_left(shard: ShardFacts, state: Znode | None, now: float) -> float:
    """Return the seconds during which a starting server may still need the copies of a hot partition.

    A starting server may have read hot while the partition was cold, and may read cold later. Such a server:

    - needs the copies;
    - is not active yet;
    - has lost the ephemeral znode of its former process before the end of the retention.

    So the result is infinite while a replica is inactive, and 0.0 once the copies may be removed.
    """
    are_active = all(replica.is_active is not None for replica in shard.replicas)
    return retention_left_of(state, now, are_active=are_active)


def retention_left_of(state: Znode | None, now: float, *, are_active: bool) -> float:
    """Return the same as `retention_left`. ``are_active``: whether all replicas are active."""
    if state is None or never_was_cold(state):
        return 0.0
    return max(0.0, state.stat.mtime / 1000 + STARTING_SECONDS - now) if are_active else inf
