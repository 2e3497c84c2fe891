# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A restore makes no finding: the restored partition is judged before anything is written."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from support.memory.arrange import create, create_cold, write
from support.memory.bench import DAY, PART, PATH
from support.memory.restores import ALL, COLD_COPIES, COPIES, STATE, UNKNOWN_HASH, Restores, copies_differ
from support.memory.synthetic import MINIMALISTIC


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


def test_copies_that_differed_come_back_as_no_finding() -> None:
    restores = copies_differ()
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}
    assert "would be copies_differ" in restores.reasons[0]


def test_state_does_not_become_hot_over_parts_in_cold_only() -> None:
    restores = Restores()
    restores.bench.move()
    write(f"block_numbers/{DAY}/State", b"HOT")(restores.bench)
    assert restores.repair(FindingKind.COLD_UNMARKED).left == {}
    assert restores.restore() == {"left": [f"hot: {STATE}"]}
    assert restores.bench.hot.get(STATE)[0] == b"COLD"


def test_state_does_not_become_cold_over_parts_in_hot() -> None:
    restores = Restores()
    create(f"block_numbers/{DAY}/State", b"COLD")(restores.bench)
    assert restores.repair(FindingKind.HOT_MARKED_COLD).left == {}
    assert restores.restore() == {"left": [f"hot: {STATE}"]}
    assert restores.bench.hot.get(STATE)[0] == b"HOT"


def test_of_a_part_that_is_merged_on_disk_nothing_is_restored(lost: Restores) -> None:
    for names in lost.bench.servers.disk.values():
        names.discard(PART)
        names.add(f"{DAY}_0_9_2")
    assert lost.restore() == {"left": ALL}


def test_a_silent_server_leaves_the_partition(lost: Restores) -> None:
    lost.disks.silent.add("r2")
    assert lost.restore() == {"left": ALL}


def test_ghosts_are_not_made_again() -> None:
    restores = Restores.of_lost_disks()
    restores.disks_are_gone()
    before = restores.trees()
    assert restores.restore() == {"left": ALL}
    assert restores.trees() == before


def test_a_finding_on_one_replica_leaves_the_partition(lost: Restores) -> None:
    lost.bench.servers.disk["r2"].discard(PART)
    assert lost.restore() == {"left": ALL}


def test_a_part_with_another_hash_is_left(lost: Restores) -> None:
    lost.disks.hashes[PART] = "0" * 32
    assert lost.restore() == {"left": ALL}


def test_a_lesser_finding_is_better_than_a_part_that_a_restart_takes_out() -> None:
    lost = Restores.of_lost_disks(parts=2)
    assert set(lost.kinds().values()) == {FindingKind.UNREGISTERED}
    assert "left" not in lost.restore()
    assert set(lost.kinds().values()) == {FindingKind.SEVERAL_COLD_PARTS}


def test_a_parent_in_hot_that_is_gone_leaves_the_partition(lost: Restores) -> None:
    path = f"{PATH}/replicas/r9/parts/{PART}"
    lost.lines.append(SavedZnode("hot", path, b"", 0))
    assert lost.restore()["left"] == [*COLD_COPIES, f"hot: {STATE}", f"hot: {path}"]


def test_replicas_that_are_gone_are_not_registered_again() -> None:
    restores = Restores()
    restores.bench.move()
    create_cold(f"replicas/r9/parts/{PART}", MINIMALISTIC)(restores.bench)
    options = RepairOptions(replica_is_gone=True)
    assert restores.repair(FindingKind.ANOTHER_REPLICA, options).left == {}
    assert restores.restore() == {"left": [f"cold: {PATH}/replicas/r9/parts/{PART}"]}


def test_copies_that_nobody_needs_are_no_reason_to_write() -> None:
    """The exception for findings is for parts that a restart would take out of the table."""
    restores = copies_differ()
    restores.bench.hot.set(COPIES[0], UNKNOWN_HASH)
    before = restores.trees()
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}
    assert restores.trees() == before
