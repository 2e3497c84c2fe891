# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What belongs to nothing is removed from cold, and never the last registration of what may be on a disk."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from support.memory.arrange import create_cold, write
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

GONE = f"replicas/r9/parts/{PART}"
ODD = "replicas/r1/parts/no part"


@pytest.fixture
def drifted() -> Drifted:
    return Drifted()


def test_of_another_replica(drifted: Drifted) -> None:
    create_cold(GONE, MINIMALISTIC)(drifted.bench)
    assert drifted.kinds()["r9"] is FindingKind.ANOTHER_REPLICA
    assert drifted.repair(FindingKind.ANOTHER_REPLICA).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{GONE}"]
    assert [each.data for each in drifted.saved] == [MINIMALISTIC]


def test_of_another_replica_that_alone_has_it(drifted: Drifted) -> None:
    path = f"replicas/r9/parts/{DAY}_77_77_0"
    create_cold(path, MINIMALISTIC)(drifted.bench)
    left = drifted.repair(FindingKind.ANOTHER_REPLICA).left[DAY]
    assert "registered for no replica that hot has" in left.reason
    assert drifted.done == []
    assert drifted.repair(FindingKind.ANOTHER_REPLICA, RepairOptions(replica_is_gone=True)).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{path}"]


def test_of_a_table_that_was_dropped(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.servers.drop_table()
    assert set(drifted.kinds().values()) == {FindingKind.ANOTHER_REPLICA}
    left = drifted.repair(FindingKind.ANOTHER_REPLICA).left[DAY]
    assert "registered for no replica that hot has" in left.reason
    assert drifted.done == []
    found = drifted.repair(FindingKind.ANOTHER_REPLICA, RepairOptions(replica_is_gone=True))
    assert [(row.partition, row.replica) for row in found.repaired] == [(DAY, "r1"), (DAY, "r2")]
    assert drifted.done == [f"cold: delete {PATH}/replicas/{each}/parts/{PART}" for each in ("r1", "r2")]
    again = drifted.repair(FindingKind.ANOTHER_REPLICA, RepairOptions(replica_is_gone=True))
    assert (again.repaired, again.left) == ([], {})


def test_what_is_no_part_of_a_table_that_was_dropped(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.cold.set(f"{PATH}/replicas/r1/parts/{PART}", b"junk")
    create_cold(ODD)(drifted.bench)
    drifted.bench.servers.drop_table()
    assert drifted.kinds("") == {"r1": FindingKind.UNREADABLE}
    assert drifted.repair(FindingKind.UNREADABLE, RepairOptions(replica_is_gone=True)).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{ODD}"]


def test_while_a_server_is_silent_nothing_is_removed(drifted: Drifted) -> None:
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)
    drifted.disks.silent.add("r2")
    assert set(drifted.kinds().values()) == {FindingKind.NOT_JUDGED}
    assert drifted.repair(FindingKind.GHOST).repaired == []
    assert drifted.done == []


def test_a_server_that_falls_silent_meanwhile_keeps_it(drifted: Drifted) -> None:
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)
    drifted.bench.before_lease(lambda: drifted.disks.silent.add("r2"))
    left = drifted.repair(FindingKind.GHOST).left[DAY]
    assert "cannot be reached" in left.reason
    assert drifted.done == []


def test_a_part_that_comes_back_meanwhile_keeps_its_registration(drifted: Drifted) -> None:
    drifted.bench.move()
    disk = drifted.bench.servers.disk
    for names in disk.values():
        names.discard(PART)
    drifted.bench.before_lease(lambda: disk["r1"].add(PART))
    drifted.repair(FindingKind.GHOST)
    assert f"cold: delete {PATH}/replicas/r1/parts/{PART}" not in drifted.done


def test_a_ghost_beside_what_is_alive(drifted: Drifted) -> None:
    drifted.bench.move()
    other = f"{DAY}_9_9_0"
    for replica in ("r1", "r2"):
        create_cold(f"replicas/{replica}/parts/{other}", MINIMALISTIC)(drifted.bench)
    assert set(drifted.kinds().values()) == {FindingKind.GHOST}
    assert drifted.repair(FindingKind.GHOST).left == {}
    assert set(drifted.kinds().values()) == {FindingKind.COLD}


def test_what_is_no_part(drifted: Drifted) -> None:
    create_cold(ODD)(drifted.bench)
    create_cold(f"{ODD}/child", b"x")(drifted.bench)
    assert drifted.kinds("") == {"r1": FindingKind.UNREADABLE}
    assert drifted.repair(FindingKind.UNREADABLE).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{ODD}/child", f"cold: delete {PATH}/{ODD}"]
    assert drifted.kinds("") == {}


def test_what_is_no_part_in_hot(drifted: Drifted) -> None:
    drifted.bench.hot.create(f"{PATH}/{ODD}", b"")
    assert "hot has unreadable znodes" in drifted.repair(FindingKind.UNREADABLE).left[""].reason
    assert drifted.done == []


def test_a_copy_whose_data_no_part_has(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.reheat()
    path = f"replicas/r1/parts/{PART}"
    drifted.bench.clock.sleep(600)
    drifted.bench.cold.set(f"{PATH}/{path}", b"junk")
    assert drifted.kinds()["r1"] is FindingKind.UNREADABLE
    assert drifted.repair(FindingKind.UNREADABLE).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{path}"]


def test_an_intact_copy_of_a_part_damaged_in_hot_stays(drifted: Drifted) -> None:
    path = f"replicas/r1/parts/{PART}"
    drifted.bench.move()
    drifted.bench.reheat()
    drifted.bench.clock.sleep(600)
    drifted.bench.hot.set(f"{PATH}/{path}", b"junk")
    assert drifted.kinds()["r1"] is FindingKind.UNREADABLE
    assert "in cold is intact" in drifted.repair(FindingKind.UNREADABLE).left[DAY].reason
    assert drifted.done == []


def test_a_cold_part_whose_data_no_part_has(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.cold.set(f"{PATH}/replicas/r1/parts/{PART}", b"junk")
    write(f"block_numbers/{DAY}/State", b"odd")(drifted.bench)
    assert "is registered in cold only" in drifted.repair(FindingKind.UNREADABLE).left[DAY].reason
    assert drifted.done == []
