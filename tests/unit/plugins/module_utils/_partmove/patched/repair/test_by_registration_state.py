# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State says HOT after a repair only if hot registers every part, and other parts stay as they are."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import SavedZnode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from support.memory.arrange import create, delete, on_both
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.meanwhile import drifted_by
from support.memory.synthetic import MINIMALISTIC
from support.memory.two_clusters import hash_of

LATER = f"{DAY}_7_7_0"
STATE = f"{PATH}/block_numbers/{DAY}/State"
REPLICAS = ("r1", "r2")
GIVEN = RepairOptions(registrations=[SavedZnode("hot", f"{PATH}/replicas/r1/parts/{LATER}", MINIMALISTIC, 0)])


@pytest.fixture
def drifted() -> Drifted:
    """A table whose servers show hashes, also of a part that is registered nowhere."""
    drifted = drifted_by(PART)
    drifted.disks.hashes[LATER] = "22" * 16
    return drifted


def let_disks_have(drifted: Drifted, part: str) -> None:
    for replica in REPLICAS:
        drifted.bench.servers.disk[replica].add(part)


def test_state_stays_cold_while_a_part_is_cold(drifted: Drifted) -> None:
    """A server would not find the part with State HOT."""
    drifted.bench.move()
    let_disks_have(drifted, LATER)
    assert set(drifted.kinds().values()) == {FindingKind.UNREGISTERED}

    drifted.repair(FindingKind.UNREGISTERED, GIVEN)

    assert drifted.bench.hot.exists(drifted.bench.part("r1", LATER)) is not None
    assert drifted.bench.hot.get(STATE)[0] == b"COLD"


def test_state_stays_cold_if_the_repair_registers_a_part_in_cold(drifted: Drifted) -> None:
    bench = drifted.bench
    data = bench.hot.get(bench.part())[0]
    bench.move()
    bench.cold.delete(bench.part("r1"))
    # Hot registers the part of r2, too, but other data than the disk has.
    create(f"replicas/r2/parts/{PART}", MINIMALISTIC)(bench)
    let_disks_have(drifted, LATER)
    assert drifted.kinds()["r1"] is FindingKind.UNREGISTERED

    drifted.repair(FindingKind.UNREGISTERED, GIVEN)

    assert bench.cold.get(bench.part("r1"))[0] == data
    assert bench.hot.exists(bench.part("r1", LATER)) is not None
    assert bench.hot.get(STATE)[0] == b"COLD"


def test_a_state_that_is_hot_is_not_written(drifted: Drifted) -> None:
    create(f"block_numbers/{DAY}/State", b"HOT")(drifted.bench)
    delete(f"replicas/r1/parts/{PART}")(drifted.bench)

    assert drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER).left == {}

    assert drifted.bench.hot.get(STATE)[1].version == 0


def test_parts_that_are_registered_need_no_source(drifted: Drifted) -> None:
    on_both(f"{DAY}_9_9_0")(drifted.bench)
    let_disks_have(drifted, f"{DAY}_9_9_0")
    delete(f"replicas/r1/parts/{PART}")(drifted.bench)

    assert drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER).left == {}

    assert set(drifted.kinds().values()) == {FindingKind.HOT}


def test_a_replica_that_cold_has_nothing_of_gets_its_folder(drifted: Drifted) -> None:
    drifted.bench.move()
    assert hash_of(drifted.bench, PART) == drifted.disks.hashes[PART]
    drifted.bench.cold.delete(f"{PATH}/replicas/r1", recursive=True)
    assert drifted.kinds()["r1"] is FindingKind.REGISTERED_FOR_ANOTHER

    assert drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER).left == {}

    assert set(drifted.kinds().values()) == {FindingKind.COLD}
