# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says of real tables that servers left in a state, and of what only a reader can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.servers.leftovers import original, ours, servers
from support.servers.leftovers.ground import (
    DAY,
    OTHER,
    PART,
    Ground,
    Scene,
    TellingDisks,
    both,
    judged,
    kinds_of,
)
from support.servers.leftovers.patient import Patient, Repairs
from support.servers.moving import switches
from support.servers.replicated import WITHOUT_MERGES, Definition

pytestmark = [
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.long(minutes=1),
    pytest.mark.usefixtures("healthy"),
]

Maker = Callable[[Definition], Ground]

SCENES = (*ours.SCENES, *original.SCENES, *servers.SCENES)
"""Those of ours and of the original are played in test_leftovers.py."""
REPAIRED = [scene for scene in servers.SCENES if scene.is_repaired]


@pytest.fixture
def ground(make_ground: Maker) -> Ground:
    return make_ground(WITHOUT_MERGES)


@pytest.mark.parametrize("scene", REPAIRED, ids=str)
def test_what_servers_left_is_judged_and_repaired(make_ground: Maker, scene: Scene) -> None:
    patient = Patient(make_ground(scene.definition), scene)
    assert judged(patient.ground) == scene.kinds
    assert patient.repair() == scene.left
    assert patient.kept() == patient.seen


def test_what_a_server_that_is_down_has_is_not_judged(ground: Ground) -> None:
    (scene,) = (each for each in servers.SCENES if each not in REPAIRED)
    scene.make(ground)
    assert judged(ground, is_silent=True) == scene.kinds


def test_every_kind_is_made_that_servers_leave_as_it_is() -> None:
    made = {
        kind for scene in SCENES for of_partition in scene.kinds.values() for kind in of_partition.values()
    }
    assert set(FindingKind) - made == {
        # Servers of this version do not tell what they have detached; a test below asks their disks.
        FindingKind.SET_ASIDE,
        # Nor do they tell the hashes of their parts.
        FindingKind.UNLIKE_DISK,
        # Servers fetch the part at once, and it has no registration until they have it.
        FindingKind.NOT_ON_DISK,
        # Takes another ensemble; there are tests of that below and in test_audit_ensembles.py.
        FindingKind.COLD_UNKNOWN,
        # Takes another cluster; test_two_clusters.py has one.
        FindingKind.OTHER_CLUSTER,
    }


def test_servers_that_tell_what_they_have_detached(ground: Ground) -> None:
    ours.unreadable_while_cold(ground)
    telling = ground.reader(TellingDisks(ground.table, ground.probe()))
    assert kinds_of(ground.audit(telling))[DAY] == {"r1": FindingKind.COLD, "r2": FindingKind.SET_ASIDE}


def test_what_was_detached_on_purpose_is_not_set_aside(ground: Ground) -> None:
    ours.detached_while_cold(ground)
    telling = ground.reader(TellingDisks(ground.table, ground.probe()))
    assert kinds_of(ground.audit(telling))[DAY] == both(FindingKind.EMPTY_MARKED_COLD)


@pytest.mark.parametrize(
    "make",
    [
        servers.attached_after_the_session_with_cold_was_lost,
        servers.detached_where_one_disk_had_lost_it,
    ],
    ids=lambda make: make.__name__,
)
def test_what_was_detached_and_stayed_in_cold_is_not_set_aside(
    ground: Ground, make: Callable[[Ground], None]
) -> None:
    """To put the folder back would double the rows that were attached."""
    make(ground)
    (scene,) = (each for each in servers.SCENES if each.make is make)
    telling = ground.reader(TellingDisks(ground.table, ground.probe()))
    assert kinds_of(ground.audit(telling)) == scene.kinds


def test_a_part_that_is_attached_while_the_other_replica_has_it_cold(ground: Ground) -> None:
    """It comes back as a new part, so that the other replica has its rows twice; and the way out of that."""
    table, (first, second) = ground.table, ground.table.servers
    rows = table.rows()
    ground.move(DAY)
    second.stop()
    (table.folder(1) / PART).rename(table.folder(1) / "detached" / PART)
    second.start()
    telling = ground.reader(TellingDisks(table, ground.probe()))
    assert kinds_of(ground.audit(telling))[DAY] == {"r1": FindingKind.COLD, "r2": FindingKind.SET_ASIDE}

    second.execute(f"ALTER TABLE {table.name} ATTACH PART '{PART}'")
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [36, 33]

    first.stop()
    (table.folder(0) / PART).rename(table.folder(0).with_name(PART))
    first.start()
    table.settle()
    assert judged(ground) == {DAY: both(FindingKind.GHOST), OTHER: both(FindingKind.HOT)}
    assert Repairs(ground, {}, []).carry_out() == set()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]


def test_what_a_run_is_in_the_middle_of_is_not_judged(ground: Ground) -> None:
    found: list[ShardAudit] = []

    def look(_operation: str, multis: Sequence[Multi]) -> None:
        if switches(multis):
            found.append(ground.audit())

    ground.mover.before_hot = look
    ground.move(DAY)

    assert [kinds_of(each) for each in found] == [
        {DAY: both(FindingKind.NOT_JUDGED), OTHER: both(FindingKind.HOT)}
    ]
    reasons = {row.verdict.reason for row in found[0].rows if row.partition == DAY}
    assert len(reasons) == 1
    assert reasons.pop().startswith("a run works on the table: a test")


def test_data_that_no_part_has_is_found_where_all_content_is_compared(ground: Ground) -> None:
    ground.move(DAY)
    path = f"{ground.table.path}/replicas/r1/parts/{PART}"
    ground.registry.cold.set(f"{path}/checksums", b"checksums format version: 99\n")
    cold = {DAY: both(FindingKind.COLD), OTHER: both(FindingKind.HOT)}
    assert kinds_of(ground.audit()) == cold

    found = ground.audit(compare_all=True)

    assert kinds_of(found) == {**cold, DAY: {"r1": FindingKind.UNREADABLE, "r2": FindingKind.COLD}}
    assert [row.verdict.parts for row in found.rows if row.verdict.kind is FindingKind.UNREADABLE] == [
        (path,)
    ]


def test_a_cold_ensemble_that_is_another_one(ground: Ground) -> None:
    ground.move(DAY)
    chroot = f"{ground.table.path}-empty"
    ground.registry.cold.ensure_path(chroot)
    hosts = tuple(ground.hosts[1].split(","))
    another = connect(EnsembleOptions("cold", hosts, chroot))
    try:
        found = ground.audit(ground.reader(cold=another))
    finally:
        another.close()
    assert kinds_of(found) == {DAY: both(FindingKind.COLD_UNKNOWN), OTHER: both(FindingKind.HOT)}
