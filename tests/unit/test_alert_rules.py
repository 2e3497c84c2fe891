# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prometheus reads the alert rules; each alert fires for what it says, and not without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from support.promtool import needs_promtool, promtool

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "docs" / "reference" / "prometheus" / "partmove.rules.yml"
ALERTS = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]

pytestmark = needs_promtool


class Case(NamedTuple):
    """What makes an alert fire, and what it says then. A timestamp of 0 is the start of the test."""

    alert: str
    series: str
    calm: str
    """A value without the alert; empty for a series that is missing."""
    fires: str
    summary: str
    labels: str = ""
    """Of the alert, in the order of the series."""
    hours: float = 3
    hosts: int = 1
    """How many hosts of the guard write the series."""
    besides: str = ""
    """Another series, whose value is 0."""


SHARD = 'shard_path="/t"'
CASES = (
    Case(
        "PartmoveDoNotRestart",
        'partmove_audit_restart_unsafe{shard_path="/t",replica="r1",host="ch1"}',
        "0",
        "1",
        "Do not restart r1 of /t on ch1",
        'shard_path="/t",replica="r1",host="ch1"',
    ),
    Case(
        "PartmoveWrittenByAnother",
        f"partmove_audit_written_by_another{{{SHARD}}}",
        "0",
        "2",
        "Another tool writes to /t: stop it, and audit again",
        SHARD,
    ),
    Case(
        "PartmoveInconsistent",
        f'partmove_audit_drift{{{SHARD},kind="unregistered"}}',
        "0",
        "3",
        "3 \N{MULTIPLICATION SIGN} unregistered in /t: read the page of the audit",
        f'{SHARD},kind="unregistered"',
    ),
    Case(
        "PartmoveInconsistent",
        f'partmove_twin_audit_drift{{{SHARD},kind="uneven"}}',
        "0",
        "1",
        "1 \N{MULTIPLICATION SIGN} uneven in /t: read the page of the audit",
        f'{SHARD},kind="uneven"',
    ),
    # Each host of the guard finds the same.
    Case(
        "PartmoveInconsistent",
        f'partmove_audit_drift{{{SHARD},kind="half_cold"}}',
        "0",
        "3",
        "3 \N{MULTIPLICATION SIGN} half_cold in /t: read the page of the audit",
        f'{SHARD},kind="half_cold"',
        hosts=3,
    ),
    Case(
        "PartmoveTableBlocked",
        f'partmove_twin_audit_drift{{{SHARD},kind="twin_unlike"}}',
        "0",
        "1",
        "No partition of /t can move: make the definitions alike",
        f'{SHARD},kind="twin_unlike"',
    ),
    Case(
        "PartmoveTwinLacksRows",
        f"partmove_twin_audit_missing{{{SHARD}}}",
        "0",
        "1",
        "Rows that should be in a cold twin are not there; create and drop nothing",
        SHARD,
    ),
    Case(
        "PartmoveRowsSeenTwice",
        f"partmove_twin_audit_seen_twice{{{SHARD}}}",
        "0",
        "1",
        "Readers of both tables see rows twice of /t",
        SHARD,
    ),
    Case(
        "PartmoveRowsSeenTwice",
        "partmove_twin_audit_seen_twice_since_timestamp_seconds",
        "9000",
        "0",
        "Readers of both tables see rows twice",
    ),
    Case(
        "PartmoveMoveUnfinished",
        f"partmove_twin_audit_oldest_record_timestamp_seconds{{{SHARD}}}",
        "9000",
        "0",
        "A move of /t was begun and not finished",
        SHARD,
    ),
    Case(
        "PartmoveAlterUnfinished",
        f"partmove_twin_audit_alter_unfinished_since_timestamp_seconds{{{SHARD}}}",
        "9000",
        "0",
        "Run twin_alter for /t without a statement; nothing moves until then",
        SHARD,
    ),
    Case(
        "PartmoveHoldOver",
        f'partmove_twin_audit_hold_until_timestamp_seconds{{{SHARD},owner="me"}}',
        "9000",
        "0",
        "The hold of me on /t ended a day ago, and is still there",
        f'{SHARD},owner="me"',
        25,
    ),
    Case("PartmoveNoAudit", "partmove_audit_timestamp_seconds", "9000", "0", "No audit for two hours"),
    Case("PartmoveNoAudit", "partmove_twin_audit_timestamp_seconds", "9000", "", "No audit for two hours"),
    Case(
        "PartmoveIncompleteAudit",
        "partmove_audit_complete",
        "1",
        "0",
        "Audits have left out something for a day; their summary says what",
        hours=25,
    ),
    Case(
        "PartmoveNoCompleteAudit",
        "partmove_audit_last_complete_timestamp_seconds",
        "80000",
        "0",
        "No audit of the last day has judged everything",
        hours=25,
        besides="partmove_audit_timestamp_seconds",
    ),
    # One alert for all hosts.
    Case(
        "PartmoveGuardWithoutSuccess",
        'partmove_guard_last_success_timestamp_seconds{separation="patched"}',
        "80000",
        "0",
        "The guard (patched) has not succeeded for a day: journalctl -u partmove-guard",
        'separation="patched"',
        25,
        hosts=2,
    ),
    Case(
        "PartmoveGuardWithoutSuccess",
        'partmove_guard_last_success_timestamp_seconds{separation="twin"}',
        "80000",
        "0",
        "The guard (twin) has not succeeded for a day: journalctl -u partmove-guard",
        'separation="twin"',
        25,
    ),
)


