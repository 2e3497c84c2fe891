# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Monitoring sees since when records, doubled rows and statements are there, and when holds end."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.metrics import exposition
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Hold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.ages import age_families
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    UnfinishedAlter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict

PATH = "/t/01/hits"


def rows(*kinds: TwinKind) -> tuple[TwinRow, ...]:
    return tuple(TwinRow(PATH, str(number), "", TwinVerdict(kind)) for number, kind in enumerate(kinds))


def samples(*audits: TwinAudit) -> list[list[tuple[float, tuple[str, ...]]]]:
    """Value and labels of each sample: of records, doubled rows, statements and holds."""
    return [
        [(each.value, tuple(label for _name, label in each.labels)) for each in family.samples]
        for family in age_families(audits)
    ]


def test_a_shard_path_without_any_has_no_sample() -> None:
    assert "partmove_twin_audit_oldest_record_timestamp_seconds" in exposition(age_families([]))
    of_equal = TwinAudit(PATH, rows(TwinKind.EQUAL))
    assert samples(of_equal) == [[], [], [], []]


@pytest.mark.parametrize(
    ("kind", "since"), [(TwinKind.ATTACHED, 2.5), (TwinKind.RECORDED, 7.0), (TwinKind.NOT_JUDGED, 7.0)]
)
def test_the_oldest_record_counts_and_the_oldest_with_doubled_rows(kind: TwinKind, since: float) -> None:
    began = {"0": 1500, "1": 2500, "2": 7000}
    audit = TwinAudit(PATH, rows(TwinKind.STALE, kind, TwinKind.UNKNOWN, TwinKind.EQUAL), began=began)
    records, doubled, *_others = samples(audit, TwinAudit("/t/02/hits", ()))
    assert records == [(1.5, (PATH,))]
    assert doubled == [(since, (PATH,))]


def test_statements_and_holds_have_their_times() -> None:
    hold, alter = Hold("me", "a migration", 9000), UnfinishedAlter("/z", 4000, is_in_progress=True)
    found = samples(TwinAudit(PATH, (), hold=hold), TwinAudit("/u", (), alter=alter))
    assert found[2:] == [[(4.0, ("/u",))], [(9.0, (PATH, "me"))]]
