# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One symptom: the report for each place with the symptom."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.symptom import (
    Finding,
    Occurrence,
    Severity,
    Symptom,
)
from support.memory.health import HEALTHY

ILL = Symptom(
    "ill",
    Severity.WARNING,
    "Something is not well.",
    "system.tables",
    "Look at it",
    lambda facts: [Occurrence(str(each.key), what) for each in facts.replicas for what in ("worse", "bad")],
)


def test_every_place_is_listed_once_and_sorted() -> None:
    rest = {"see": "system.tables", "remedy": "Look at it"}
    assert ILL.findings(HEALTHY) == [
        Finding(symptom="ill", severity="warning", where="d.t", what="bad", **rest),
        Finding(symptom="ill", severity="warning", where="d.t", what="worse", **rest),
    ]


def test_severities_stand_from_the_worst_down() -> None:
    assert [each.value for each in Severity] == ["error", "warning", "notice"]
