# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_restore on real ensembles, after part_repair: what it restores, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import Table, days
from support.servers.disk_answers import DiskAnswers, disk_answers

FIRST, SECOND, _THIRD = days(3)
REPLICAS = ("r1", "r2")


@pytest.fixture
def disks(table: Table) -> Iterator[DiskAnswers]:
    with disk_answers(REPLICAS) as answers:
        for names in answers.disk.values():
            names.update(name for each in table.options.partitions for name in table.part_names(each))
        yield answers


@pytest.fixture
def backup(pair: Pair, table: Table, disks: DiskAnswers, tmp_path: Path) -> dict[str, Any]:
    """The options for the backup of a repair that took FIRST for a ghost, while its disks were away."""
    assert pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)["moved"]
    for names in disks.disk.values():
        names.difference_update(table.part_names(FIRST))
    options = {"kind": "ghost", "disks_are_mounted": True, "backup": str(tmp_path), **disks.options}
    repaired = pair.call("part_repair", shard_path=table.path, **options)
    assert (repaired["msg"], table.state(FIRST)) == ("1 repaired, 0 left", b"HOT")
    return {"backup": repaired["backup"], **disks.options}


def copies(table: Table) -> list[str]:
    return [f"{table.parts_path(each)}/{name}" for each in REPLICAS for name in table.part_names(FIRST)]


def test_check_restore_and_restore_again(
    pair: Pair, table: Table, disks: DiskAnswers, backup: dict[str, Any]
) -> None:
    for names in disks.disk.values():
        names.update(table.part_names(FIRST))
    before = pair.trees_below(table.path)
    checked = pair.call("part_restore", check=True, **backup)
    assert pair.trees_below(table.path) == before

    done = pair.call("part_restore", **backup)
    assert {**done, "invocation": None} == {**checked, "invocation": None}
    assert done["created"] == [f"cold: {path}" for path in copies(table)]
    assert done["set_back"] == [f"hot: {table.state_path(FIRST)}"]
    assert table.state(FIRST) == b"COLD"
    audit = pair.call("part_audit_info", shard_paths=[table.path], **disks.options)
    assert (audit["drifted"], audit["kinds"]["cold"]) == (False, 2)

    again = pair.call("part_restore", **backup)
    assert (again["changed"], {row["action"] for row in again["rows"]}) == (False, {"unchanged"})


@pytest.mark.parametrize("is_inserted", [False, True])
def test_what_would_be_a_finding_or_changed_since_is_left(
    pair: Pair, table: Table, disks: DiskAnswers, backup: dict[str, Any], is_inserted: bool
) -> None:
    if is_inserted:
        for replica, names in disks.disk.items():
            pair.hot.create(f"{table.parts_path(replica)}/{FIRST}_8_8_0", MINIMALISTIC)
            names.add(f"{FIRST}_8_8_0")
    before = pair.trees_below(table.path)
    done = pair.call("part_restore", **backup)
    assert pair.trees_below(table.path) == before
    assert (done["changed"], {row["action"] for row in done["rows"]}) == (False, {"left"})
    assert done["msg"].startswith("0 restored: 0 created, 0 set back; 0 unchanged, 3 left: ")
    assert all(row["reason"] and row["remedy"] for row in done["rows"])
