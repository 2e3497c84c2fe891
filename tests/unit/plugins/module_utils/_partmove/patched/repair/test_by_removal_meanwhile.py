# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removals while something else happens, and of replicas that hot does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.by_removal import (
    remove_ghosts,
    remove_unreadable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairCase,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.judged import (
    JudgedPartition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import Remedy
from support.memory.arrange import create_cold, mark_of_other_cluster
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import CONFIRMED, Drifted
from support.memory.synthetic import MINIMALISTIC

STATE = f"{PATH}/block_numbers/{DAY}/State"
GHOST = f"{DAY}_9_9_0"


@pytest.fixture
def drifted() -> Drifted:
    """A cold partition of which no disk has anything any more."""
    drifted = Drifted()
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)
    return drifted


def left_by(
    drifted: Drifted, remedy: Remedy, kind: FindingKind, parts: Mapping[str, tuple[str, ...]], **options: Any
) -> set[str]:
    """Let a remedy remove replica → parts; returns the partitions that it left."""
    case = RepairCase(drifted.context(), ShardLayout(PATH), kind, [DAY], replace(CONFIRMED, **options))
    with case.leased() as leased:
        assert leased.evidence is not None
        verdicts = {replica: Verdict(kind, names) for replica, names in parts.items()}
        return set(remedy(leased, [JudgedPartition(leased.evidence.partitions[DAY], verdicts)]))


BOTH = {"r1": (PART,), "r2": (PART,)}


def test_a_part_znode_that_changes_meanwhile_keeps_its_state(drifted: Drifted) -> None:
    bench = drifted.bench
    drifted.bench.before_copy(lambda: bench.cold.set(bench.part("r2"), MINIMALISTIC))

    assert left_by(drifted, remove_ghosts, FindingKind.GHOST, BOTH) == {DAY}

    assert bench.cold.exists(bench.part("r2")) is not None
    assert bench.hot.get(STATE)[0] == b"COLD"


def test_a_removal_whose_answer_is_lost_is_not_called_done(drifted: Drifted) -> None:
    drifted.bench.cold_store.loses = lambda multi: any("/parts/" in op.path for op in multi)

    assert left_by(drifted, remove_ghosts, FindingKind.GHOST, BOTH) == {DAY}

    assert drifted.bench.hot.get(STATE)[0] == b"COLD"


def test_state_stays_cold_while_one_disk_has_a_part(drifted: Drifted) -> None:
    bench = drifted.bench
    bench.servers.disk["r1"].add(PART)
    create_cold(f"replicas/r1/parts/{GHOST}", MINIMALISTIC)(bench)

    assert left_by(drifted, remove_ghosts, FindingKind.GHOST, {"r1": (GHOST,)}) == set()

    assert bench.cold.exists(bench.part("r1", GHOST)) is None
    assert bench.hot.get(STATE)[0] == b"COLD"


@pytest.mark.parametrize(
    ("replica", "is_gone", "left"),
    [("r1", False, {DAY}), ("r1", True, {DAY}), ("r9", False, {DAY}), ("r9", True, set())],
)
def test_the_only_znode_of_a_part_is_removed_for_replicas_that_are_gone(
    replica: str, is_gone: bool, left: set[str]
) -> None:
    drifted = Drifted()
    drifted.bench.move()
    path = f"{PATH}/replicas/{replica}/parts/{DAY}_5_5_0"
    create_cold(path.removeprefix(f"{PATH}/"), b"junk")(drifted.bench)

    found = left_by(
        drifted, remove_unreadable, FindingKind.UNREADABLE, {replica: (path,)}, replica_is_gone=is_gone
    )

    assert found == left
    assert (drifted.bench.cold.exists(path) is None) is not bool(left)


def test_without_a_table_in_hot_no_part_below_a_new_marker_is_removed() -> None:
    """Another cluster takes the path in cold right before the removal."""
    drifted = Drifted()
    drifted.bench.move()
    marker = drifted.bench.cold.get(PATH)[0]
    mark_of_other_cluster(drifted.bench)
    of_other, _stat = drifted.bench.cold.get(PATH)
    drifted.bench.cold.set(PATH, marker)
    drifted.bench.servers.drop_table()
    drifted.bench.before_copy(lambda: drifted.bench.cold.set(PATH, of_other))

    with pytest.raises(LeaseLost):
        drifted.repair(FindingKind.ANOTHER_REPLICA, RepairOptions(replica_is_gone=True))

    assert all(drifted.bench.cold.exists(drifted.bench.part(each)) is not None for each in ("r1", "r2"))
