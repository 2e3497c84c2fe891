# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about metrics lists the metrics that audits write, in their order and with their labels."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Hold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import (
    AuditReport,
    UnsafeReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    UnfinishedAlter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.report import (
    TwinAuditReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict
from support.promtool import needs_promtool, promtool

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(partmove_\w+)` \| (.*?) ?\| .+ \|$", PAGE, flags=re.MULTILINE)
LOST = Row("/t", "1", "r1", Verdict(FindingKind.UNREGISTERED, ("1_0_0_0",)))
OF_FINDINGS = AuditReport([ShardAudit("/t", (LOST,), written_by_another=("1",))]).metrics(0.0)
PATCHED = OF_FINDINGS + AuditReport([ShardAudit("/u", (), "unreadable")]).metrics(0.0)
LASTING = TwinAudit(
    "/t",
    (TwinRow("/t", "1", "", TwinVerdict(TwinKind.ATTACHED)),),
    began={"1": 1},
    hold=Hold("me", "a migration", 1),
    alter=UnfinishedAlter("/z", 1, is_in_progress=False),
)
OF_TWINS = TwinAuditReport([LASTING]).metrics(0.0)
TWIN = OF_TWINS + TwinAuditReport([TwinAudit("/u", (), "unreadable")]).metrics(0.0)
GUARD = re.sub(r"^ +", "", (ROOT / "playbooks" / "guard.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
RULES = (ROOT / "docs" / "reference" / "prometheus" / "partmove.rules.yml").read_text(encoding="utf-8")
GRAFANA = (ROOT / "docs" / "reference" / "prometheus" / "grafana-dashboard.json").read_text(encoding="utf-8")
DASHBOARD = (ROOT / "docs" / "operate" / "guard.md").read_text(encoding="utf-8")


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
    assert [name for name, _ in ROWS] == [*names_in(PATCHED), *names_in(TWIN), *names_in(GUARD)]


@needs_promtool
@pytest.mark.parametrize("text", [OF_FINDINGS, OF_TWINS], ids=["patched", "twin"])
def test_prometheus_reads_the_metrics_and_finds_no_fault(text: str) -> None:
    done = promtool("check", "metrics", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_dashboard_and_alerts_use_metrics_and_kinds_that_exist() -> None:
    known = {name for name, _ in ROWS}
    for text in (DASHBOARD, RULES, GRAFANA):
        used = set(re.findall(r"\b(partmove_(?:twin_)?(?:audit|guard)_\w+)", text))
        metrics = {each for each in used if not each.startswith(("partmove_guard_", "partmove_audit_page"))}
        assert len(metrics) > 5
        assert metrics <= known
    kinds = {kind.value for kind in TwinKind}
    named = re.findall(r'partmove_twin_audit_\w+\{kind(?:=~|!~|!=|=)"([^"]+)"', f"{RULES}{DASHBOARD}")
    assert {each for text in named for each in text.replace("\\", "").split("|")} <= kinds
    unfinished = {kind.value for kind in TwinKind if kind.is_begun}
    assert unfinished < set(next(each for each in named if "recorded" in each).split("|"))


def test_counts_of_several_hosts_are_not_added_up() -> None:
    """Each host of the guard writes the same counts."""
    for text in (DASHBOARD, RULES, GRAFANA):
        assert re.findall(r"\b(?:sum|count)(?: by \([^)]*\))? ?\([^()]*partmove_\w+", text) == []
        assert "max by (" in text


def test_role_and_playbook_write_the_time_of_the_guard_alike() -> None:
    """A host that reads the files of both would refuse two texts of HELP."""
    role = ROOT / "roles" / "partmove_guard" / "tasks" / "present.yml"
    line = re.compile(r"^ *(# (?:HELP|TYPE) partmove_guard.*)$", re.MULTILINE)
    assert line.findall(GUARD) == line.findall(role.read_text(encoding="utf-8"))
    assert len(line.findall(GUARD)) == 2


def test_the_page_lists_the_alerts_of_the_rules() -> None:
    rules = [rule for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"]]
    assert all(rule["annotations"]["summary"] for rule in rules)
    listed = re.findall(r"^\| `(Partmove\w+)` \|", PAGE, flags=re.MULTILINE)
    assert listed == [rule["alert"] for rule in rules]


def test_panels_of_the_dashboard_have_titles_and_queries_and_do_not_overlap() -> None:
    panels = json.loads(GRAFANA)["panels"]
    assert all(panel["title"] and all(each["expr"] for each in panel["targets"]) for panel in panels)
    places = [
        (x, y)
        for each in (panel["gridPos"] for panel in panels)
        for x in range(each["x"], each["x"] + each["w"])
        for y in range(each["y"], each["y"] + each["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _y in places) < 24


@pytest.mark.parametrize(("metric", "labels"), ROWS, ids=[name for name, _ in ROWS])
def test_a_metric_has_the_labels_of_the_page(metric: str, labels: str) -> None:
    told = tuple(re.findall(r"`(\w+)`", labels))
    if metric == "partmove_audit_restart_unsafe":
        assert told == UnsafeReplica._fields
    else:
        assert labels_in(PATCHED + TWIN + GUARD, metric) == {told}
