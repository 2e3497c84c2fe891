# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing is written over what changed since the repair."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Left,
    SavedZnode,
    WrittenZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_rows import (
    partition_of,
)
from support.memory.arrange import create_cold
from support.memory.bench import DAY, PART, PATH
from support.memory.restores import ALL, COLD_COPIES, COPIES, STATE, UNKNOWN_HASH, Restores, copies_differ
from support.memory.synthetic import MINIMALISTIC


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


def test_copies_that_differed_do_not_become_the_only_registration() -> None:
    restores = copies_differ()
    assert restores.bench.move().moved.keys() == {DAY}
    before = restores.trees()
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}
    assert restores.trees() == before
    assert "State of partition" in restores.reasons[0]


def test_a_partition_that_was_inserted_again_is_left(lost: Restores) -> None:
    lost.disks_are_gone()
    lost.insert("r1", "r2")
    before = lost.trees()
    assert lost.restore() == {"left": ALL}
    assert "other parts in hot" in lost.reasons[0]
    assert lost.trees() == before


def test_a_partition_whose_names_changed_in_cold_is_left(lost: Restores) -> None:
    create_cold(f"replicas/r2/parts/{DAY}_7_7_0", MINIMALISTIC)(lost.bench)
    assert lost.restore() == {"left": ALL}
    assert "other parts in cold" in lost.reasons[0]


def test_a_state_that_was_written_since_is_left(lost: Restores) -> None:
    """Its data is as the repair left it, and its version is not."""
    lost.bench.hot.set(STATE, b"HOT")
    assert lost.restore() == {"left": ALL}


def test_a_znode_that_was_written_since_is_left(lost: Restores) -> None:
    create_cold(f"replicas/r1/parts/{PART}", UNKNOWN_HASH)(lost.bench)
    assert lost.restore() == {"left": ALL}
    assert lost.bench.cold.get(COPIES[0])[0] == UNKNOWN_HASH


def test_a_copy_with_other_data_of_the_version_that_the_repair_left_is_not_set_back() -> None:
    restores = two_copies()
    restores.bench.cold.delete(COPIES[0])
    restores.bench.cold.create(COPIES[0], b"of somebody else")
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}
    assert restores.bench.cold.get(COPIES[0])[0] == b"of somebody else"


def test_a_znode_that_the_repair_created_and_others_wrote_leaves_the_partition() -> None:
    restores = two_copies()
    restores.lines.insert(0, WrittenZnode("cold", COPIES[1], Left(b"old", 0)))
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


def test_after_a_killed_repair_missing_znodes_are_created() -> None:
    lost = Restores.of_lost_disks(killed=True)
    assert lost.restore() == {"created": COLD_COPIES, "unchanged": [f"hot: {STATE}"]}
    assert set(lost.kinds().values()) == {FindingKind.COLD}


def test_after_a_killed_repair_nothing_is_set_back(lost: Restores) -> None:
    lost.forget_partitions()
    assert lost.restore() == {"left": ALL}
    assert "does not say how the repair left the partition" in lost.reasons[0]


def test_of_an_older_file_missing_znodes_are_created() -> None:
    lost = Restores.of_lost_disks(killed=True)
    lost.as_first_version()
    assert lost.restore() == {"created": COLD_COPIES, "unchanged": [f"hot: {STATE}"]}


def test_of_an_older_file_nothing_is_set_back(lost: Restores) -> None:
    lost.as_first_version()
    before = lost.trees()
    assert lost.restore() == {"left": ALL}
    assert lost.trees() == before


def test_a_partition_that_was_moved_and_brought_back_is_left() -> None:
    """State has the data that the repair left, and the parts are where the repair left them."""
    restores = two_copies()
    restores.bench.hot.set(STATE, b"COLD")
    restores.bench.hot.set(STATE, b"HOT")
    assert restores.restore()["left"] == [f"cold: {COPIES[0]}"]
    assert "State of partition" in restores.reasons[0]


def two_copies() -> Restores:
    """A hot partition with copies in cold of which one was wrong, repaired; hot has the wrong one by now.

    So the restore would end in no finding.
    """
    restores = copies_differ()
    restores.bench.hot.set(COPIES[0], UNKNOWN_HASH)
    restores.make_copies_needed()
    return restores


def test_the_case_itself_is_restored() -> None:
    assert two_copies().restore() == {"set_back": [f"cold: {COPIES[0]}"]}


def test_a_copy_that_was_written_again_with_the_same_data_is_left() -> None:
    restores = two_copies()
    restores.bench.cold.set(COPIES[0], restores.bench.cold.get(COPIES[0])[0])
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


def test_a_copy_that_others_deleted_is_not_created_again() -> None:
    """The repair was killed, and it had changed the copy, not deleted it."""
    restores = two_copies()
    restores.bench.cold.delete(COPIES[0])
    restores.lines = [SavedZnode("cold", COPIES[0], UNKNOWN_HASH, 0, Left(MINIMALISTIC, 1))]
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


def test_a_partition_whose_copies_went_is_left() -> None:
    restores = two_copies()
    restores.bench.cold.delete(COPIES[1])
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


def test_a_partition_that_was_inserted_again_beside_its_parts_is_left() -> None:
    restores = two_copies()
    restores.insert("r1", "r2")
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


def test_what_a_killed_repair_did_not_create_any_more_is_no_change() -> None:
    restores = two_copies()
    restores.lines.insert(0, WrittenZnode("cold", f"{COPIES[1]}/checksums", Left(b"new", 0)))
    assert restores.restore() == {"set_back": [f"cold: {COPIES[0]}"]}


def test_a_copy_that_the_repair_wrote_anew_and_others_deleted_is_not_created_again() -> None:
    restores = two_copies()
    restores.bench.cold.delete(COPIES[0])
    assert restores.restore() == {"left": [f"cold: {COPIES[0]}"]}


@pytest.mark.parametrize(
    ("ensemble", "path", "partition_id"),
    [
        ("hot", f"block_numbers/{DAY}/State", DAY),
        ("cold", f"block_numbers/{DAY}/State", None),
        ("hot", f"block_numbers/{DAY}/block-0000000001", None),
        ("hot", f"block_numbers/{DAY}", None),
        ("cold", f"replicas/r1/parts/{PART}", DAY),
        ("hot", f"replicas/r1/parts/{PART}/checksums", DAY),
        ("cold", "replicas/r1/parts/none", None),
        ("cold", "replicas/r1/parts", None),
        ("cold", f"replicas/r1/queue/parts/{PART}", None),
        ("hot", f"log/r1/parts/{PART}", None),
    ],
)
def test_rows_of_partitions_are_parts_and_states(ensemble: str, path: str, partition_id: str | None) -> None:
    assert partition_of(ShardLayout(PATH), ensemble, f"{PATH}/{path}", 1) == partition_id
