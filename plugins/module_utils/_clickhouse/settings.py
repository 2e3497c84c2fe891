# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses the connection settings of many servers, from a playbook or from JSON.

All settings with their defaults::

    {"hosts": ["ch1", "ch2:8124"], "port": 8123, "user": "default", "password": "",
     "secure": false, "ca": "", "verify": true, "timeout": 30}

Only ``hosts`` is required. None means not set.
"""

from __future__ import annotations

from .._partmove.records import (
    FLAG_SETTING,
    PORT_SETTING,
    SECONDS_SETTING,
    TEXT,
    FieldType,
    InvalidValue,
    Settings,
    list_of,
)
from .client import ClickHouseClient
from .options import ClickHouseOptions, endpoint

_TEXTS = list_of(TEXT)


def _hosts(value: object) -> list[str]:
    hosts: list[str] = _TEXTS.check(value)
    if not hosts:
        raise InvalidValue("is empty", "Name each server as host, or as host:port")
    return hosts


_SERVERS = Settings(
    {
        "port": PORT_SETTING,
        "user": TEXT,
        "password": TEXT,
        "secure": FLAG_SETTING,
        "ca": TEXT,
        "verify": FLAG_SETTING,
        "timeout": SECONDS_SETTING,
    },
    required={"hosts": FieldType(_hosts, "a list of servers, each as host or host:port")},
)


def clients_of(settings: object) -> list[ClickHouseClient]:
    """Return a client for each distinct host, in order. Raises PartMoveError for invalid settings."""
    given = _SERVERS.read(settings, "ClickHouse")
    hosts = given.pop("hosts")
    options = ClickHouseOptions(**given)
    addresses = [endpoint(host, options.port, "ClickHouse") for host in hosts]
    # Each address gets one client: a server that is queried twice would count twice.
    return [ClickHouseClient(*address, options) for address in dict.fromkeys(addresses)]
