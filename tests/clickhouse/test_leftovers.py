# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every state that real tables were brought to: what an audit says, what a restart does, what a repair does.

Each scene is played on one table, which is judged first; then the servers restart with all of the tables, and
then all are repaired. A scene that a restart changes is played on another table for the repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from support.servers.clickhouse import ClickHouseCluster
from support.servers.leftovers import original, ours
from support.servers.leftovers.ground import Ground, Scene, judged
from support.servers.leftovers.patient import Patient, kept
from support.servers.process import ServerError
from support.servers.replicated import WITHOUT_MERGES, Definition

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.long(minutes=4)]

Maker = Callable[[Definition], Ground]

SCENES = (*ours.SCENES, *original.SCENES)
AFTER_RESTART = [
    scene
    for scene in SCENES
    if scene.make
    in {
        # A server merges there, as it was about to.
        original.met_a_replica_that_had_yet_to_merge,
        # No table of a server is there if one cannot be loaded.
        ours.something_else_among_the_parts,
    }
]
RESTARTED = [scene for scene in SCENES if scene not in AFTER_RESTART]
UNSAFE = {
    "could_not_write_to_cold",
    "could_not_write_parts_of_one_replica",
    "not_registered_for_one_replica",
    "not_registered_in_cold_for_one_replica",
}
"""Scenes of which a restart sets parts aside."""
FOR_PEOPLE = {str(scene): scene.left for scene in SCENES if scene.left}
"""Scene → what no module repairs of it."""


class Stage:
    """Plays scenes, each once unless it is to be played again."""

    def __init__(self) -> None:
        self._patients: dict[str, Patient] = {}

    def patient(self, scene: Scene, make_ground: Maker) -> Patient:
        """What the scene was played on."""
        if str(scene) not in self._patients:
            self.play_again(scene, make_ground)
        return self._patients[str(scene)]

    def play_again(self, scene: Scene, make_ground: Maker) -> Patient:
        """Play the scene on a table that no other was played on."""
        self._patients[str(scene)] = patient = Patient(make_ground(scene.definition), scene)
        return patient


@pytest.fixture(scope="module")
def stage(replicas: ClickHouseCluster) -> Iterator[Stage]:
    """Shared by all tests; no table is left to who uses the ensembles next."""
    yield Stage()
    for server in replicas.servers:
        for (name,) in server.query("SELECT name FROM system.tables WHERE database = 'default'"):
            server.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize("scene", RESTARTED, ids=str)
def test_the_kind_of_every_partition_of_every_replica(stage: Stage, make_ground: Maker, scene: Scene) -> None:
    assert judged(stage.patient(scene, make_ground).ground) == scene.kinds


def test_a_restart_sets_aside_what_an_audit_says_and_nothing_else(
    replicas: ClickHouseCluster, stage: Stage, make_ground: Maker
) -> None:
    patients = {str(scene): stage.patient(scene, make_ground) for scene in RESTARTED}
    unsafe = {
        (name, replica): parts
        for name, patient in patients.items()
        for replica, parts in unsafe_to_restart(patient.ground)
    }
    before = {
        (name, replica): kept(patient.ground.table, number)
        for name, patient in patients.items()
        for number, replica in enumerate(patient.ground.table.replicas)
    }

    for server in replicas.servers:
        server.restart()

    after = {
        (name, replica): kept(patient.ground.table, number)
        for name, patient in patients.items()
        for number, replica in enumerate(patient.ground.table.replicas)
    }
    assert {each: now.detached - before[each].detached for each, now in after.items()} == {
        each: {f"ignored_{part}" for part in unsafe.get(each, ())} for each in before
    }
    assert {each for each in before if after[each] != before[each]} == unsafe.keys()
    assert {scene for scene, _replica in unsafe} == UNSAFE


def test_a_server_does_not_start_with_something_else_among_its_parts(
    replicas: ClickHouseCluster, make_ground: Maker
) -> None:
    ground = make_ground(WITHOUT_MERGES)
    ours.something_else_among_the_parts(ground)
    path = f"{ground.table.path}/{ours.SOMETHING_ELSE}"
    assert list(unsafe_to_restart(ground)) == [("r1", (path,))]
    before = kept(ground.table, 0)
    first = replicas.servers[0]

    with pytest.raises(ServerError, match="Unexpected part name: backup"):
        first.restart()

    ground.registry.cold.delete(path)
    first.start()
    assert kept(ground.table, 0) == before


@pytest.mark.parametrize("scene", AFTER_RESTART, ids=str)
def test_the_kind_of_what_a_server_merges_or_does_not_start_with(
    stage: Stage, make_ground: Maker, scene: Scene
) -> None:
    assert judged(stage.patient(scene, make_ground).ground) == scene.kinds


def test_what_drifted_is_repaired_and_outlives_a_restart(
    replicas: ClickHouseCluster, stage: Stage, make_ground: Maker
) -> None:
    scenes = [scene for scene in SCENES if scene.is_repaired]
    patients = {
        str(scene): (stage.play_again if str(scene) in UNSAFE else stage.patient)(scene, make_ground)
        for scene in scenes
    }
    left = {name: kinds for name, patient in patients.items() if (kinds := patient.repair())}
    assert left == FOR_PEOPLE

    for server in replicas.servers:
        server.restart()

    for name, patient in patients.items():
        if name not in FOR_PEOPLE:
            assert patient.kept() == patient.seen, name
            assert all(kind.is_consistent for kind in patient.kinds()), name


def unsafe_to_restart(ground: Ground) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The replicas whose restart an audit calls unsafe, and the parts for which it does."""
    for row in ground.audit().rows:
        if row.verdict.restart_unsafe:
            yield row.replica, row.verdict.parts
