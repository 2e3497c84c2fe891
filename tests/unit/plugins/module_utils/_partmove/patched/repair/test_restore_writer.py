# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restores write cold first and State last, conditional on what was read, and continue when run again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    DELETED,
    Left,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.left import read_left
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Multi,
    SetData,
)
from support.memory.arrange import create_cold, mark_of_other_cluster
from support.memory.bench import DAY, LOCK, PART, PATH
from support.memory.restores import ALL, COLD_COPIES, COPIES, STATE, Restores


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


def test_cold_comes_before_state(lost: Restores) -> None:
    order: list[str] = []

    def note(multi: Multi) -> None:
        order.extend(
            op.path for op in multi if isinstance(op, (Create, SetData)) and op.path.startswith(PATH)
        )

    lost.bench.hot_store.before = lost.bench.cold_store.before = note
    lost.restore()
    assert order == [*COPIES, STATE]


def test_a_table_that_changes_under_the_lease_keeps_its_state(lost: Restores) -> None:
    """The multi to hot carries the fence of the read."""
    lost.before_state(lambda: lost.bench.hot.set(f"{PATH}/log", b""))
    done = lost.restore()
    assert (done["created"], done["left"]) == (COLD_COPIES, [f"hot: {STATE}"])
    assert lost.bench.hot.get(STATE)[0] == b"HOT"
    assert lost.restore() == {"set_back": [f"hot: {STATE}"], "unchanged": COLD_COPIES}


def test_a_state_that_changes_under_the_lease_is_not_overwritten(lost: Restores) -> None:
    lost.before_state(lambda: lost.bench.hot.set(STATE, b"MOVING"))
    assert lost.restore()["left"] == [f"hot: {STATE}"]
    assert lost.bench.hot.get(STATE)[0] == b"MOVING"


def test_a_copy_that_appears_under_the_lease_is_not_overwritten(lost: Restores) -> None:
    lost.before_cold(lambda: create_cold(f"replicas/r1/parts/{PART}", b"new")(lost.bench))
    assert lost.restore() == {"left": ALL}
    assert lost.bench.hot.get(STATE)[0] == b"HOT"


def test_a_marker_that_changes_under_the_lease_ends_the_restore(lost: Restores) -> None:
    lost.before_cold(lambda: mark_of_other_cluster(lost.bench))
    with pytest.raises(LeaseLost):
        lost.restore()
    assert lost.bench.cold.exists(COPIES[0]) is None
    assert lost.bench.hot.get(STATE)[0] == b"HOT"


def lose_lease(lost: Restores) -> None:
    lost.bench.hot.delete(LOCK)


def test_a_lost_lease_between_the_ensembles_then_again(lost: Restores) -> None:
    lost.before_state(lambda: lose_lease(lost))
    with pytest.raises(LeaseLost):
        lost.restore()
    assert lost.bench.hot.get(STATE)[0] == b"HOT"
    assert lost.restore() == {"set_back": [f"hot: {STATE}"], "unchanged": COLD_COPIES}
    assert set(lost.kinds().values()) == {FindingKind.COLD}


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("before", ["cold", "state", "end"])
def test_a_killed_restore_is_continued(lost: Restores, before: str) -> None:
    def kill() -> None:
        raise Killed

    {"cold": lost.before_cold, "state": lost.before_state, "end": lost.after_state}[before](kill)
    with pytest.raises(Killed):
        lost.restore()
    lost.restart()
    assert "left" not in lost.restore()
    assert set(lost.kinds().values()) == {FindingKind.COLD}
    assert lost.restore() == {"unchanged": ALL}


def test_an_answer_that_is_lost_then_again(lost: Restores) -> None:
    lost.bench.cold_store.loses = lambda multi: any(op.path in COPIES for op in multi)
    assert lost.restore() == {"left": ALL}
    lost.restart()
    assert lost.restore() == {"created": COLD_COPIES, "set_back": [f"hot: {STATE}"]}


def with_part_in_hot() -> Restores:
    """A hot partition whose part znode of r1 a repair deleted in hot, as no repair does."""
    restores = Restores()
    write_state(restores)
    path = COPIES[0]
    data, stat = restores.bench.hot.get(path)
    restores.bench.hot.delete(path)
    restores.lines.append(SavedZnode("hot", path, data, stat.version))
    return restores


def write_state(restores: Restores) -> None:
    restores.bench.hot.create(STATE, b"HOT")


def before_part(restores: Restores, act: Callable[[], object]) -> None:
    left = [act]
    restores.bench.hot_store.before = lambda multi: (
        left.pop()() if left and any(op.path == COPIES[0] for op in multi) else None
    )


def test_a_part_in_hot_is_restored() -> None:
    assert with_part_in_hot().restore() == {"created": [f"hot: {COPIES[0]}"]}


def test_a_part_in_hot_carries_the_fence() -> None:
    restores = with_part_in_hot()
    before_part(restores, lambda: restores.bench.hot.set(f"{PATH}/log", b""))
    assert restores.restore() == {"left": [f"hot: {COPIES[0]}"]}
    assert restores.bench.hot.exists(COPIES[0]) is None


def test_a_part_in_hot_is_not_registered_once_state_changed() -> None:
    restores = with_part_in_hot()
    before_part(restores, lambda: restores.bench.hot.set(STATE, b"COLD"))
    assert restores.restore() == {"left": [f"hot: {COPIES[0]}"]}
    assert restores.bench.hot.exists(COPIES[0]) is None


def test_parts_in_hot_come_before_state() -> None:
    """State says HOT no sooner than hot has the part."""
    restores = with_part_in_hot()
    bench, layout = restores.bench, ShardLayout(PATH)
    bench.hot.set(STATE, b"COLD")
    restores.lines = [each._replace(left=DELETED) for each in restores.saved]
    restores.lines.append(SavedZnode("hot", STATE, b"HOT", 0, Left(b"COLD", 1)))
    restores.lines += read_left(bench.hot_store, bench.cold_store, layout, [DAY])
    order: list[str] = []
    bench.hot_store.before = lambda multi: order.extend(
        op.path for op in multi if isinstance(op, (Create, SetData)) and op.path.startswith(PATH)
    )
    assert restores.restore() == {"created": [f"hot: {COPIES[0]}"], "set_back": [f"hot: {STATE}"]}
    assert order == [COPIES[0], STATE]


def test_a_part_in_hot_of_a_partition_without_state() -> None:
    restores = with_part_in_hot()
    restores.bench.hot.delete(STATE)
    assert restores.restore() == {"created": [f"hot: {COPIES[0]}"]}


def test_folders_that_are_gone_in_cold_are_created(lost: Restores) -> None:
    lost.bench.cold.delete(f"{PATH}/replicas", recursive=True)
    assert lost.restore() == {"created": COLD_COPIES, "set_back": [f"hot: {STATE}"]}
