# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings: those that are given, and those that are refused."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    PlanError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.settings import (
    SECONDS,
    Types,
    given_settings,
)

TYPES: Types = {"hosts": list, "tls": dict, "user": str, "secure": bool, "tries": int, "timeout": SECONDS}


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({}, {}),
        ({"user": None, "timeout": None}, {}),
        ({"user": "", "tries": 0, "secure": False}, {"user": "", "tries": 0, "secure": False}),
        ({"timeout": 3}, {"timeout": 3}),
        ({"timeout": 0.5}, {"timeout": 0.5}),
        ({"hosts": [], "tls": {}}, {"hosts": [], "tls": {}}),
    ],
)
def test_settings_that_are_not_none_are_given(settings: dict[str, object], given: dict[str, object]) -> None:
    assert given_settings(settings, TYPES, owner="hot") == given


@pytest.mark.parametrize(
    ("name", "value", "kind", "remedy"),
    [
        ("hosts", "zk1", "str", "Give a list"),
        ("tls", ["ca"], "list", "Give a mapping"),
        ("user", 7, "int", "Give text in quotes"),
        ("secure", "yes", "str", "Give true or false"),
        ("secure", 1, "int", "Give true or false"),
        ("tries", 1.0, "float", "Give a whole number"),
        ("tries", True, "bool", "Give a whole number"),
        ("timeout", "3", "str", "Give a number of seconds"),
        ("timeout", True, "bool", "Give a number of seconds"),
    ],
)
def test_a_setting_of_another_type_is_refused(name: str, value: object, kind: str, remedy: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        given_settings({name: value}, TYPES, owner="cold", prefix="tls.")
    assert refusal.value.message == f"Setting tls.{name} of cold is of type {kind}"
    assert refusal.value.remedy == remedy


def test_a_setting_that_there_is_not_is_refused_without_its_value() -> None:
    with pytest.raises(PlanError) as refusal:
        given_settings({"pasword": "secret"}, TYPES, owner="hot", error=PlanError)
    assert refusal.value.message == "Unknown setting pasword of hot"
    assert refusal.value.remedy == "Use hosts, tls, user, secure, tries, timeout"


@pytest.mark.parametrize(
    ("prefix", "message"),
    [("", "The connection settings of hot are no mapping"), ("tls.", "The tls of hot are no mapping")],
)
@pytest.mark.parametrize("settings", [None, "secret", ["secret"]])
def test_what_is_no_mapping_is_refused_without_its_value(settings: object, prefix: str, message: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        given_settings(settings, {"user": str}, owner="hot", prefix=prefix)
    assert refusal.value.message == message
    assert refusal.value.remedy == "Give some of user"
