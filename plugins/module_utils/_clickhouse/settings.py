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

from .._partmove.errors import PartMoveError
from .._partmove.settings import SECONDS, Types, given_settings
from .client import ClickHouseClient
from .options import ClickHouseOptions, endpoint

_TYPES: Types = {
    "hosts": list,
    "port": int,
    "user": str,
    "password": str,
    "secure": bool,
    "ca": str,
    "verify": bool,
    "timeout": SECONDS,
}


def clients_of(settings: object) -> list[ClickHouseClient]:
    """A client for each of the hosts, in their order; raises PartMoveError for settings not understood."""
    given = given_settings(settings, _TYPES, owner="ClickHouse")
    hosts = given.pop("hosts", [])
    if not hosts or not all(isinstance(host, str) for host in hosts):
        raise PartMoveError(
            "The hosts of ClickHouse are not a list of text",
            remedy="Name each server as host, or as host:port",
        )
    options = ClickHouseOptions(**given)
    addresses = [endpoint(host, options.port, "ClickHouse") for host in hosts]
    # Asked twice, a server would count twice.
    return [ClickHouseClient(*address, options) for address in dict.fromkeys(addresses)]
