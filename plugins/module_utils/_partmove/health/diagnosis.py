# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The diagnosis of a server: checks its facts for every symptom."""

from __future__ import annotations

from collections.abc import Sequence

from .disk_symptoms import DISK_SYMPTOMS
from .facts import HealthFacts
from .loss_symptoms import LOSS_SYMPTOMS
from .replica_symptoms import REPLICA_SYMPTOMS
from .symptom import Finding, Severity, Symptom

SYMPTOMS: tuple[Symptom, ...] = REPLICA_SYMPTOMS + DISK_SYMPTOMS + LOSS_SYMPTOMS

_PASSING = frozenset({"delay_growing", "queue_backlog"})
"""Warnings caused by a replica only until it has caught up."""


def diagnose(facts: HealthFacts) -> list[Finding]:
    """Return the findings: errors first, then in the order of `SYMPTOMS`, then by place."""
    return [
        finding
        for severity in Severity
        for symptom in SYMPTOMS
        if symptom.severity is severity
        for finding in symptom.findings(facts)
    ]


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Return whether no finding is an error."""
    return all(finding.severity != Severity.ERROR.value for finding in findings)


def has_caught_up(findings: Sequence[Finding]) -> bool:
    """Return whether the server is healthy and has done all work already done by other replicas."""
    return is_healthy(findings) and not any(finding.symptom in _PASSING for finding in findings)
