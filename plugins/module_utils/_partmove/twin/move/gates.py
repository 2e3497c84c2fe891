# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a partition may be moved to the other table: what is looked at before any statement is given.

All of it fails closed: what a server does not tell counts as a reason not to move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...formats.layout import DEFAULT_ENSEMBLE
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few
from .record import contents
from .tables import ActivityInProgress, Parts, PartsOf, Side, TwinTables


def servers_silent(error: PartMoveError) -> Refusal:
    """What to say of partitions when a server does not answer as it should."""
    remedy = error.remedy or "See that the server of every replica runs and answers, and run again"
    return Refusal(GateName.TWIN_READY, error.message, remedy)


def refuse_tables(shard_path: str, found: Sequence[TwinTables]) -> Refusal | None:
    """Why no partition of a shard path may be moved, by its tables on all replicas; None where they may."""
    replicas = len({each.replica.name for each in found})
    for tables in found:
        problem = not_ready(tables, replicas)
        if problem:
            return Refusal(
                GateName.TWIN_READY,
                f"{tables.server}: {problem}",
                "See that every replica has both tables, runs and has its sessions, and run again",
            )
    for tables in found:
        problem = misplaced(shard_path, tables, found[0]) or unlike(tables, found[0])
        if problem:
            return Refusal(
                GateName.TWIN_ALIKE,
                f"{tables.server}: {problem}",
                "ALTER one of them, or make the twin anew while it is empty, so that columns, keys, indices,"
                " projections, TTL, settings and storage policy are written alike on every replica",
            )
    return None


def not_ready(tables: TwinTables, replicas: int) -> str:
    """What keeps one of the two tables of a replica from being worked with; empty where nothing does.

    ``replicas`` is how many the hot ensemble knows.
    """
    for side in Side:
        table = tables.on(side)
        if table.problem:
            return f"{table} {table.problem}"
        if table.replica != tables.replica.name:
            return f"{table} is replica {table.replica}, and the hot table is replica {tables.replica.name}"
        if table.total_replicas != replicas or table.active_replicas != replicas:
            return (
                f"of {table} {table.active_replicas} of {table.total_replicas} replicas are active, and the"
                f" hot ensemble knows {replicas}"
            )
    return ""


def misplaced(shard_path: str, tables: TwinTables, first: TwinTables) -> str:
    """Which of the two tables of a replica is not where it must be, ``first`` being those of another one."""
    cold, home, away = tables.cold, tables.on(tables.home), tables.on(tables.home.other)
    if home.ensemble != DEFAULT_ENSEMBLE or home.path != shard_path:
        return f"{home} is at {home.place}, and not at {shard_path} of the default ensemble"
    if away.ensemble == DEFAULT_ENSEMBLE:
        return f"{away} is in the default ensemble, and not in an auxiliary one"
    if cold.place != first.cold.place:
        return f"{cold} is at {cold.place}, and at {first.cold.place} on {first.server}"
    return ""


def unlike(tables: TwinTables, first: TwinTables) -> str:
    """Where the tables of a replica differ from each other, or from those of the first one."""
    hot, cold = tables.hot, tables.cold
    if hot.definition != cold.definition:
        return f"{hot} and {cold} differ: {first_difference(hot.definition, cold.definition)}"
    if hot.definition != first.hot.definition:
        return f"{hot} is not as on {first.server}: {first_difference(hot.definition, first.hot.definition)}"
    return ""


def first_difference(one: str, other: str) -> str:
    """The first place where two definitions differ, with a little of what is around."""
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    begin = max(0, at - 20)
    return f"{one[begin : at + 40]!r} and {other[begin : at + 40]!r}"


class GateInput(NamedTuple):
    """What the replicas say of one partition, and of what goes on around it; in the order of the replicas."""

    partition_id: str
    tables: Sequence[TwinTables]
    parts: Sequence[PartsOf]
    activity: Sequence[ActivityInProgress]


def refuse_uneven(tables: Sequence[TwinTables], parts: Sequence[PartsOf]) -> Refusal | None:
    """Why nobody can tell what the replicas have of a partition; None where they have the same."""
    for side in Side:
        first = contents(parts[0].on(side))
        for each, there in zip(tables, parts):
            shown = contents(there.on(side))
            if shown != first:
                other = min(shown.items() ^ first.items())[0]
                return Refusal(
                    GateName.TWIN_EVEN,
                    f"{each.on(side)} has not the same part {other} on {tables[0].server} and {each.server}",
                    "Wait until the replicas have the same parts (SYSTEM SYNC REPLICA) and run again; CHECK"
                    " TABLE where it stays so",
                )
    return None


