# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kept parts are deleted with consent alone, and no other folder is."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.kept_removal import KIND
from support.memory.twin_repairs import Killed, RepairBench
from support.memory.twins import DAY, Twins


def repaired() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.attached()._replace(clones={}))
    bench.twins.merge(Side.COLD)
    bench.twins.tables[Side.COLD].past.clear()
    assert not bench.repair().left
    bench.repairers.folders_of[Side.HOT]["20191201_9_9_0"] = ("of a person",)
    return bench


def test_kept_parts_stay_without_consent() -> None:
    bench = repaired()
    report = bench.remove_kept(are_unneeded=False)
    assert report.left[DAY].reason == "4 kept parts are still in the detached folders of all replicas"
    assert "kept_parts_are_unneeded: true" in report.left[DAY].remedy
    assert not report.is_changed
    assert len(bench.repairers.folders_of[Side.HOT]) == 3
    assert bench.kept


def test_kept_parts_are_deleted_with_consent_and_others_stay() -> None:
    bench = repaired()
    planned = bench.remove_kept(are_unneeded=True, check_mode=True)
    assert len(bench.repairers.folders_of[Side.HOT]) == 3
    report = bench.remove_kept(are_unneeded=True)
    assert report.statements == planned.statements
    assert len(report.statements) == 4
    assert list(bench.repairers.folders_of[Side.HOT]) == ["20191201_9_9_0"]
    assert not bench.kept
    assert not bench.remove_kept(are_unneeded=True).repaired
    assert KIND == "kept_parts"


def test_killed_run_is_continued() -> None:
    bench = repaired()

    def kill(_step: str) -> None:
        raise Killed

    bench.repairers.after = kill
    try:
        bench.remove_kept(are_unneeded=True)
    except Killed:
        bench.repairers.after = lambda _step: None
    assert bench.kept
    assert not bench.remove_kept(are_unneeded=True).left
    assert list(bench.repairers.folders_of[Side.HOT]) == ["20191201_9_9_0"]
    assert not bench.kept
