# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of another tool are adopted as a whole, or not at all; copies that differ are written anew."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import UnlimitedPace
from support.memory.arrange import create, create_cold, delete
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC
from support.memory.two_clusters import hash_of

PARTS = [f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]
CHANGED = MINIMALISTIC[:-1] + b"\x23"


class OneAtOnce(UnlimitedPace):
    """Lets one part go at once."""

    parts_at_once = 1


@pytest.fixture
def drifted() -> Drifted:
    """Another tool has copied a partition, and ended long ago."""
    drifted = Drifted()
    drifted.disks.hashes[PART] = hash_of(drifted.bench, PART)
    for path in PARTS:
        create_cold(path, drifted.bench.hot.get(f"{PATH}/{path}")[0])(drifted.bench)
    drifted.bench.clock.sleep(7200)
    return drifted


def take_from_hot(drifted: Drifted) -> None:
    for path in PARTS:
        delete(path)(drifted.bench)
    create(f"block_numbers/{DAY}/State", b"COLD")(drifted.bench)
    drifted.bench.clock.sleep(7200)


@pytest.mark.parametrize("arrange", [lambda _drifted: None, take_from_hot])
def test_what_is_adopted_can_be_brought_back_and_moved(
    drifted: Drifted, arrange: Callable[[Drifted], None]
) -> None:
    arrange(drifted)
    assert drifted.repair(FindingKind.FOREIGN).left == {}
    drifted.bench.reheat()
    drifted.bench.clock.sleep(600)
    drifted.bench.reheat()
    assert set(drifted.kinds().values()) == {FindingKind.HOT}
    assert drifted.bench.move().moved.keys() == {DAY}


def test_while_the_other_tool_may_be_at_work(drifted: Drifted) -> None:
    create_cold(
        f"replicas/r1/parts/{OTHER}_0_0_0",
        drifted.bench.hot.get(drifted.bench.part("r1", f"{OTHER}_0_0_0"))[0],
    )(drifted.bench)
    left = drifted.repair(FindingKind.FOREIGN).left
    assert left.keys() == {DAY, OTHER}
    assert "another tool may still be at work" in left[DAY].reason
    assert drifted.repair(FindingKind.FOREIGN, RepairOptions(quiet=0.0)).left == {}


def test_a_shard_path_is_adopted_under_one_lease(drifted: Drifted) -> None:
    """Batches after the first would find nothing that is foreign any more."""
    path = f"replicas/r1/parts/{OTHER}_0_0_0"
    create_cold(path, drifted.bench.hot.get(f"{PATH}/{path}")[0])(drifted.bench)
    drifted.pace = OneAtOnce()
    report = drifted.repair(FindingKind.FOREIGN, RepairOptions(quiet=0.0))
    assert report.left == {}
    assert {row.partition for row in report.repaired} == {DAY, OTHER}


def differ_beside_what_is_cold(drifted: Drifted) -> None:
    drifted.bench.cold.set(f"{PATH}/{PARTS[0]}", CHANGED)
    delete(PARTS[1])(drifted.bench)


@pytest.mark.parametrize(
    ("arrange", "reason"),
    [
        (
            differ_beside_what_is_cold,
            f"copies of replica r1 differ from hot: {PART}",
        ),
        (
            lambda drifted: create_cold(f"replicas/r1/parts/{OTHER}_8_8_0", MINIMALISTIC)(drifted.bench),
            "for replica r1 its kind is dropped",
        ),
        (
            lambda drifted: create_cold(f"replicas/r9/parts/{PART}", MINIMALISTIC)(drifted.bench),
            "for replica r9 its kind is another_replica",
        ),
    ],
    ids=["differ", "dropped", "of another replica"],
)
def test_all_or_nothing(drifted: Drifted, arrange: Callable[[Drifted], object], reason: str) -> None:
    arrange(drifted)
    assert reason in drifted.repair(FindingKind.FOREIGN, RepairOptions(quiet=0.0)).left[DAY].reason
    assert drifted.done == []


