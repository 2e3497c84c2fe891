# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about metrics lists the metrics that audits write, in their order and with their labels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import (
    AuditReport,
    UnsafeReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import TwinAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.report import (
    TwinAuditReport,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(partmove_\w+)` \| (.*?) ?\| .+ \|$", PAGE, flags=re.MULTILINE)
PATCHED = AuditReport([ShardAudit("/t", ())]).metrics(0.0) + AuditReport(
    [ShardAudit("/u", (), "unreadable")]
).metrics(0.0)
TWIN = TwinAuditReport([TwinAudit("/t", ())]).metrics(0.0) + TwinAuditReport(
    [TwinAudit("/u", (), "unreadable")]
).metrics(0.0)


def names_in(text: str) -> list[str]:
    """Return the metrics of an exposition, once each; all of them have to be gauges."""
    types = re.findall(r"^# TYPE (\w+) (\w+)$", text, flags=re.MULTILINE)
    assert {kind for _, kind in types} == {"gauge"}
    return list(dict.fromkeys(name for name, _ in types))


def labels_in(text: str, metric: str) -> set[tuple[str, ...]]:
    """Return the names of labels of each sample of a metric."""
    samples = re.findall(rf"^{metric}(?:\{{(.*)\}})? ", text, flags=re.MULTILINE)
    return {tuple(re.findall(r'(\w+)="', inside)) for inside in samples}


def test_the_page_has_every_metric_in_its_order_and_no_other() -> None:
    assert [name for name, _ in ROWS] == [*names_in(PATCHED), *names_in(TWIN)]


@pytest.mark.parametrize(("metric", "labels"), ROWS, ids=[name for name, _ in ROWS])
def test_a_metric_has_the_labels_of_the_page(metric: str, labels: str) -> None:
    told = tuple(re.findall(r"`(\w+)`", labels))
    if metric == "partmove_audit_restart_unsafe":
        assert told == UnsafeReplica._fields
    else:
        assert labels_in(PATCHED + TWIN, metric) == {told}
