# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which settings queries carry, from what a server shows."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.plain_settings import (
    FIRST,
    NO_OFFSET,
    PLAIN,
    SQL,
    differing,
    forbidden_setting,
)
from support.servers.plain_answer import settings_rows


def test_a_plain_profile_needs_the_settings_that_no_server_shows_alone() -> None:
    assert differing(settings_rows()) == NO_OFFSET == {"limit": "0", "offset": "0"}


def test_a_version_that_does_not_know_a_setting_is_not_sent_it() -> None:
    known = ["read_overflow_mode=throw", "result_overflow_mode=throw", "timeout_overflow_mode=throw"]
    assert differing([[[*known, "extremes=0"]]]) == {}


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - NO_OFFSET.keys()))
def test_each_other_value_is_overridden(name: str) -> None:
    assert differing(settings_rows(**{name: "another = value"})) == {**NO_OFFSET, name: PLAIN[name]}
    assert f"'{name}'" in SQL


@pytest.mark.parametrize("rows", [[], [[]], [[[]]], [[["limit=0"]]], settings_rows() * 2, None])
def test_an_answer_that_is_not_whole_is_none(rows: object) -> None:
    assert differing(rows) is None


def test_what_the_first_query_carries_is_plain() -> None:
    assert NO_OFFSET.items() <= FIRST.items() <= PLAIN.items()


@pytest.mark.parametrize(
    ("code", "text", "setting"),
    [
        (164, "Cannot modify 'limit' setting in readonly mode. (READONLY)", "limit"),
        (452, "Setting limit should not be changed. (SETTING_CONSTRAINT_VIOLATION)", "limit"),
        (452, "Setting max_result_rows shouldn't be greater than 100.", "max_result_rows"),
        (164, "u: Cannot execute query in readonly mode. (READONLY)", ""),
        (115, "Setting limit is neither a builtin setting nor started with the prefix", ""),
    ],
)
def test_the_setting_that_may_not_be_changed(code: int, text: str, setting: str) -> None:
    assert forbidden_setting(code, text) == setting
