# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that said nothing are reported; copies that the next run removes raise no alarm."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import (
    SECONDS_COPIES_MAY_STAY,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import create_cold
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.tables import TableOptions, build_table

NEW = "/clickhouse/tables/01/new"
"""A table without a registered partition."""
COPIES = tuple(f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def audit(bench: Bench, *silent: str, path: str = PATH) -> ShardAudit:
    disks = SimulatedDisks(bench.servers)
    disks.silent = set(silent)
    reader = EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT)
    return audit_shard(reader, path)


def waiting(found: ShardAudit) -> list[tuple[str, FindingKind, bool]]:
    rows = [each for each in found.rows if each.partition == DAY]
    return [(each.replica, each.verdict.kind, each.verdict.can_wait) for each in rows]


def left(*, can_wait: bool) -> list[tuple[str, FindingKind, bool]]:
    return [(each, FindingKind.COPIES_LEFT, can_wait) for each in ("r1", "r2")]


def test_silent_servers_of_a_table_without_partitions_are_reported(bench: Bench) -> None:
    """Their disks may have parts that no ensemble registers."""
    build_table(bench.hot, NEW, TableOptions(partitions=()))
    found = audit(bench, "r1", "r2", path=NEW)
    assert [(each.partition, each.replica, each.verdict.kind) for each in found.rows] == [
        ("", "r1", FindingKind.NOT_JUDGED),
        ("", "r2", FindingKind.NOT_JUDGED),
    ]
    assert all(each.verdict.reason for each in found.rows)


def test_a_silent_server_with_partitions_is_reported_with_them_only(bench: Bench) -> None:
    rows = audit(bench, "r2").rows
    assert "" not in {each.partition for each in rows}
    assert {each.verdict.kind for each in rows if each.replica == "r2"} == {FindingKind.NOT_JUDGED}


def test_copies_of_a_partition_that_was_brought_back_can_wait_for_two_days(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(SECONDS_COPIES_MAY_STAY - 60)
    assert waiting(audit(bench)) == left(can_wait=True)
    bench.clock.sleep(61)
    assert waiting(audit(bench)) == left(can_wait=False)


def test_copies_of_an_interrupted_move_can_wait_for_two_days(bench: Bench) -> None:
    """State says nothing about them: their own time counts."""
    bench.move()
    bench.reheat()
    bench.clock.sleep(700)
    bench.reheat()
    bench.clock.sleep(SECONDS_COPIES_MAY_STAY)
    for path in COPIES:
        create_cold(path, bench.hot.get(f"{PATH}/{path}")[0])(bench)
    assert waiting(audit(bench)) == left(can_wait=True)
    bench.clock.sleep(SECONDS_COPIES_MAY_STAY)
    assert waiting(audit(bench)) == left(can_wait=False)
