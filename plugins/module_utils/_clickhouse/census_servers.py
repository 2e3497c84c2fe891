# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries many servers for their replicated tables."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .._partmove.census.servers import ServerAnswer
from .._partmove.errors import PartMoveError
from .client import ClickHouseClient

# Most servers answer at once; the threads wait for the others concurrently.
_AT_ONCE = 16
# Other columns of system.replicas would each cost a read of ZooKeeper. The query covers tables of all
# ensembles, because the census may be about an auxiliary ensemble.
_REPLICAS = "SELECT zookeeper_path, replica_name FROM system.replicas"


def query_servers(clients: Sequence[ClickHouseClient]) -> list[ServerAnswer]:
    """Query the servers concurrently; return an answer or a problem for each, in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_query, clients))


def _query(client: ClickHouseClient) -> ServerAnswer:
    try:
        rows = client.rows(_REPLICAS)
    except PartMoveError as error:
        return ServerAnswer(client.label, problem=error.message)
    return ServerAnswer(client.label, tuple((str(path), str(replica)) for path, replica in rows))
