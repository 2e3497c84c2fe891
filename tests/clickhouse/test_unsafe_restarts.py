# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A restart sets parts aside where an audit says that it is unsafe, and keeps them everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from support.servers.clickhouse import ClickHouseCluster
from support.servers.leftovers import original, ours
from support.servers.leftovers.ground import Ground
from support.servers.process import ServerError
from support.servers.replicated import WITHOUT_MERGES, Definition, ReplicatedTable

pytestmark = [
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.long(minutes=2),
    pytest.mark.usefixtures("healthy"),
]

OTHERS = {
    # A server merges there, as it was about to.
    original.met_a_replica_that_had_yet_to_merge,
    # No table of a server is there if one cannot be loaded.
    ours.something_else_among_the_parts,
}
SCENES = [scene for scene in (*ours.SCENES, *original.SCENES) if scene.make not in OTHERS]


class Kept(NamedTuple):
    """What the server of a replica has of a table.

    parts: name of each active part → the checksums of its files.
    detached: names in the folder detached.
    """

    rows: Sequence[tuple[object, ...]]
    parts: Mapping[str, bytes]
    detached: frozenset[str]


class Replica(NamedTuple):
    scene: str
    name: str


@pytest.fixture
def grounds(make_ground: Callable[[Definition], Ground]) -> dict[str, Ground]:
    """Name of a scene → what it was played on; all at once, as one restart is enough for them."""
    grounds = {}
    for scene in SCENES:
        grounds[str(scene)] = ground = make_ground(scene.definition)
        scene.make(ground)
    return grounds


def test_a_restart_sets_aside_what_an_audit_says_and_nothing_else(
    replicas: ClickHouseCluster, grounds: dict[str, Ground]
) -> None:
    unsafe = {replica: parts for name, ground in grounds.items() for replica, parts in told(name, ground)}
    before = all_kept(grounds)

    for server in replicas.servers:
        server.restart()

    after = all_kept(grounds)
    assert {each: kept.detached - before[each].detached for each, kept in after.items()} == {
        each: {f"ignored_{part}" for part in unsafe.get(each, ())} for each in before
    }
    assert {each for each in before if after[each] != before[each]} == unsafe.keys()
    assert {each.scene for each in unsafe} == {
        "could_not_write_to_cold",
        "could_not_write_parts_of_one_replica",
        "not_registered_for_one_replica",
        "not_registered_in_cold_for_one_replica",
    }


def test_a_server_does_not_start_with_something_else_among_its_parts(
    replicas: ClickHouseCluster, make_ground: Callable[[Definition], Ground]
) -> None:
    ground = make_ground(WITHOUT_MERGES)
    ours.something_else_among_the_parts(ground)
    assert list(told("", ground)) == [(Replica("", "r1"), (f"{ground.table.path}/{ours.SOMETHING_ELSE}",))]
    before = kept(ground.table, 0)
    first = replicas.servers[0]

    with pytest.raises(ServerError, match="Unexpected part name: backup"):
        first.restart()

    ground.registry.cold.delete(f"{ground.table.path}/{ours.SOMETHING_ELSE}")
    first.start()
    assert kept(ground.table, 0) == before


def told(scene: str, ground: Ground) -> Iterator[tuple[Replica, tuple[str, ...]]]:
    """The replicas whose restart an audit calls unsafe, and the parts for which it does."""
    for row in ground.audit().rows:
        if row.verdict.kind.restart_unsafe:
            yield Replica(scene, row.replica), row.verdict.parts


def all_kept(grounds: Mapping[str, Ground]) -> dict[Replica, Kept]:
    return {
        Replica(scene, replica): kept(ground.table, number)
        for scene, ground in grounds.items()
        for number, replica in enumerate(ground.table.replicas)
    }


def kept(table: ReplicatedTable, number: int) -> Kept:
    active = [name for names in table.active_parts(number).values() for name in names]
    checksums = {name: (table.folder(number) / name / "checksums.txt").read_bytes() for name in active}
    return Kept(table.rows(number), checksums, frozenset(table.detached(number)))
