# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what the ensemble of a table keeps of ATTACH statements on it."""

from __future__ import annotations

from collections.abc import Mapping

from .._partmove.errors import NotPermitted
from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .._partmove.formats.sql import literal
from .._partmove.twin.move.attach_log import CLONE_BLOCK, AttachTraces, known_clones
from .._partmove.twin.move.tables import NO_CLONES_KNOWN, KnownClones, TwinTable
from .auxiliary import children_in
from .client import ClickHouseClient
from .permission import permitted
from .system_tables import columns_of


def reads_all_ensembles(client: ClickHouseClient) -> bool:
    """Whether system.zookeeper of this version shows auxiliary ensembles."""
    return "zookeeperName" in columns_of(client, "zookeeper")


def read_known_clones(
    client: ClickHouseClient, table: TwinTable, source: TwinTable, since: Mapping[str, int]
) -> Mapping[str, KnownClones]:
    """Implement `TwinServers.known_clones` for one table.

    Knows of no clone if the table is in an auxiliary ensemble that the version, or the rights of the user, do
    not show: nobody inserts into a twin, so equal parts prove its clones. Raises NotPermitted for the others.
    """
    try:
        with permitted():
            return _known_clones(client, table, source, since)
    except NotPermitted:
        if table.ensemble == DEFAULT_ENSEMBLE:
            raise
        return dict.fromkeys(since, NO_CLONES_KNOWN)


def _known_clones(
    client: ClickHouseClient, table: TwinTable, source: TwinTable, since: Mapping[str, int]
) -> Mapping[str, KnownClones]:
    is_default = table.ensemble == DEFAULT_ENSEMBLE
    if not is_default and not reads_all_ensembles(client):
        return dict.fromkeys(since, NO_CLONES_KNOWN)

    def children(name: str, condition: str = "") -> dict[str, str]:
        path, conditions = f"{table.path}/{name}", [condition] if condition else []
        where = (
            " AND ".join((f"path = {literal(path)}", *conditions))
            if is_default
            else children_in(table.ensemble, path, *conditions)
        )
        return dict(client.rows(f"SELECT name, value FROM system.zookeeper WHERE {where}"))

    blocks = children("blocks", f"position(name, {literal(CLONE_BLOCK)}) > 0")
    log = {name: value.encode() for name, value in children("log").items()}
    return known_clones(AttachTraces(log, blocks), source, since)
