# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair that comes late: what became another kind before its lease is left alone, and named."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair import run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES
from support.memory.arrange import create, create_cold, mark_of_other_cluster, write
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS
from support.memory.meanwhile import FIRST_UNDER_LEASE, before_answer, drifted_by, tables
from support.memory.synthetic import MINIMALISTIC

EVERY_OPTION = RepairOptions(cold_is_lost=True, replica_is_gone=True, disks_are_mounted=True, quiet=0.0)
STATE = f"block_numbers/{DAY}/State"


def pretend(monkeypatch: pytest.MonkeyPatch, kind: FindingKind) -> None:
    """Let the look without the lease find the kind."""
    rows = tuple(Row(PATH, DAY, replica, Verdict(kind, (PART,))) for replica in ("r1", "r2"))
    audits = iter([ShardAudit(PATH, rows)])

    def look(*arguments: Any) -> ShardAudit:
        found = next(audits, None)
        return audit_shard(*arguments) if found is None else found

    monkeypatch.setattr(run, "audit_shard", look)


@pytest.mark.parametrize("kind", REMEDIES, ids=[each.value for each in REMEDIES])
def test_a_move_that_ends_before_the_lease_keeps_its_partition(
    kind: FindingKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    drifted = drifted_by(PART)
    pretend(monkeypatch, kind)

    def another_run_moves() -> None:
        assert drifted.bench.beside().move(DAY).moved.keys() == {DAY}
        after.update(tables(drifted))

    after: dict[str, bytes] = {}
    drifted.bench.before_lease(another_run_moves)
    report = drifted.repair(kind, EVERY_OPTION)
    assert report.left[DAY].reason == f"it is cold by now, no longer {kind.value}"
    assert report.left[DAY].remedy
    assert report.repaired == []
    assert drifted.done == []
    assert tables(drifted) == after
    assert set(drifted.kinds().values()) == {FindingKind.COLD}


@pytest.mark.parametrize("name", DRIFTS)
def test_what_another_repair_did_before_the_lease_stays(name: str) -> None:
    """Without any pretence: the look finds the kind, and another process repairs it and goes on to cold."""
    drift = DRIFTS[name]
    drifted = drift.made()
    after: dict[str, bytes] = {}

    def another_process() -> None:
        beside = Drifted()
        beside.bench, beside.disks = drifted.bench.beside(), drifted.disks
        beside.bench.servers = drifted.bench.servers
        beside.repair(drift.kind)
        if drift.after is not FindingKind.EMPTY:
            beside.bench.clock.sleep(600)
            beside.bench.reheat(DAY)
            assert beside.bench.move(DAY).moved.keys() == {DAY}
        after.update(tables(drifted))

    drifted.bench.before_lease(another_process)
    report = drifted.repair(drift.kind)
    kinds = set(drifted.kinds().values())
    assert kinds <= {FindingKind.COLD, FindingKind.EMPTY}
    assert report.left[DAY].reason == f"it is {kinds.pop().value} by now, no longer {drift.kind.value}"
    assert report.repaired == []
    assert drifted.done == []
    assert tables(drifted) == after


def test_what_vanished_is_not_reported_as_repaired() -> None:
    drifted = drifted_by(PART)
    stray = f"replicas/r9/parts/{DAY}_7_7_0"
    create_cold(stray, MINIMALISTIC)(drifted.bench)
    create_cold("replicas/r9/parts/20200101_7_7_0", MINIMALISTIC)(drifted.bench)
    drifted.bench.before_lease(lambda: drifted.bench.cold.delete(f"{PATH}/replicas/r9", recursive=True))
    report = drifted.repair(FindingKind.ANOTHER_REPLICA, EVERY_OPTION)
    assert report.repaired == []
    assert {each: left.reason for each, left in report.left.items()} == {
        DAY: "it is hot by now, no longer another_replica",
        "20200101": "nothing of it is registered or on a disk by now",
    }


def test_a_table_that_vanished_is_left() -> None:
    drifted = drifted_by(PART, lambda drifted: drifted.bench.move())
    drifted.bench.servers.drop_table()

    def forget() -> None:
        drifted.bench.cold.delete(PATH, recursive=True)

    drifted.bench.before_lease(forget)
    report = drifted.repair(FindingKind.ANOTHER_REPLICA, EVERY_OPTION)
    assert report.repaired == []
    assert report.left[DAY].reason == "nothing of it is registered or on a disk by now"


def test_only_the_replicas_of_the_kind_count_as_repaired() -> None:
    """A replica that another process has repaired meanwhile is none of the work of this repair."""
    drifted = drifted_by(PART)
    for replica in ("r8", "r9"):
        create_cold(f"replicas/{replica}/parts/{PART}", MINIMALISTIC)(drifted.bench)
    drifted.bench.before_lease(lambda: drifted.bench.cold.delete(f"{PATH}/replicas/r8", recursive=True))
    report = drifted.repair(FindingKind.ANOTHER_REPLICA)
    assert [row.replica for row in report.repaired] == ["r9"]


@pytest.mark.parametrize("name", DRIFTS)
def test_what_another_cluster_owns_by_now_is_left_whatever_its_kind(name: str) -> None:
    drift = DRIFTS[name]
    drifted = drift.made()
    if drifted.bench.cold.exists(PATH) is None:
        drifted.bench.move(OTHER)
    after: dict[str, bytes] = {}

    def taken() -> None:
        mark_of_other_cluster(drifted.bench)
        after.update(tables(drifted))

    drifted.bench.before_lease(taken)
    report = drifted.repair(drift.kind, EVERY_OPTION)
    assert DAY in report.left
    for left in report.left.values():
        assert "another cluster" in left.reason
        assert "cold_owner" in left.remedy
    assert report.repaired == []
    assert drifted.done == []
    assert tables(drifted) == after


def test_a_server_that_is_silent_by_now_keeps_its_partition() -> None:
    """Also if another replica still has the kind, and moves would go on."""
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))
    before_answer(drifted, FIRST_UNDER_LEASE, lambda: drifted.disks.silent.add("r2"))
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert report.left.keys() == {DAY}
    assert drifted.done == []
    assert drifted.bench.hot.get(f"{PATH}/{STATE}")[0] == b"COLD"


def test_the_worst_kind_by_now_and_its_remedy_are_named() -> None:
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))

    def change() -> None:
        write(STATE, b"HOT")(drifted.bench)
        create_cold(f"replicas/r9/parts/{PART}", MINIMALISTIC)(drifted.bench)

    drifted.bench.before_lease(change)
    left = drifted.repair(FindingKind.HOT_MARKED_COLD).left[DAY]
    assert left.reason == "it is another_replica by now, no longer hot_marked_cold"
    assert left.remedy == FindingKind.ANOTHER_REPLICA.remedy
