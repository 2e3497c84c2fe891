# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All symptoms of a server together: their order, and the resulting health."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.diagnosis import (
    SYMPTOMS,
    diagnose,
    has_caught_up,
    is_healthy,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.symptom import (
    Finding,
    Severity,
    Symptom,
)
from support.memory.health import HEALTHY, LOG, ROW, T, U, cold

WITHOUT_NAME = {"where": "d.t", "what": "it is ill", "see": "system.replicas", "remedy": "Wait"}


def test_a_healthy_server_has_no_symptom() -> None:
    assert diagnose(HEALTHY) == []
    assert is_healthy([])
    assert has_caught_up([])


def test_no_two_symptoms_have_one_name() -> None:
    assert len({symptom.name for symptom in SYMPTOMS}) == len(SYMPTOMS)


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda each: str(each.name))
def test_severity_decides_about_health(symptom: Symptom) -> None:
    findings = [Finding(symptom=symptom.name, severity=symptom.severity.value, **WITHOUT_NAME)]
    passing = symptom.name in ("delay_growing", "queue_backlog")
    assert is_healthy(findings) == (symptom.severity is not Severity.ERROR)
    assert has_caught_up(findings) == (is_healthy(findings) and not passing)


def test_one_error_among_others_is_enough() -> None:
    findings = [Finding(symptom="x", severity=each.value, **WITHOUT_NAME) for each in Severity]
    assert not is_healthy(findings)
    assert is_healthy(findings[1:])


def test_errors_come_first_and_places_are_sorted() -> None:
    facts = replace(
        HEALTHY,
        replicas=[ROW._replace(delay=99, log=LOG._replace(active_replicas=1))],
        cold=[cold("2019_0_0_0")[0]._replace(key=key) for key in (U, T)],
    )
    assert [(each.symptom, each.where) for each in diagnose(facts)] == [
        ("delay_too_long", "d.t"),
        ("cold_missing", "d.t"),
        ("cold_missing", "d.u"),
        ("replicas_inactive", "d.t"),
    ]
