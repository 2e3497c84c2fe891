# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries for the ledger of a twin: UUIDs, detached parts, block numbers and expiry times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from .._partmove.errors import NotPermitted
from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .._partmove.formats.names import detached_part
from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.ledger.blocks import allocated
from .._partmove.twin.ledger.compare import has_ttl
from .._partmove.twin.ledger.entry import Birth
from .._partmove.twin.ledger.servers import SetAside
from .._partmove.twin.move.tables import TwinReplica, TwinTable, TwinTables
from .auxiliary import children_in
from .client import QueryRefused
from .clone_blocks import reads_all_ensembles
from .permission import permitted
from .query_errors import KEEPER_EXCEPTION
from .twin_activity import partition_of
from .twin_servers import HttpTwinServers
from .twin_sql import table_condition

_NO_UUID = "00000000-0000-0000-0000-000000000000"
"""The UUID of a table whose database keeps none."""


class HttpLedgerServers(HttpTwinServers):
    """Implements LedgerServers over the HTTP interface."""

    def identities(
        self, replica: TwinReplica, tables: Sequence[TwinTable], uuids: Collection[str]
    ) -> Mapping[str, str]:
        """Implement `LedgerServers.identities`."""
        client = self.clients.of(tables[0].path, replica.name, replica.host)
        given = " OR ".join(
            f"(database = {literal(each.database)} AND name = {literal(each.name)})" for each in tables
        )
        found = f" OR {is_one_of('toString(uuid)', sorted(uuids))}" if uuids else ""
        rows = client.rows(
            f"SELECT concat(database, '.', name), toString(uuid) FROM system.tables WHERE {given}{found}"
        )
        return {name: uuid for name, uuid in rows if uuid != _NO_UUID}

    def set_aside(self, tables: TwinTables) -> Mapping[str, Sequence[SetAside]]:
        """Implement `LedgerServers.set_aside`."""
        rows = self._client_of(tables).rows(
            "SELECT name, toString(reason) FROM system.detached_parts"
            f" WHERE {table_condition(tables.cold)} ORDER BY name"
        )
        found: dict[str, list[SetAside]] = defaultdict(list)
        for folder, reason in rows:
            # A reason and the id of a partition look alike, as in broken_1_2_5_9 and all_1_2_5_9.
            part = detached_part(folder) if reason else folder
            found[partition_of(part)].append(SetAside(folder, part))
        return {each: folders for each, folders in found.items() if each}

    def cold_birth(self, tables: TwinTables) -> Birth | None:
        """Implement `LedgerServers.cold_birth`."""
        client, table = self._client_of(tables), tables.on(tables.home.other)
        if table.ensemble == DEFAULT_ENSEMBLE:
            return None
        where = children_in(table.ensemble, table.path, "name = 'log'")
        try:
            with permitted():
                # A user without the right does not see that the version has the column either.
                if not reads_all_ensembles(client):
                    return None
                rows = client.rows(
                    "SELECT toString(czxid), toString(toUnixTimestamp(ctime)) FROM system.zookeeper"
                    f" WHERE {where}"
                )
        except NotPermitted:
            return None
        except QueryRefused as error:
            if error.code != KEEPER_EXCEPTION:
                raise
            return None
        births = [Birth(int(czxid), int(ctime)) for czxid, ctime in rows]
        return births[0] if len(births) == 1 else None

    def cold_blocks(self, tables: TwinTables) -> Mapping[str, int] | None:
        """Implement `LedgerServers.cold_blocks`."""
        client = self._client_of(tables)
        if not reads_all_ensembles(client):
            return None
        where = children_in(tables.cold.ensemble, f"{tables.cold.path}/block_numbers")
        rows = client.rows(
            f"SELECT name, toString(cversion), toString(numChildren) FROM system.zookeeper WHERE {where}"
        )
        return {partition: allocated(int(changes), int(children)) for partition, changes, children in rows}

    def expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """Implement `LedgerServers.expiries`; {} for a table without a TTL."""
        if not has_ttl(tables.cold.definition):
            return {}
        rows = self._client_of(tables).rows(
            "SELECT name, toString(toUnixTimestamp(delete_ttl_info_max)) FROM system.parts WHERE active AND"
            f" {table_condition(tables.cold)} AND {is_one_of('partition_id', partition_ids)}"
        )
        return {name: int(expires) for name, expires in rows if int(expires)}

    def now(self, tables: TwinTables) -> float:
        """Implement `LedgerServers.now`."""
        ((now,),) = self._client_of(tables).rows("SELECT toString(toUnixTimestamp(now()))")
        return float(now)
