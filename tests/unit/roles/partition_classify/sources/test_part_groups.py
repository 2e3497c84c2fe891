# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts summed up into one row, and parts with separate rows."""

from __future__ import annotations

import pytest

from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.sources import part_groups as module
from partition_classify.sources.part_groups import GROUP_SCHEMA, PartGroup, part_groups


def row(
    replica: str, part: str, *, mtime: int = 5, znodes: int = 1, ensemble: str = "hot", state: str = ""
) -> InventoryRow:
    partition_id = part.split("_", maxsplit=1)[0]
    return InventoryRow("/ch/t", replica, part, partition_id, mtime, 100, znodes, ensemble, state)


def test_columns_are_the_fields_of_a_group() -> None:
    assert tuple(GROUP_SCHEMA.names) == PartGroup._fields


def test_parts_of_one_replica_and_partition_add_up() -> None:
    rows = [
        row("r1", "1_0_0_0", mtime=7, znodes=3),
        row("r1", "2_0_0_0"),
        row("r1", "1_10_10_0", mtime=6),
        row("r2", "1_0_0_0"),
        row("r1", "1_0_0_0", ensemble="cold"),
        row("r1", "1_0_0_0")._replace(shard_path="/ch/u"),
    ]
    assert list(part_groups(rows)) == [
        PartGroup("/ch/t", "1", "r1", "hot", False, None, 2, 7, 200, 4, 3 * 7 + 9),
        PartGroup("/ch/t", "2", "r1", "hot", False, None, 1, 5, 100, 1, 7),
        PartGroup("/ch/t", "1", "r2", "hot", False, None, 1, 5, 100, 1, 7),
        PartGroup("/ch/t", "1", "r1", "cold", False, None, 1, 5, 100, 1, 7),
        PartGroup("/ch/u", "1", "r1", "hot", False, None, 1, 5, 100, 1, 7),
    ]


def test_unreadable_parts_have_separate_rows() -> None:
    unread = row("r1", "1_1_1_0", mtime=0)._replace(state=None, bytes=0)
    place = InventoryRow("/ch/u", "", "", "", 0, 0, 0, "hot", None)
    rows = [row("r1", "1_0_0_0"), unread, row("r1", "1_2_2_0"), row("r2", "1_0_0_0", state="COLD")]
    assert sorted(part_groups([*rows, place]), key=str) == sorted(
        [
            PartGroup("/ch/t", "1", "r1", "hot", None, None, 1, 0, 0, 1, 7),
            PartGroup("/ch/t", "1", "r1", "hot", False, None, 2, 5, 200, 2, 14),
            PartGroup("/ch/t", "1", "r2", "hot", True, "1_0_0_0", 1, 5, 100, 1, 7),
            PartGroup("/ch/u", "", "", "hot", None, None, 1, 0, 0, 0, 0),
        ],
        key=str,
    )


def test_time_before_1970_is_kept() -> None:
    assert [group.mtime for group in part_groups([row("r1", "1_0_0_0", mtime=-2)])] == [-2]


def names(rows: list[InventoryRow], *, has_all: bool = True) -> list[tuple[str, str, str | None, int]]:
    groups = list(part_groups(rows, has_all=has_all))
    assert all(group.is_marked_cold for group in groups)
    return [(group.ensemble, group.partition_id, group.part, group.parts) for group in groups]


def test_parts_of_a_cold_partition_keep_their_names_where_it_has_some_in_hot() -> None:
    hot = [row("r1", f"1_{number}_{number}_0", state="COLD") for number in range(2)]
    cold = [each._replace(ensemble="cold", replica="r2") for each in hot]
    only_in_cold = [row("r2", f"2_{number}_0_0", ensemble="cold", state="COLD") for number in range(2)]
    assert names([*hot, *cold, *only_in_cold]) == [
        ("hot", "1", "1_0_0_0", 1),
        ("hot", "1", "1_1_1_0", 1),
        ("cold", "1", "1_0_0_0", 1),
        ("cold", "1", "1_1_1_0", 1),
        ("cold", "2", None, 2),
    ]
    # Of another shard path nothing is known yet.
    other = [each._replace(shard_path="/ch/u") for each in cold]
    assert names([*hot, *other])[2:] == [("cold", "1", None, 2)]


def test_cold_partition_keeps_part_names_if_another_slice_has_hot() -> None:
    cold = [row("r1", f"1_{number}_0_0", ensemble="cold", state="COLD") for number in range(2)]
    assert names(cold, has_all=False) == [("cold", "1", "1_0_0_0", 1), ("cold", "1", "1_1_0_0", 1)]


def test_group_is_marked_as_soon_as_one_of_its_parts_is() -> None:
    rows = [
        row("r1", f"1_{number}_0_0", ensemble="cold", state=state)
        for number, state in enumerate(["", "COLD", ""])
    ]
    assert [(group.is_marked_cold, group.parts) for group in part_groups(rows)] == [(True, 3)]


def test_groups_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_GROUPS", 2)
    rows = [row("r1", f"{partition}_0_0_0") for partition in (1, 2, 1, 3, 1)]
    assert [(group.partition_id, group.parts) for group in part_groups(rows)] == [
        ("1", 2),
        ("2", 1),
        ("3", 1),
        ("1", 1),
    ]
