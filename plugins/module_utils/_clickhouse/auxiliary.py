# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ensemble a replicated table of a server is in: that of ``<zookeeper>``, or an auxiliary one.

The path of a table says nothing without that: what is true of it in the one is not true in the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .client import ClickHouseClient

_OF_ENGINE = r"^Replicated[A-Za-z]*MergeTree\\(\'([^/\':]+):/"
"""What the engine of a table in an auxiliary ensemble begins with, as it stands in a literal of SQL."""
BY_ENGINE = (
    f"SELECT database, name, extract(engine_full, '{_OF_ENGINE}') FROM system.tables"
    f" WHERE engine LIKE 'Replicated%' AND match(engine_full, '{_OF_ENGINE}')"
)
_BY_NAME = (
    "SELECT database, table, zookeeper_name FROM system.replicas"
    f" WHERE zookeeper_name != '{DEFAULT_ENSEMBLE}'"
)


def tells_ensembles(client: ClickHouseClient) -> bool:
    """Whether the version has the name of the ensemble in system.replicas, as from 23.5 on."""
    return bool(
        client.rows(
            "SELECT name FROM system.columns WHERE database = 'system' AND table = 'replicas'"
            " AND name = 'zookeeper_name'"
        )
    )


def auxiliary_tables(client: ClickHouseClient) -> Mapping[tuple[str, str], str]:
    """Database and name of each replicated table in an auxiliary ensemble → what the server calls that."""
    rows = client.rows(_BY_NAME if tells_ensembles(client) else BY_ENGINE)
    return {(database, table): ensemble for database, table, ensemble in rows}
