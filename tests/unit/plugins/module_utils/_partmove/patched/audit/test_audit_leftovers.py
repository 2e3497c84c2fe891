# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an interrupted copy and a partition attached anew leave in cold, over ensembles in memory."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import AuditReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import create, create_cold, legacy_part
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.drifted import Drifted
from support.memory.synthetic import LEGACY

R1, R2 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def audit(bench: Bench) -> ShardAudit:
    disks = SimulatedDisks(bench.servers)
    return audit_shard(
        EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT), PATH
    )


def kinds(found: ShardAudit) -> dict[str, FindingKind]:
    return {row.replica: row.verdict.kind for row in found.rows if row.partition == DAY}


def attach_anew(bench: Bench) -> None:
    """Give a cold partition a part of another name in place of its own, which cold keeps for r2."""
    bench.move()
    bench.cold.delete(f"{PATH}/{R1}")
    for names in bench.servers.disk.values():
        names.discard(PART)
    bench.servers.insert(DAY)
    bench.servers.catch_up()


def test_a_server_may_be_restarted_beside_a_half_copied_part_that_hot_has_whole(bench: Bench) -> None:
    legacy_part("r1", LEGACY["checksums"])(bench)
    create_cold(R1)(bench)
    create_cold(f"{R1}/columns", LEGACY["columns"])(bench)
    found = audit(bench)
    assert kinds(found)["r1"] is FindingKind.UNREADABLE
    assert AuditReport([found]).unsafe() == []


def test_a_half_copied_part_that_hot_does_not_have_makes_a_restart_unsafe(bench: Bench) -> None:
    legacy_part("r1", LEGACY["checksums"])(bench)
    create_cold(R1)(bench)
    create_cold(f"{R1}/columns", LEGACY["columns"])(bench)
    bench.hot.delete(f"{PATH}/{R1}", recursive=True)
    assert [each.replica for each in AuditReport([audit(bench)]).unsafe()] == ["r1"]


def test_a_partition_attached_anew_is_not_half_cold_for_one_old_part_in_cold(bench: Bench) -> None:
    """Bringing it back needs the part on a disk, and a folder from elsewhere would double its rows."""
    attach_anew(bench)
    assert kinds(audit(bench)) == {"r1": FindingKind.GHOST, "r2": FindingKind.GHOST}


def test_the_repairs_of_a_partition_attached_anew_register_no_old_part() -> None:
    drifted = Drifted()
    attach_anew(drifted.bench)
    assert drifted.repair(FindingKind.GHOST).left == {}
    assert drifted.done == [f"cold: delete {PATH}/{R2}"]
    assert set(drifted.kinds().values()) == {FindingKind.HOT_MARKED_COLD}
    assert drifted.repair(FindingKind.HOT_MARKED_COLD).left == {}
    assert set(drifted.kinds().values()) == {FindingKind.HOT}


def test_a_cold_part_on_a_disk_beside_a_late_insert_is_half_cold(bench: Bench) -> None:
    bench.move()
    bench.servers.insert(DAY)
    bench.servers.catch_up()
    assert kinds(audit(bench)) == {"r1": FindingKind.HALF_COLD, "r2": FindingKind.HALF_COLD}


def test_state_alone_is_no_ghost(bench: Bench) -> None:
    create(f"block_numbers/{DAY}/State", b"COLD")(bench)
    assert kinds(audit(bench)) == {"r1": FindingKind.HOT_MARKED_COLD, "r2": FindingKind.HOT_MARKED_COLD}