def refuse_activity(seen: GateInput) -> Refusal | None:
    """What goes on with a partition, or with all, that a move must not meet; None where nothing does."""
    for tables, activity in zip(seen.tables, seen.activity):
        reasons = [*activity.of_table, *activity.of_partition.get(seen.partition_id, ())]
        if reasons:
            return Refusal(
                GateName.TWIN_AT_REST,
                f"{tables.server}: {first_few(reasons)}",
                "Wait until that is done (system.replication_queue, system.mutations, system.merges), attach"
                " or drop what is detached, and run again",
            )
    return None


def refuse_start(seen: GateInput, destination: Side, min_age: float) -> Refusal | None:
    """Why a partition that no run has begun to move stays; None where it may be moved."""
    there = seen.parts[0]
    source, held = there.on(destination.other), there.on(destination)
    refusal = refuse_activity(seen) or _refuse_contents(source, held)
    if refusal is None and destination is Side.COLD:
        refusal = _refuse_young(seen, min_age)
    return refusal or _refuse_no_links(seen, destination) or _refuse_room(seen, destination)


def _refuse_contents(source: Parts, held: Parts) -> Refusal | None:
    """Why parts could not be told from each other by what is in them."""
    twice = [content for content, count in Counter(part.content for part in source).items() if count > 1]
    if twice:
        names = [part.name for part in source if part.content == twice[0]]
        return Refusal(
            GateName.PARTS_DISTINCT,
            f"parts {first_few(names)} are equal, and ATTACH clones one of them only",
            "OPTIMIZE TABLE … PARTITION ID … FINAL, and run again",
        )
    known = {part.content: part.name for part in held}
    for part in source:
        if part.content in known:
            return Refusal(
                GateName.TWIN_APART,
                f"part {part.name} of the source equals part {known[part.content]} of the destination, and no"
                " record says that a run has cloned it",
                "Find out whether these are the same rows: if so, drop one of the two by its name; if they"
                " were inserted twice, OPTIMIZE the partition in one of the tables",
            )
    return None


def _refuse_young(seen: GateInput, min_age: float) -> Refusal | None:
    for tables, there, activity in zip(seen.tables, seen.parts, seen.activity):
        newest = max(part.modified for part in there.hot)
        age = max(activity.now - newest, 0.0)
        if age < min_age:
            return Refusal(
                GateName.OLD_ENOUGH,
                f"its newest part is {age:.0f} s old on {tables.server}, min_age is {min_age:.0f} s",
                "Run again later, or lower min_age",
            )
    return None


def _refuse_no_links(seen: GateInput, destination: Side) -> Refusal | None:
    for tables, there, activity in zip(seen.tables, seen.parts, seen.activity):
        disks = ["", *sorted(_largest(there.on(destination.other)))]
        why = next((activity.no_links[disk] for disk in disks if disk in activity.no_links), "")
        if why:
            return Refusal(
                GateName.LINKS_MADE,
                f"{tables.server}: {why}, so that an ATTACH would fail or copy all data",
                "Move the partition to a disk that can be written to (ALTER TABLE … MOVE PARTITION), reset"
                " the setting, and run again",
            )
    return None


def _refuse_room(seen: GateInput, destination: Side) -> Refusal | None:
    for tables, there, activity in zip(seen.tables, seen.parts, seen.activity):
        largest = _largest(there.on(destination.other))
        for disk, size in sorted(largest.items()):
            free = activity.free_bytes.get(disk)
            if free is None or free < size:
                shown = "nobody knows how much" if free is None else f"{free} bytes"
                return Refusal(
                    GateName.ROOM_FOR_CLONES,
                    f"{tables.server} has a part of {size} bytes on the disk {disk!r}, of which {shown}"
                    " is free; links need no room, but the server reserves it",
                    "Make room on the disk, and run again",
                )
    return None


def _largest(parts: Parts) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for part in parts:
        disk, size = part.disk, part.bytes_on_disk
        sizes[disk] = max(sizes.get(disk, 0), size)
    return sizes
