# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a rollout: first a canary shard alone, then the other shards, wave by wave."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from .errors import PlanError
from .text import first_few, parse_duration

ROLLING = "rolling"
TOGETHER = "together"
_COLUMNS = ("wave", "server", "shard", "version", "lag", "to do")
_DONE = "nothing"


class Server(NamedTuple):
    """A server of a cluster.

    lag: replication lag in any unit; only compared within a shard.
    version: of the server that runs; "" if it is unknown.
    steps: what has to be done; none for a server that is done.
    """

    name: str
    shard: str
    lag: int
    version: str = ""
    steps: Sequence[str] = ()


class Order(NamedTuple):
    """What decides the order.

    canary: the first shard, which is changed alone; "" for the first shard by name.
    size: shards to change at the same time after the canary: a number, or a percentage of all shards.
    within: ROLLING changes one server of a shard at a time, beginning with the largest lag. TOGETHER changes
    all servers of a shard at the same time.
    pause: between the last change of some shards and the first change of the next ones, in s.
    """

    canary: str = ""
    size: str = "1"
    within: str = ROLLING
    pause: int = 0


class Wave(NamedTuple):
    """Servers to change at the same time.

    pause: how long to wait before that, in s.
    """

    servers: Sequence[Server]
    pause: int = 0


def servers_of(rows: Sequence[Mapping[str, Any]]) -> list[Server]:
    """Read servers from mappings with the keys of Server.

    Raises PlanError for an empty sequence, and for a server in two rows.
    """
    servers = [
        Server(str(row["name"]), str(row["shard"]), int(row["lag"]), str(row["version"]), tuple(row["steps"]))
        for row in rows
    ]
    if not servers:
        raise PlanError("There is no server to roll out to", remedy="Name a group that has hosts")
    if len({server.name for server in servers}) < len(servers):
        raise PlanError("A server is in two shards", remedy="Roll out one cluster after the other")
    return servers


def pause_of(duration: str) -> int:
    """Return the seconds of a pause. Raises FormatError if it is no duration."""
    return parse_duration(duration, "rollout_pause")


def waves(servers: Sequence[Server], order: Order) -> list[Wave]:
    """Return the waves of a rollout, in order. Servers that are done already cause no pause.

    Raises PlanError if the canary is not a shard, or the size or what is done within a shard is unknown.
    """
    if order.within not in {ROLLING, TOGETHER}:
        raise PlanError(
            f"The servers of a shard are to be changed {order.within!r}",
            remedy=f"Give {ROLLING} or {TOGETHER}",
        )
    shards: dict[str, list[Server]] = defaultdict(list)
    for server in sorted(servers, key=lambda server: (-server.lag, _natural(server.name))):
        shards[server.shard].append(server)
    first = order.canary or min(shards, key=_natural)
    if first not in shards:
        known = ", ".join(sorted(shards, key=_natural))
        raise PlanError(f"The canary {order.canary!r} is no shard", remedy=f"Name one of {known}")
    others = sorted(shards.keys() - {first}, key=_natural)
    width = _width(order.size, len(shards))
    at_once = [[first], *(others[start : start + width] for start in range(0, len(others), width))]
    found: list[Wave] = []
    for names in at_once:
        pause = order.pause if any(map(_changes, found)) else 0
        for group in _groups([shards[name] for name in names], order.within):
            wave = Wave(group, pause)
            if _changes(wave):
                pause = 0
            found.append(wave if _changes(wave) else Wave(group))
    return found


def table(found: Sequence[Wave]) -> list[str]:
    """Return the waves as lines of a table, and a line on versions if the servers have several."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for number, wave in enumerate(found, 1):
        if wave.pause:
            rows.append(("", f"a pause of {wave.pause} s", "", "", "", ""))
        rows += [_row(number, server) for server in wave.servers]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return lines + _versions([server for wave in found for server in wave.servers])


def _changes(wave: Wave) -> bool:
    return any(server.steps for server in wave.servers)


def _groups(shards: Sequence[Sequence[Server]], within: str) -> list[list[Server]]:
    """Return the servers of these shards, those to change at the same time together."""
    if within == TOGETHER:
        return [[server for servers in shards for server in servers]]
    return [[server for server in group if server is not None] for group in zip_longest(*shards)]


def _row(number: int, server: Server) -> tuple[str, ...]:
    steps = ", ".join(server.steps) or _DONE
    return (str(number), server.name, server.shard, server.version or "?", str(server.lag), steps)


def _versions(servers: Sequence[Server]) -> list[str]:
    """Return a line with the servers of each version, the rarest first; nothing for one version."""
    names: dict[str, list[str]] = defaultdict(list)
    for server in servers:
        names[server.version or "an unknown version"].append(server.name)
    if len(names) < 2:
        return []
    rarest = sorted(names.items(), key=lambda each: (len(each[1]), _natural(each[0])))
    of_each = "; ".join(f"{version}: {first_few(sorted(its, key=_natural), 5)}" for version, its in rarest)
    return [f"Several versions run: {of_each}."]


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
