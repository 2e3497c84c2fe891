# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks many servers which replicated tables they have."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .._partmove.census.servers import ServerAnswer
from .._partmove.errors import PartMoveError
from .client import ClickHouseClient

# Most of them answer at once; those that do not are waited for side by side.
_AT_ONCE = 16
# Other columns of the table would each cost a look into ZooKeeper. Tables of all ensembles are asked for: the
# census may be that of an auxiliary one.
_REPLICAS = "SELECT zookeeper_path, replica_name FROM system.replicas"


def ask_servers(clients: Sequence[ClickHouseClient]) -> list[ServerAnswer]:
    """What each of the servers says, in their order; one that does not answer says why."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_ask, clients))


def _ask(client: ClickHouseClient) -> ServerAnswer:
    try:
        rows = client.rows(_REPLICAS)
    except PartMoveError as error:
        return ServerAnswer(client.label, problem=error.message)
    return ServerAnswer(client.label, tuple((str(path), str(replica)) for path, replica in rows))
