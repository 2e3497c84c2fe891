# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings of many servers as people write them, in a playbook or in JSON.

All there are::

    {"hosts": ["ch1", "ch2:8124"], "port": 8123, "user": "default", "password": "",
     "secure": false, "ca": "", "verify": true, "timeout": 30}

Only ``hosts`` has to be there. A setting that is None counts as not given.
"""

from __future__ import annotations

from .._partmove.records import FLAG, SECONDS, TEXT, WHOLE_NUMBER, FieldType, InvalidValue, Settings, list_of
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
        "port": WHOLE_NUMBER,
        "user": TEXT,
        "password": TEXT,
        "secure": FLAG,
        "ca": TEXT,
        "verify": FLAG,
        "timeout": SECONDS,
    },
    required={"hosts": FieldType(_hosts, "a list of servers, each as host or host:port")},
)


def clients_of(settings: object) -> list[ClickHouseClient]:
    """A client for each of the hosts, in their order; raises PartMoveError for settings not understood."""
    given = _SERVERS.read(settings, "ClickHouse")
    hosts = given.pop("hosts")
    options = ClickHouseOptions(**given)
    addresses = [endpoint(host, options.port, "ClickHouse") for host in hosts]
    # Asked twice, a server would count twice.
    return [ClickHouseClient(*address, options) for address in dict.fromkeys(addresses)]
