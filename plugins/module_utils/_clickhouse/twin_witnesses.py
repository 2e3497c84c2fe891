# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit of twins asks of servers, and the statements that it tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from .._partmove.formats.sql import literal
from .._partmove.twin.audit.evidence import ReplicaTables
from .._partmove.twin.audit.judge import ManualCheck
from .._partmove.twin.move.tables import TwinReplica, TwinTable, TwinTables
from .._partmove.twin.table.pair import TABLE
from .auxiliary import auxiliary_tables
from .client import ClickHouseClient
from .twin_activity import partition_of
from .twin_servers import HttpTwinServers
from .twin_sql import texts

_BLOCKS = ("blocks", "async_blocks", "deduplication_hashes")
"""Where a table keeps what it has inserted; which of them there are depends on the version."""
_OF_CLONES = "%\\_replace\\_from\\_%"
"""What an ATTACH … FROM writes there is named so."""


class HttpTwinWitnesses(HttpTwinServers):
    """Implements TwinWitnesses over the HTTP interface."""

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """As TwinWitnesses says."""
        found = self.look(shard_path, replica)
        is_exchanged = found.found is None and self._has_given_its_name(found.client, found.hot)
        return ReplicaTables(replica, found.client.label, found.hot, found.found, is_exchanged)

    def _has_given_its_name(self, client: ClickHouseClient, table: TwinTable) -> bool:
        """Whether a table in an auxiliary ensemble has the name whose twin this one is named as."""
        before, _table, after = self._twin.partition(TABLE)
        name = table.name[len(before) : len(table.name) - len(after)]
        if self._twin.replace(TABLE, name) != table.name:
            return False
        return (table.database, name) in auxiliary_tables(client)

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """As TwinWitnesses says; nothing where the version tells of the default ensemble only."""
        client = self._client_of(tables)
        if not _reads_all_ensembles(client):
            return {}
        where = f"zookeeperName = {literal(tables.cold.ensemble)} AND path = "
        path = tables.cold.path
        there = client.rows(
            f"SELECT name FROM system.zookeeper WHERE {where}{literal(path)} AND name IN {texts(_BLOCKS)}"
        )
        found: dict[str, set[str]] = defaultdict(set)
        for (name,) in there:
            for (part,) in client.rows(
                f"SELECT value FROM system.zookeeper WHERE {where}{literal(f'{path}/{name}')}"
                f" AND name NOT LIKE {literal(_OF_CLONES)}"
            ):
                found[partition_of(part)].add(part)
        return {each: parts for each, parts in found.items() if each}


def _reads_all_ensembles(client: ClickHouseClient) -> bool:
    return bool(
        client.rows(
            "SELECT name FROM system.columns WHERE database = 'system' AND table = 'zookeeper'"
            " AND name = 'zookeeperName'"
        )
    )


def statements_of(tables: TwinTables, check: ManualCheck) -> list[str]:
    """What compares the rows, where that has to be done, and what drops those that are there twice."""
    sums = [
        f"SELECT {literal(str(tables.on(side)))} AS place, count() AS rows, sum(cityHash64(*)) AS hash"
        f" FROM {tables.on(side).sql_name} WHERE _part IN {texts(parts)}"
        for side, parts in check.compare.items()
    ]
    drops = [f"ALTER TABLE {tables.on(side).sql_name} DROP PART {literal(part)}" for side, part in check.drop]
    return [*([" UNION ALL ".join(sums)] if sums else []), *drops]
