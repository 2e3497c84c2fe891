# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit that lists its findings alone says the same as one that lists every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import audit_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import AuditReport
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.drifted import Drifted


def nothing(_drifted: Drifted) -> None:
    """Both partitions are hot."""


def moved(drifted: Drifted) -> None:
    drifted.bench.move()


def brought_back(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.reheat()


def lost(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.cold.delete(drifted.bench.part("r1", PART))


def silent(drifted: Drifted) -> None:
    drifted.disks.silent.add("r2")


def merging(drifted: Drifted) -> None:
    """The server of one replica has a merged part that is not registered yet: consistent, and not settled."""
    drifted.bench.servers.insert(DAY)
    drifted.bench.servers.disk["r1"] = {f"{DAY}_0_1_1", f"{OTHER}_0_0_0"}


@pytest.mark.parametrize("compare_all", [False, True], ids=["names", "content"])
@pytest.mark.parametrize("arrange", [nothing, moved, brought_back, lost, silent, merging])
def test_the_report_is_the_same(arrange: Callable[[Drifted], None], *, compare_all: bool) -> None:
    drifted = Drifted()
    arrange(drifted)
    whole, counted = (
        audit_shard(drifted.evidence(), PATH, compare_all=compare_all, list_all=list_all)
        for list_all in (True, False)
    )
    assert whole.judged == counted.judged == len(whole.rows) == 4
    first, second = AuditReport([whole]), AuditReport([counted])
    assert (
        first.kinds()
        == second.kinds()
        == {kind: Counter(row.verdict.kind for row in whole.rows)[kind] for kind in FindingKind}
    )
    assert first.summary() == second.summary()
    assert first.metrics(0.0) == second.metrics(0.0)
    assert first.findings == second.findings
    assert first.waiting_copies() == second.waiting_copies()


def test_consistent_rows_are_only_counted() -> None:
    drifted = Drifted()
    drifted.bench.move()
    audit = audit_shard(drifted.evidence(), PATH, list_all=False)
    assert (audit.rows, audit.counted) == ((), {FindingKind.COLD: 2, FindingKind.HOT: 2})


def test_copies_that_have_to_stay_are_listed() -> None:
    drifted = Drifted()
    brought_back(drifted)
    audit = audit_shard(drifted.evidence(), PATH, list_all=False)
    assert [row.verdict.kind for row in audit.rows] == [FindingKind.COPIES_NEEDED] * 2
    assert audit.counted == {FindingKind.HOT: 2}