def of_host(series: str, number: int) -> str:
    """Return the series as a host writes it; the first host has no label of its own."""
    return series.replace("{", f'{{instance="control{number}",') if number else series


def fired(case: Case, value: str, folder: Path, *, expected: bool) -> str:
    """Return what promtool says if an alert does not fire as expected, or fires unexpectedly."""
    labels = dict(each.split("=") for each in case.labels.split(",") if each)
    alert = {
        "exp_labels": {name: json.loads(label) for name, label in labels.items()},
        "exp_annotations": {"summary": case.summary},
    }
    written = [of_host(case.series, number) for number in range(case.hosts)] if value else []
    series = [{"series": each, "values": f"{value}x400"} for each in written]
    series += [{"series": each, "values": "0x400"} for each in filter(None, [case.besides])]
    test = {
        "interval": "5m",
        "input_series": series,
        "alert_rule_test": [
            {
                "eval_time": f"{case.hours:g}h",
                "alertname": case.alert,
                "exp_alerts": [alert] if expected else [],
            }
        ],
    }
    file = folder / "test.yml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": [test]}
    file.write_text(yaml.safe_dump(content, allow_unicode=True))
    done = promtool("test", "rules", str(file))
    return f"{done.stdout}{done.stderr}" if done.returncode else ""


def test_prometheus_reads_the_rules() -> None:
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}-{case.series.split('{')[0]}")
def test_an_alert_fires_for_what_it_says_and_not_without_it(case: Case, tmp_path: Path) -> None:
    assert fired(case, case.fires, tmp_path, expected=True) == ""
    assert fired(case, case.calm, tmp_path, expected=False) == ""
    # The test can fail.
    assert "exp:" in fired(case, case.fires, tmp_path, expected=False)


def test_removed_hosts_have_no_alert_of_audits_that_are_not_complete(tmp_path: Path) -> None:
    """The last complete audit is looked for in a week, in which the host may be removed."""
    case = next(each for each in CASES if each.alert == "PartmoveNoCompleteAudit")._replace(besides="")
    assert fired(case, case.fires, tmp_path, expected=False) == ""


def test_every_alert_has_a_case() -> None:
    assert list(dict.fromkeys(case.alert for case in CASES)) == ALERTS
