# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts in detached/ are attached only if the twin certainly lacks them, and detached again otherwise."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    BlockRange,
    LedgerEntry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import SetAside
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.by_attach import (
    missing_folders,
)
from support.memory.ledgers import entered, entries_of
from support.memory.twin_audits import audited
from support.memory.twin_repairs import RepairBench
from support.memory.twins import DAY, REPLICAS, Twins, name_of


def set_aside(*lost: int, prefix: str = "") -> RepairBench:
    """A twin of three parts, of which these are in detached/ of every replica."""
    bench = RepairBench(Twins(("a",), ("b", "c"), ("d",), at=Side.COLD))
    entered(bench, bench.repairers)
    folders = []
    for block in lost:
        part = name_of((block, block, 0))
        bench.repairers.aside[part] = bench.twins.tables[Side.COLD].parts.pop((block, block, 0))
        folders.append(SetAside(f"{prefix}{part}", part))
    bench.repairers.folders = {each: {DAY: list(folders)} for each in REPLICAS}
    return bench


def test_parts_that_the_twin_lacks_are_attached() -> None:
    bench = set_aside(1, 2)
    planned = bench.repair(TwinKind.SET_ASIDE, check_mode=True)
    assert not bench.repairers.statements
    done = bench.repair(TwinKind.SET_ASIDE)
    assert not done.left
    assert done.repaired == planned.repaired
    assert done.statements == planned.statements
    syncs = ["SYNC r1", "SYNC r2"]
    assert bench.repairers.statements == [*syncs, "attach part", "attach part", *syncs]
    assert bench.twins.rows == bench.twins.inserted
    assert [row.verdict.kind for row in audited(bench, bench.repairers).rows] == [TwinKind.COLD]
    # The entry has the new numbers, so that a merge is no loss.
    bench.twins.merge(Side.COLD)
    assert [row.verdict.kind for row in audited(bench, bench.repairers).rows] == [TwinKind.COLD]


def test_killed_repair_attaches_the_other_parts() -> None:
    bench = set_aside(1, 2)
    first = name_of((1, 1, 0))
    bench.twins.tables[Side.COLD].add(bench.repairers.aside.pop(first))
    bench.repairers.folders = {
        each: {DAY: [one for one in of_replica[DAY] if one.part != first]}
        for each, of_replica in bench.repairers.folders.items()
    }
    done = bench.repair(TwinKind.SET_ASIDE)
    assert list(done.repaired) == [DAY], done.left
    assert bench.twins.rows == bench.twins.inserted


def test_folder_with_a_reason_is_named_with_the_command() -> None:
    bench = set_aside(1, prefix="ignored_")
    left = bench.repair(TwinKind.SET_ASIDE).left[DAY]
    part = name_of((1, 1, 0))
    assert "1 folders in detached/ have a reason in front" in left.reason
    assert f"run: mv ignored_{part} {part}. Then run twin_repair again" in left.remedy
    assert "database = 'db' AND name = 'hits_cold'" in left.remedy
    assert not bench.repairers.statements


def left_after_an_attach(bench: RepairBench) -> str:
    """Repair, and return why the partition is left; the twin must have what it had."""
    before = dict(bench.twins.tables[Side.COLD].parts)
    bench.repairers.is_checked = False
    report = bench.repair(TwinKind.SET_ASIDE)
    assert not report.repaired
    assert "attach part" in bench.repairers.statements
    assert bench.repairers.statements[-1] == "detach cold"
    assert bench.twins.tables[Side.COLD].parts == before
    return report.left[DAY].reason.partition(";")[0]


def test_rows_that_the_table_has_are_detached_again() -> None:
    bench = set_aside(1)
    bench.twins.tables[Side.HOT].add(("a",))
    assert left_after_an_attach(bench) == "the table has 1 rows of the parts in detached/"


def test_more_rows_than_the_ledger_lists_are_detached_again() -> None:
    bench = set_aside(1)
    bench.repairers.aside[name_of((1, 1, 0))] = ("a", "p", "q")
    assert left_after_an_attach(bench) == "the twin would have 6 rows, and the ledger lists 4"


def test_rows_that_the_twin_has_are_detached_again() -> None:
    bench = set_aside(1)
    bench.twins.tables[Side.COLD].parts.pop((2, 2, 0))
    bench.twins.tables[Side.COLD].add(("a",))
    assert left_after_an_attach(bench) == "the twin has 1 rows of the parts in detached/ already"


def test_rows_that_are_still_missing_leave_the_partition() -> None:
    bench = set_aside(1)
    bench.twins.tables[Side.COLD].parts.pop((2, 2, 0))
    bench.repairers.is_checked = False
    before = entries_of(bench)
    report = bench.repair(TwinKind.SET_ASIDE)
    assert report.left[DAY].reason == "1 parts were attached; the twin has 2 rows of 4"
    assert bench.repairers.statements.count("attach part") == 1
    assert "detach cold" not in bench.repairers.statements
    assert entries_of(bench) == before


def test_recorded_move_is_finished_first() -> None:
    bench = set_aside(1)
    bench.twins.insert(Side.HOT, ("e",))
    bench.note(bench.record())
    report = bench.repair(TwinKind.SET_ASIDE)
    assert report.left[DAY].reason == "its move is recorded and not finished"
    assert not bench.repairers.statements


ENTRY = LedgerEntry(9, (BlockRange(0, 4), BlockRange(7, 8)), 0, "", "", 9, 0)


def folder(name: str, reason: str = "") -> SetAside:
    return SetAside(f"{reason}p_{name}", f"p_{name}")


@pytest.mark.parametrize(
    ("active", "folders", "expected"),
    [
        (["0_4_1"], [folder("7_8_1")], {"p_7_8_1": "p_7_8_1"}),
        (["0_4_1"], [folder("7_7_0"), folder("7_8_1"), folder("8_8_0")], {"p_7_8_1": "p_7_8_1"}),
        (["0_4_1"], [folder("8_9_1"), folder("5_5_0"), folder("3_3_0")], {}),
        (["0_2_1"], [folder("2_4_1"), folder("3_3_0")], {"p_3_3_0": "p_3_3_0"}),
        ([], [folder("7_7_0", "ignored_"), folder("7_7_0")], {"p_7_7_0": "p_7_7_0"}),
        ([], [folder("7_7_0", "ignored_")], {"p_7_7_0": "ignored_p_7_7_0"}),
        (["0_4_1", "7_8_1"], [folder("7_8_1")], {}),
    ],
)
def test_folders_with_missing_blocks_alone_count(
    active: list[str], folders: list[SetAside], expected: dict[str, str]
) -> None:
    names = parse_names([f"p_{each}" for each in active], "p", "a test")
    found = missing_folders(ENTRY, names, {"r1": folders}, "p")
    assert {name.text: by_replica["r1"] for name, by_replica in found.items()} == expected


def test_entry_is_not_changed_by_a_repair_that_is_left() -> None:
    bench = set_aside(1, prefix="ignored_")
    before = entries_of(bench)
    bench.repair(TwinKind.SET_ASIDE)
    assert entries_of(bench) == before