def test_parts_without_a_shown_hash_are_not_adopted(drifted: Drifted) -> None:
    take_from_hot(drifted)
    drifted.disks.hashes.clear()
    left = drifted.repair(FindingKind.FOREIGN).left[DAY]
    assert f"replica r1 does not show the hash of {PART}" in left.reason
    assert "without_hashes" in left.remedy
    assert drifted.done == []
    assert drifted.repair(FindingKind.FOREIGN, RepairOptions(without_hashes=True)).left == {}


def test_copies_of_parts_in_hot_need_no_hash(drifted: Drifted) -> None:
    drifted.disks.hashes.clear()
    assert drifted.repair(FindingKind.FOREIGN).left == {}


def test_parts_with_another_hash_are_not_adopted(drifted: Drifted) -> None:
    take_from_hot(drifted)
    drifted.disks.hashes[PART] = "0" * 32
    for path in (f"replicas/r1/parts/{OTHER}_0_0_0",):
        create_cold(path, drifted.bench.hot.get(f"{PATH}/{path}")[0])(drifted.bench)
    options = RepairOptions(quiet=0.0, without_hashes=True)
    assert drifted.repair(FindingKind.FOREIGN, options).left.keys() == {OTHER}
    assert drifted.done == []


def test_all_obstacles_are_reported_before_the_wait(drifted: Drifted) -> None:
    """A check need not wait for the other tool to end."""
    create_cold(f"replicas/r9/parts/{PART}", MINIMALISTIC)(drifted.bench)
    create_cold(f"replicas/r1/parts/{OTHER}_8_8_0", MINIMALISTIC)(drifted.bench)
    drifted.bench.servers.stop("r2")
    left = drifted.repair(FindingKind.FOREIGN).left[DAY]
    reasons = [
        "replica r2 is not active",
        "for replica r9 its kind is another_replica",
        "its kind is dropped",
        "another tool may still be at work",
    ]
    places = [left.reason.find(each) for each in reasons]
    assert places == sorted(places)
    assert min(places) >= 0
    assert "nothing else" not in left.reason
    assert left.remedy.count("other kinds first") == 1
    assert "shorter quiet" in left.remedy


def test_nothing_but_the_wait_is_in_the_way(drifted: Drifted) -> None:
    left = drifted.repair(FindingKind.FOREIGN, RepairOptions(quiet=1e6)).left[DAY]
    assert "another tool may still be at work; nothing else is in the way" in left.reason
    assert drifted.done == []


def test_another_gate_keeps_them_foreign(drifted: Drifted) -> None:
    drifted.bench.servers.stop("r2")
    assert "replica r2 is not active" in drifted.repair(FindingKind.FOREIGN).left[DAY].reason


def test_copies_that_differ_are_written_anew(drifted: Drifted) -> None:
    drifted.repair(FindingKind.FOREIGN)
    drifted.bench.cold.set(f"{PATH}/{PARTS[0]}", CHANGED)
    assert drifted.kinds() == {"r1": FindingKind.COPIES_DIFFER, "r2": FindingKind.COPIES_LEFT}
    drifted.lines.clear()
    assert drifted.repair(FindingKind.COPIES_DIFFER).left == {}
    assert [(each.path, each.data) for each in drifted.saved] == [(f"{PATH}/{PARTS[0]}", CHANGED)]
    assert drifted.kinds() == {"r1": FindingKind.COPIES_LEFT, "r2": FindingKind.COPIES_LEFT}


def test_what_differs_beside_what_only_cold_has(drifted: Drifted) -> None:
    drifted.repair(FindingKind.FOREIGN)
    drifted.bench.cold.set(f"{PATH}/{PARTS[0]}", CHANGED)
    delete(PARTS[1])(drifted.bench)
    drifted.done.clear()
    left = drifted.repair(FindingKind.COPIES_DIFFER).left[DAY]
    assert "cold has parts that hot does not have" in left.reason
    assert drifted.done == []
