# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions are left whole: nothing is written first, and nothing is reported from outdated reads."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import DiskParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Left,
    PartitionLeft,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_rows import (
    PartitionRows,
    Row,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.bench import DAY, LOCK, PART, PATH
from support.memory.disks import SimulatedDisks
from support.memory.restores import COPIES, Restores


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


class TakenOver(SimulatedDisks):
    """Another run takes the shard path over while a server answers."""

    lock_of: Restores

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """As Disks does."""
        hot = self.lock_of.bench.hot
        if hot.exists(LOCK) is not None:
            hot.delete(LOCK)
        return super().parts(shard_path, replica, host)


def test_nothing_is_reported_once_another_run_has_the_shard_path(lost: Restores) -> None:
    lost.disks_are_gone()
    disks = TakenOver(lost.bench.servers)
    disks.lock_of = lost
    lost.disks = disks

    with pytest.raises(LeaseLost):
        lost.restore()

    assert lost.report.rows == []


def test_nothing_is_written_to_cold_if_hot_would_not_take_its_part(lost: Restores) -> None:
    """A replica that is gone has no folder in hot. State is restored already."""
    lost.forget_partitions()
    lost.lines = [each for each in lost.lines if getattr(each, "path", "")[-5:] != "State"]
    lost.bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"COLD")
    lost.lines.append(SavedZnode("hot", f"{PATH}/replicas/r9/parts/{PART}", b"", 0, Left(None, 0)))

    assert lost.restore().keys() == {"left"}

    assert lost.bench.cold.exists(COPIES[0]) is None


def test_a_row_of_hot_explains_no_difference_in_cold(lost: Restores) -> None:
    path = lost.bench.part()
    found = lost.bench.hot_store.read([f"{PATH}/metadata"])[0]
    assert found is not None
    there = Znode(path, b"x", found.stat)
    saved = SavedZnode("hot", path, b"x", 0, Left(None, 0))
    missing = SavedZnode("cold", lost.bench.part("r2"), b"x", 0, Left(None, 0))
    left = PartitionLeft(DAY, None, {}, {})
    rows = PartitionRows(
        DAY, [Row(saved, there, (Left(None, 0),)), Row(missing, None, (Left(None, 0),))], {}, left
    )

    assert rows.refusal(PartitionLeft(DAY, None, {"r1": [PART]}, {})) is None
    assert rows.refusal(PartitionLeft(DAY, None, {"r1": [PART]}, {"r1": [PART]})) is not None
