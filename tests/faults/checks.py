# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must be true of a table once everything is at rest again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from faults.field import Field
from faults.rows import STANDING, KnownTable
from support.servers.kazoo_client import connected

_CHECKSUM = "count(), sum(cityHash64(day, id, body))"


class Place(Enum):
    """Where a partition is to be registered."""

    HOT = "hot alone"
    COPIED = "hot, with or without copies in cold"
    COLD = "cold alone"


class _Seen(NamedTuple):
    """What one member has of a table: names of parts by replica, State by partition."""

    member: str
    parts: Mapping[str, frozenset[str]]
    states: Mapping[str, bytes | None]


def violations(field: Field, known: KnownTable, places: Mapping[str, Place]) -> list[str]:
    """Tell what is not as it must be, of rows, folders and both ensembles; nothing when all is well.

    `places`: partition id → where it is to be; all others are in hot alone.
    """
    found = [*_of_rows(known), *_of_folders(known)]
    with ExitStack() as stack:
        hot, cold = (
            [stack.enter_context(connected(member.address)) for member in side.ensemble.members]
            for side in field.sides
        )
        active = {name: _active(known, number) for number, name in enumerate(known.table.replicas)}
        partitions = sorted({*places, *known.days, *(each for parts in active.values() for each in parts)})
        in_hot = [_look(client, known, partitions) for client in hot]
        in_cold = [_look(client, known, partitions) for client in cold]
    for replica, parts in active.items():
        if parts != active["r1"]:
            found.append(f"{replica} has the active parts {parts}, r1 has {active['r1']}")
    for look in (*in_hot, *in_cold):
        first = in_hot[0] if look in in_hot else in_cold[0]
        if look[1:] != first[1:]:
            found.append(f"{look.member} has {look[1:]}, {first.member} has {first[1:]}")
    for partition in partitions:
        place = places.get(partition, Place.HOT)
        for replica, parts in active.items():
            names = parts.get(partition, frozenset())
            found += _of_place(place, replica, partition, names, in_hot[0], in_cold[0])
    found += _of_nobody(active, in_hot[0])
    return found


def _of_rows(known: KnownTable) -> Iterator[str]:
    expected = known.rows()
    sums = set()
    for number, name in enumerate(known.table.replicas):
        server = known.table.servers[number]
        rows = sorted(server.query(f"SELECT day, id, body FROM {known.table.name}"))
        if rows != expected:
            missing, strange = (
                sorted(set(one) - set(other)) for one, other in ((expected, rows), (rows, expected))
            )
            yield (
                f"{name} has {len(rows)} rows instead of {len(expected)}: missing are {missing[:9]}, "
                f"strange {strange[:9]}"
            )
        sums.add(str(server.query(f"SELECT {_CHECKSUM} FROM {known.table.name}")))
    if len(sums) != 1:
        yield f"the replicas have the row counts and checksums {sorted(sums)}"


def _of_folders(known: KnownTable) -> Iterator[str]:
    for number, name in enumerate(known.table.replicas):
        if aside := [each for each in known.table.detached(number) if not _was_never_registered(each)]:
            yield f"{name} has set aside {aside}"


def _was_never_registered(folder: str) -> bool:
    """Whether it is a part of an insert that a server was killed in, of a partition that never moves.

    ClickHouse has it on disk before it registers it. The statement is sent again, and the rows are compared.
    """
    prefix, _underscore, part = folder.partition("_")
    return prefix == "ignored" and part.split("_")[0] in STANDING


def _active(known: KnownTable, number: int) -> Mapping[str, frozenset[str]]:
    return {each: frozenset(names) for each, names in known.table.active_parts(number).items()}


def _look(client: KazooClient, known: KnownTable, partitions: Sequence[str]) -> _Seen:
    path = known.table.path
    client.sync("/")
    parts = {}
    for name in known.table.replicas:
        try:
            parts[name] = frozenset(client.get_children(f"{path}/replicas/{name}/parts"))
        except NoNodeError:
            parts[name] = frozenset()
    host, port = client.hosts[0]
    return _Seen(f"{host}:{port}", parts, known.states(client, partitions))


def _of_place(
    place: Place, replica: str, partition: str, active: frozenset[str], hot: _Seen, cold: _Seen
) -> Iterator[str]:
    in_hot, in_cold = (
        frozenset(name for name in look.parts[replica] if name.startswith(f"{partition}_"))
        for look in (hot, cold)
    )
    state = hot.states[partition]
    right = {
        Place.HOT: (in_hot, in_cold) == (active, frozenset()) and state in {None, b"HOT"},
        Place.COPIED: in_hot == active and state in {None, b"HOT"},
        Place.COLD: (in_hot, in_cold) == (frozenset(), active) and state == b"COLD" and bool(active),
    }
    if not right[place]:
        yield (
            f"{partition} of {replica} is not in {place.value}: State is {state!r}, active are "
            f"{sorted(active)}, in hot {sorted(in_hot)}, in cold {sorted(in_cold)}"
        )


def _of_nobody(active: Mapping[str, Mapping[str, frozenset[str]]], hot: _Seen) -> Iterator[str]:
    for replica, partitions in active.items():
        everything = frozenset(name for names in partitions.values() for name in names)
        if strange := hot.parts[replica] - everything:
            yield f"hot has {sorted(strange)} of {replica}, which are not active"
