# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings that statements carry, and their names in the version of a server.

A server refuses a statement with an unknown setting (code 115), so the names are looked up before.
"""

from __future__ import annotations

from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import is_one_of
from .client import ClickHouseClient
from .twin_sql import PROJECTIONS


class SentSetting(NamedTuple):
    """A setting, by all its names; versions before the last name know the first ones."""

    names: tuple[str, ...]


EVERY_REPLICA = SentSetting(("replication_alter_partitions_sync", "alter_sync"))
"""How many replicas a statement waits for: 2 for all, 0 for none."""
THROW_IF_NOOP = SentSetting(("optimize_throw_if_noop",))
"""Whether OPTIMIZE without an effect is an error."""
ROWS_ALONE = SentSetting((PROJECTIONS,))
"""Whether a query may read a projection. Versions before the setting have no projections."""
DROP_DETACHED = SentSetting(("allow_drop_detached",))
"""Whether a server executes DROP DETACHED PART."""
PART_SIZE = SentSetting(("max_partition_size_to_drop",))
"""The size in bytes up to which a server drops a part; 0 for any."""
TABLE_SIZE = SentSetting(("max_table_size_to_drop",))
"""The size in bytes up to which a server drops a table; 0 for any."""
SENT = (EVERY_REPLICA, THROW_IF_NOOP, ROWS_ALONE, DROP_DETACHED, PART_SIZE, TABLE_SIZE)

_SQL = (
    "SELECT name FROM system.settings WHERE"
    f" {is_one_of('name', sorted(name for each in SENT for name in each.names))}"
)


class KnownSettings:
    """The names that servers know; each server is asked once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def lacks(self, server: str, setting: SentSetting) -> bool:
        """Return whether the server with this name was asked for its settings and has no such setting."""
        return server in self._names and self._names[server].isdisjoint(setting.names)

    def name_of(self, client: ClickHouseClient, setting: SentSetting) -> str:
        """Return the name of the setting in the version of the server.

        Raises PartMoveError if the version does not know the setting, or if the server does not answer.
        """
        name = self.find(client, setting)
        if name:
            return name
        raise PartMoveError(
            f"{client.label} runs ClickHouse {client.version()}, which does not know the setting"
            f" {' or '.join(setting.names)}",
            remedy="Use a version of olap.partmove that knows this version of ClickHouse",
        )

    def find(self, client: ClickHouseClient, setting: SentSetting) -> str:
        """Return the name of the setting in the version of the server; "" if the version does not know it.

        Raises PartMoveError if the server does not answer.
        """
        if client.label not in self._names:
            self._names[client.label] = frozenset(str(name) for (name,) in client.rows(_SQL))
        return next((name for name in setting.names if name in self._names[client.label]), "")
