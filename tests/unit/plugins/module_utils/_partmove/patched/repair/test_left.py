# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State and the names of parts at the end of a repair, of every replica that an ensemble has."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Left,
    PartitionLeft,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.left import read_left
from support.memory.arrange import create_cold
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.restores import Restores
from support.memory.synthetic import MINIMALISTIC

BOTH = {replica: [PART] for replica in ("r1", "r2")}


def left(bench: Bench, *partitions: str) -> list[PartitionLeft]:
    return read_left(bench.hot_store, bench.cold_store, ShardLayout(PATH), partitions)


def test_state_and_names_of_both_ensembles() -> None:
    bench = Bench()
    bench.move()
    create_cold(f"replicas/r9/parts/{OTHER}_9_9_0", MINIMALISTIC)(bench)
    others = {replica: [f"{OTHER}_0_0_0"] for replica in ("r1", "r2")}
    day, other = left(bench, OTHER, DAY, "")
    assert day == PartitionLeft(DAY, Left(b"COLD", day.state.version if day.state else 0), {}, BOTH)
    assert (other.partition, other.cold) == (OTHER, {"r9": [f"{OTHER}_9_9_0"]})
    assert other.hot.keys() == others.keys()


def test_without_a_table_there_is_nothing() -> None:
    bench = Bench()
    bench.hot.delete(PATH, recursive=True)
    assert left(bench, DAY) == []


def test_servers_that_are_behind_are_waited_for() -> None:
    bench = Bench()
    bench.hot_store.connect_to(bench.hot_ensemble.members[-1])
    bench.hot.delete(f"{PATH}/replicas/r1/parts/{PART}", recursive=True)
    assert left(bench, DAY)[0].hot == {"r2": [PART]}


def test_a_repair_ends_with_what_it_leaves() -> None:
    lost = Restores.of_lost_disks()
    assert [each for each in lost.lines if isinstance(each, PartitionLeft)] == left(lost.bench, DAY)
    assert isinstance(lost.lines[-1], PartitionLeft)


@pytest.mark.parametrize("is_lost", [False, True])
def test_without_the_lease_nothing_is_said(is_lost: bool) -> None:
    """Another run may have changed the partition by then."""
    restores = Restores()
    restores.bench.move()
    restores.disks_are_gone()
    if is_lost:
        restores.after_state(lambda: restores.bench.hot.delete(LOCK))
    restores.repair(FindingKind.GHOST)
    assert any(isinstance(each, PartitionLeft) for each in restores.lines) is not is_lost
