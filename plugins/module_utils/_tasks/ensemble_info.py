# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of ensemble_info: say what an ensemble is, and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._zookeeper.settings import options_of
from .._zookeeper.store import connect
from .._zookeeper.survey import EnsembleSurvey, MemberSurvey, survey_ensemble
from .resources import Resources


class EnsembleInfo:
    """Implements Task for ensemble_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._options = options_of("hot", params["hot"])
        self._found: dict[str, Any] = {}

    def result(self) -> dict[str, Any]:
        """Return what was found; nothing before the ensemble has answered."""
        return {"changed": False, **self._found}

    def run(self, resources: Resources) -> None:
        """Ask the ensemble and each host."""
        store = connect(self._options)
        resources.close_at_end(store)
        self._found = _result_of(survey_ensemble(store, self._options))


def _result_of(survey: EnsembleSurvey) -> dict[str, Any]:
    lacks = [each._asdict() for each in survey.lacks]
    return {
        "software": survey.software.value,
        "versions": list(survey.versions),
        "members": [_member_result(each) for each in survey.members],
        "members_path": survey.members_path,
        "members_problem": survey.members_problem,
        "multi_read": survey.multi_read,
        "sync_ms": round(survey.sync_seconds * 1000, 1),
        "lacks": lacks,
        "msg": _message(survey),
    }


def _member_result(member: MemberSurvey) -> dict[str, Any]:
    release, manners = member.release, member.manners
    return {
        "address": member.address,
        "version": "" if release is None else release.version,
        "mode": "" if release is None else release.mode,
        "serves": manners is not None,
        "keeps_session": None if manners is None else manners.keeps_session,
        "refuses_unseen": None if manners is None else manners.refuses_unseen,
        "session_timeout": None if manners is None else manners.session_timeout,
    }


def _message(survey: EnsembleSurvey) -> str:
    versions = " and ".join(survey.versions) or "of an unknown version"
    names = ", ".join(each.name for each in survey.lacks)
    lacks = f"lacks {names}" if names else "lacks nothing"
    return f"{survey.software.value} {versions}, {len(survey.members)} hosts: {lacks}"
