# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long copies in cold are needed after a partition came back to hot."""

from __future__ import annotations

from math import inf

from ..tree.znodes import Znode
from .facts import ShardFacts
from .location import never_was_cold

_STARTING_SECONDS = 600
"""More than a session of a server that is gone may last."""


def seconds_needed(shard: ShardFacts, state: Znode | None, now: float) -> float:
    """How much longer a server that is starting may need the copies of a hot partition; 0.0 for no longer.

    When the partition was cold, a server that read hot then, and has not read cold yet, needs the
    copies. It is not active yet, and the ephemeral znode of its former process has gone by the end of
    the time that is waited here. So they are needed for ever while a replica is not active.
    """
    are_active = all(replica.is_active is not None for replica in shard.replicas)
    return seconds_needed_where(state, now, are_active=are_active)


def seconds_needed_where(state: Znode | None, now: float, *, are_active: bool) -> float:
    """The same for whoever knows whether all replicas are active."""
    if state is None or never_was_cold(state):
        return 0.0
    return max(0.0, state.stat.mtime / 1000 + _STARTING_SECONDS - now) if are_active else inf
