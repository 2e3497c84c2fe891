# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits of a census from settings."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import (
    CensusLimits,
    limits_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError


def test_absent_settings_keep_their_default() -> None:
    assert limits_of({}) == limits_of({"inactive_after": None, "hot": {"hosts": []}}) == CensusLimits()


def test_times_are_durations_and_the_rest_are_counts() -> None:
    assert limits_of({"inactive_after": "3h", "unused_after": "60", "ddl_tasks": 0}) == CensusLimits(
        inactive_after=10_800, unused_after=60, ddl_tasks=0
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("stuck_after", "soon", "stuck_after is 'soon', which is no duration"),
        ("queue_length", -1, "queue_length is -1, which is no count"),
        ("deduplication_window", "many", "deduplication_window is 'many', which is no count"),
    ],
)
def test_an_invalid_limit_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        limits_of({name: value})
