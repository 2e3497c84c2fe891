# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the ensemble of a server's replicated tables: that of ``<zookeeper>``, or an auxiliary ensemble.

A path identifies a table only together with its ensemble: two ensembles may have tables at the same path.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .._partmove.formats.sql import literal
from .client import ClickHouseClient
from .system_tables import columns_of

_AUXILIARY_ENGINE = r"^Replicated[A-Za-z]*MergeTree\\(\'([^/\':]+):/"
"""SQL text of a pattern for the beginning of ``engine_full`` of tables in auxiliary ensembles."""
BY_ENGINE = (
    f"SELECT database, name, extract(engine_full, '{_AUXILIARY_ENGINE}') FROM system.tables"
    f" WHERE engine LIKE 'Replicated%' AND match(engine_full, '{_AUXILIARY_ENGINE}')"
)
_BY_NAME = (
    "SELECT database, table, zookeeper_name FROM system.replicas"
    f" WHERE zookeeper_name != '{DEFAULT_ENSEMBLE}'"
)


def reports_ensembles(client: ClickHouseClient) -> bool:
    """Whether system.replicas of this version has the name of the ensemble (from 23.5 on)."""
    return "zookeeper_name" in columns_of(client, "replicas")


def auxiliary_tables(client: ClickHouseClient) -> Mapping[tuple[str, str], str]:
    """Map database and name of each replicated table in an auxiliary ensemble to the name of the ensemble."""
    rows = client.rows(_BY_NAME if reports_ensembles(client) else BY_ENGINE)
    return {(database, table): ensemble for database, table, ensemble in rows}


def children_in(ensemble: str, path: str, *conditions: str) -> str:
    """Return the condition of system.zookeeper for the children of a znode in an ensemble.

    The ensemble is last: 25.8 refuses any condition after it, with code 36. 24.8 has no such column.
    """
    return " AND ".join((f"path = {literal(path)}", *conditions, f"zookeeperName = {literal(ensemble)}"))
