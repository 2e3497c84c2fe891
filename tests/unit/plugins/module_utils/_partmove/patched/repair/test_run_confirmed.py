# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition counts as repaired only if an audit afterwards finds it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair import run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    LeasedCase,
    NotRepaired,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.judged import (
    JudgedPartition,
)
from support.memory.arrange import create
from support.memory.bench import DAY, OTHER
from support.memory.drifted import Drifted

STATE = f"block_numbers/{DAY}/State"


@pytest.fixture
def drifted() -> Drifted:
    drifted = Drifted()
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)
    return drifted


def _replace(monkeypatch: pytest.MonkeyPatch, remedy: run.Remedy) -> None:
    remedies: Mapping[FindingKind, run.Remedy] = {**run.REMEDIES, FindingKind.HOT_MARKED_COLD: remedy}
    monkeypatch.setattr(run, "REMEDIES", remedies)


def test_what_still_has_the_kind_is_left(drifted: Drifted, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another program undid the repair at once."""
    _replace(monkeypatch, lambda _leased, _judged: {})

    report = drifted.repair(FindingKind.HOT_MARKED_COLD)

    assert report.repaired == []
    assert report.left.keys() == {DAY, OTHER}
    assert drifted.bench.journal.of(Event.REPAIRED) == []
    assert {row["partition"] for row in drifted.bench.journal.of(Event.LEFT)} == {DAY, OTHER}


def test_only_what_still_has_the_kind_is_left(drifted: Drifted, monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = run.REMEDIES[FindingKind.HOT_MARKED_COLD]
    _replace(
        monkeypatch,
        lambda leased, judged: remedy(leased, [each for each in judged if each.partition_id == OTHER]),
    )

    report = drifted.repair(FindingKind.HOT_MARKED_COLD)

    assert {row.partition for row in report.repaired} == {OTHER}
    assert report.left.keys() == {DAY}


def test_what_cannot_be_judged_afterwards_is_left(drifted: Drifted, monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = run.REMEDIES[FindingKind.HOT_MARKED_COLD]

    def repaired_then_silent(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
        left = remedy(leased, judged)
        drifted.disks.silent.add("r2")
        return left

    _replace(monkeypatch, repaired_then_silent)

    report = drifted.repair(FindingKind.HOT_MARKED_COLD)

    assert report.repaired == []
    assert report.left.keys() == {DAY, OTHER}
