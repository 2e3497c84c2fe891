# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A backup is restored for its own table and ensembles, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    LeaseLost,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from support.memory.arrange import create, mark_of_other_cluster
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH
from support.memory.restores import ALL, COLD_COPIES, COPIES, STATE, Restores


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


def test_a_partition_that_is_needed_again_is_as_it_was(lost: Restores) -> None:
    assert set(lost.kinds().values()) == {FindingKind.UNREGISTERED}
    assert lost.restore() == {"created": COLD_COPIES, "set_back": [f"hot: {STATE}"]}
    assert set(lost.kinds().values()) == {FindingKind.COLD}
    assert lost.restore() == {"unchanged": ALL}


def test_a_table_that_was_created_again(lost: Restores) -> None:
    with pytest.raises(PartMoveError, match="was created anew since"):
        lost.restore(czxid=1)
    with pytest.raises(PartMoveError, match="was created anew since"):
        lost.restore(ctime=1)
    with pytest.raises(PartMoveError, match="was created anew since"):
        lost.restore(czxid=0)


@pytest.mark.parametrize("ids", [{"hot_id": "0" * 32}, {"cold_id": "0" * 32}])
def test_another_ensemble(lost: Restores, ids: dict[str, Any]) -> None:
    before = lost.trees()
    with pytest.raises(PartMoveError, match="is of the (hot|cold) ensemble"):
        lost.restore(**ids)
    assert lost.trees() == before


def test_a_table_that_is_gone(lost: Restores) -> None:
    lost.bench.hot.delete(PATH, recursive=True)
    with pytest.raises(NoSuchTable):
        lost.restore()


def test_a_table_in_cold_of_another_cluster(lost: Restores) -> None:
    mark_of_other_cluster(lost.bench)
    with pytest.raises(BindingConflict):
        lost.restore()
    assert lost.bench.cold.exists(COPIES[0]) is None


def test_without_a_marker_nothing_is_created_in_cold(lost: Restores) -> None:
    lost.bench.cold.set(PATH, b"")
    lost.bench.hot.delete("/partmove/cold", recursive=True)
    assert lost.restore() == {"left": ALL}
    assert lost.bench.cold.exists(COPIES[0]) is None


def test_the_marker_and_the_record_are_never_written(lost: Restores) -> None:
    known = "/partmove/cold/%2Fclickhouse%2Ftables%2F01%2Fhits"
    marker = lost.bench.cold.get(PATH)[0]
    lost.lines += [SavedZnode("cold", PATH, b"other", 0), SavedZnode("hot", known, b"other", 0)]
    assert lost.restore()["left"] == [f"cold: {PATH}", f"hot: {known}"]
    assert lost.bench.cold.get(PATH)[0] == marker
    assert lost.bench.hot.get(known)[0] != b"other"


def test_what_is_no_part_is_left(lost: Restores) -> None:
    path = f"{PATH}/replicas/r1/parts/no-part"
    lost.lines.append(SavedZnode("cold", path, b"", 0))
    assert lost.restore()["left"] == [f"cold: {path}"]
    assert lost.bench.cold.exists(path) is None


def test_paths_of_others_are_refused(lost: Restores) -> None:
    lost.lines.append(SavedZnode("hot", "/elsewhere", b"", 0))
    with pytest.raises(PartMoveError, match="which is not below"):
        lost.restore()
    assert lost.bench.cold.exists(COPIES[0]) is None


def test_a_closed_gate_leaves_the_partition(lost: Restores) -> None:
    create(f"zero_copy_s3/shared/{PART}")(lost.bench)
    assert lost.restore() == {"left": ALL}


def test_one_partition_is_restored_and_the_other_left() -> None:
    lost = Restores.of_lost_disks(partitions=(DAY, OTHER))
    lost.bench.hot.set(f"{PATH}/block_numbers/{OTHER}/State", b"HOT")
    done = lost.restore()
    assert done["created"] == COLD_COPIES
    assert len(done["left"]) == len(ALL)
    assert set(lost.kinds(DAY).values()) == {FindingKind.COLD}
    assert set(lost.kinds(OTHER).values()) == {FindingKind.UNREGISTERED}


def test_the_first_of_several_changes_counts(lost: Restores) -> None:
    lost.lines.append(SavedZnode("hot", STATE, b"later", 9))
    lost.restore()
    assert lost.bench.hot.get(STATE)[0] == b"COLD"


@pytest.mark.parametrize(
    "arrange",
    [
        lambda _lost: None,
        lambda lost: lost.bench.hot.set(STATE, b"HOT"),
        lambda lost: lost.forget_partitions(),
        lambda lost: lost.disks_are_gone(),
    ],
)
def test_check_mode_says_the_same_and_writes_nothing(
    lost: Restores, arrange: Callable[[Restores], object]
) -> None:
    arrange(lost)
    before = lost.trees()
    checked = lost.restore(check_mode=True)
    assert lost.trees() == before
    assert lost.restore() == checked


def test_a_header_without_ids_is_of_any_ensemble_with_the_table(lost: Restores) -> None:
    assert lost.restore(ctime=0, hot_id="", cold_id="").keys() == {"created", "set_back"}


def test_where_nothing_is_to_be_written_no_server_is_asked(lost: Restores) -> None:
    lost.restore()
    lost.disks.silent.update(("r1", "r2"))
    create(f"zero_copy_s3/shared/{PART}")(lost.bench)
    assert lost.restore() == {"unchanged": ALL}


def test_nothing_is_said_about_what_was_read_without_the_lease(lost: Restores) -> None:
    lost.disks_are_gone()
    lost.bench.cold_store.listing = lambda _paths: expire(lost)
    with pytest.raises(LeaseLost):
        lost.restore()
    assert lost.report.rows == []


def expire(lost: Restores) -> None:
    if lost.bench.hot.exists(LOCK) is not None:
        lost.bench.hot.delete(LOCK)
