# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings of many ClickHouse servers."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.settings import clients_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError


def test_each_host_is_a_server_and_none_is_asked_twice() -> None:
    clients = clients_of({"hosts": ["ch1", "ch2:8124", "[::1]", "ch1:8443"], "port": 8443, "user": None})
    assert [client.label for client in clients] == [
        "ClickHouse at ch1:8443",
        "ClickHouse at ch2:8124",
        "ClickHouse at [::1]:8443",
    ]


def test_numbers_and_flags_may_be_text() -> None:
    """Templates of ansible-core before 2.19 return text for a number."""
    given = {"hosts": ["ch1"], "port": "8443", "secure": "True", "verify": "false", "timeout": "2.5"}
    (client,) = clients_of(given)
    options = ClickHouseOptions(port=8443, secure=True, verify=False, timeout=2.5)
    assert client.__reduce__()[1] == ("ch1", 8443, options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["ch1"], "ClickHouse is of type list"),
        ({}, "ClickHouse: hosts is missing"),
        ({"hosts": None}, "ClickHouse: hosts is missing"),
        ({"hosts": []}, "ClickHouse: hosts is empty"),
        ({"hosts": ["ch1", 1]}, "ClickHouse: hosts[1] is of type int"),
        ({"hosts": "ch1"}, "ClickHouse: hosts is of type str"),
        ({"hosts": ["ch1"], "port": "http"}, "ClickHouse: port is of type str"),
        ({"hosts": ["ch1"], "secure": "https"}, "ClickHouse: secure is of type str"),
        ({"hosts": ["ch1"], "timeout": "soon"}, "ClickHouse: timeout is of type str"),
        ({"hosts": ["ch1"], "port": True}, "ClickHouse: port is of type bool"),
        ({"hosts": ["ch1"], "endpoints": {}}, "ClickHouse: endpoints is not a known key"),
        ({"hosts": ["ch1:x"]}, "The endpoint 'ch1:x' of ClickHouse is not host:port"),
        ({"hosts": ["ch1"], "port": 0}, "The HTTP port of ClickHouse is 0"),
    ],
)
def test_settings_not_understood_are_refused(settings: object, message: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        clients_of(settings)
    assert refusal.value.message.startswith(message)
    assert refusal.value.remedy
