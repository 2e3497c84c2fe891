# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings: accepted ones, and messages without values."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.records import (
    FLAG,
    TEXT,
    Settings,
    list_of,
)

SETTINGS = Settings(
    {"password": TEXT, "secure": FLAG, "tls": Settings({"key_password": TEXT})},
    required={"hosts": list_of(TEXT)},
    error=EnsembleError,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"password": None, "secure": None, "tls": None}, {}),
        ({"password": "", "secure": False, "tls": {}}, {"password": "", "secure": False, "tls": {}}),
        ({"tls": {"key_password": None}}, {"tls": {}}),
    ],
)
def test_settings_of_none_are_dropped(given: dict[str, object], kept: dict[str, object]) -> None:
    assert SETTINGS.read({"hosts": ["zk1"]} | given, "hot") == {"hosts": ["zk1"]} | kept


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        ({"hosts": None}, "hot: hosts is missing", "It has to be a list"),
        ({"hosts": ["hunter2", 7]}, "hot: hosts[1] is of type int", "It has to be text in quotes"),
        ({"password": ["hunter2"]}, "hot: password is of type list", "It has to be text in quotes"),
        ({"secure": "hunter2"}, "hot: secure is of type str", "It has to be true or false"),
        ({"tls": "hunter2"}, "hot: tls is of type str", "It has to be a mapping of key_password"),
        (
            {"tls": {"key_password": 1}},
            "hot: tls.key_password is of type int",
            "It has to be text in quotes",
        ),
        ({"tls": {"pasword": "hunter2"}}, "hot: tls.pasword is not a known key", "Known are key_password"),
        ({"pasword": "hunter2"}, "hot: pasword is not a known key", "Known are hosts, password, secure, tls"),
    ],
)
def test_a_message_does_not_show_the_value(given: dict[str, object], message: str, remedy: str) -> None:
    with pytest.raises(EnsembleError) as refusal:
        SETTINGS.read({"hosts": ["zk1"]} | given, "hot")
    assert (refusal.value.message, refusal.value.remedy) == (message, remedy)


@pytest.mark.parametrize("value", [None, "hunter2", ["hunter2"]])
def test_a_value_other_than_a_mapping_is_not_shown(value: object) -> None:
    with pytest.raises(PartMoveError) as refusal:
        Settings({"password": TEXT}).read(value, "hot")
    assert refusal.value.message == f"hot is of type {type(value).__name__}"
    assert refusal.value.remedy == "It has to be a mapping of password"
