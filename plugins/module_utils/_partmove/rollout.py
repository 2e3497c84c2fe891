# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a rollout: first a canary shard alone, then the other shards in batches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from .errors import PlanError

ROLLING = "rolling"
TOGETHER = "together"


class Server(NamedTuple):
    """A server of a cluster.

    lag: replication lag in any unit; only compared within a shard.
    """

    name: str
    shard: str
    lag: int


def servers_of(rows: Sequence[Mapping[str, Any]]) -> list[Server]:
    """Read servers from mappings with the keys of Server.

    Raises PlanError for an empty sequence, and for a server in two rows.
    """
    servers = [Server(str(row["name"]), str(row["shard"]), int(row["lag"])) for row in rows]
    if not servers:
        raise PlanError("There is no server to roll out to", remedy="Name a group that has hosts")
    if len({server.name for server in servers}) < len(servers):
        raise PlanError("A server is in two shards", remedy="Roll out one cluster after the other")
    return servers


def batches(servers: Sequence[Server], *, canary: str, size: str, within: str) -> list[list[str]]:
    """Return the batches of a rollout, in order. A batch is the names of servers to change at the same time.

    canary: the first shard, which is changed alone; "" for the first shard by name.
    size: shards per batch after the canary: a number, or a percentage of all shards.
    within: ROLLING changes one server of a shard at a time, beginning with the largest lag. TOGETHER changes
    all servers of a shard at the same time.

    Raises PlanError if the canary is not a shard, or the size is neither a number nor a percentage.
    """
    shards: dict[str, list[Server]] = defaultdict(list)
    for server in sorted(servers, key=lambda server: (-server.lag, _natural(server.name))):
        shards[server.shard].append(server)
    first = canary or min(shards, key=_natural)
    if first not in shards:
        known = ", ".join(sorted(shards, key=_natural))
        raise PlanError(f"The canary {canary!r} is no shard", remedy=f"Name one of {known}")
    others = sorted(shards.keys() - {first}, key=_natural)
    width = _width(size, len(shards))
    at_once = [[first], *(others[start : start + width] for start in range(0, len(others), width))]
    return [batch for names in at_once for batch in _server_batches([shards[name] for name in names], within)]


def _server_batches(shards: Sequence[Sequence[Server]], within: str) -> list[list[str]]:
    if within == TOGETHER:
        return [[server.name for servers in shards for server in servers]]
    return [[server.name for server in batch if server is not None] for batch in zip_longest(*shards)]


def _width(size: str, shards: int) -> int:
    match = re.fullmatch(r"([1-9]\d*)(%?)", size)
    if match is None or (match[2] and int(match[1]) > 100):
        raise PlanError(
            f"The size of a batch is {size!r}", remedy="Give a number of shards such as 2, or 25% of them"
        )
    return max(1, shards * int(match[1]) // 100) if match[2] else int(match[1])


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts 2 before 10, also inside a name."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
