# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order in which the servers of a cluster are changed: one shard first and alone, then the others."""

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

    lag: how far it is behind the others of its shard, in whatever unit; only compared with theirs.
    """

    name: str
    shard: str
    lag: int


def servers_of(rows: Sequence[Mapping[str, Any]]) -> list[Server]:
    """From mappings with the keys of Server; raises PlanError for one that is named twice, or for none."""
    servers = [Server(str(row["name"]), str(row["shard"]), int(row["lag"])) for row in rows]
    if not servers:
        raise PlanError("There is no server to roll out to", remedy="Name a group that has hosts")
    if len({server.name for server in servers}) < len(servers):
        raise PlanError("A server is in two shards", remedy="Roll out one cluster after the other")
    return servers


def batches(servers: Sequence[Server], *, canary: str, size: str, within: str) -> list[list[str]]:
    """Names of the servers to change at the same time, in the order in which to change them.

    canary: the shard that comes first and alone; "" for the first one.
    size: of how many shards servers are changed at the same time after that, or a percentage of all.
    within: ROLLING, one server of a shard at a time and the one that lags most first, or TOGETHER.

    Raises PlanError for a canary that is no shard, and for a size that is neither.
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
    groups = [[first], *(others[start : start + width] for start in range(0, len(others), width))]
    return [batch for group in groups for batch in _steps([shards[name] for name in group], within)]


def _steps(shards: Sequence[Sequence[Server]], within: str) -> list[list[str]]:
    if within == TOGETHER:
        return [[server.name for servers in shards for server in servers]]
    return [[server.name for server in step if server is not None] for step in zip_longest(*shards)]


def _width(size: str, shards: int) -> int:
    match = re.fullmatch(r"([1-9]\d*)(%?)", size)
    if match is None or (match[2] and int(match[1]) > 100):
        raise PlanError(
            f"The size of a batch is {size!r}", remedy="Give a number of shards such as 2, or 25% of them"
        )
    return max(1, shards * int(match[1]) // 100) if match[2] else int(match[1])


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts 2 before 10, also inside of names."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
