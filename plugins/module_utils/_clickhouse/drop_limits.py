# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sizes above which a server refuses to drop a part or a table, and how a statement lifts them.

A server refuses DROP PART and DETACH PART with TOO_LARGE if the part has more bytes than the limit, which is
50 GB by default, and so it refuses DROP TABLE. DROP DETACHED PART has no limit. Only the server that gets the
statement compares, and other replicas follow. Newer versions take the limit from a setting of the statement,
unless a constraint in the profile of the user forbids the setting.
"""

from __future__ import annotations

from .._partmove.formats.sql import literal
from .client import ClickHouseClient, QueryRefused
from .permission import permitted
from .plain_settings import forbidden_setting
from .query_errors import UNKNOWN_TABLE
from .sent_settings import PART_SIZE, KnownSettings, SentSetting


class DropLimits:
    """The limits of servers. Each server is asked once whether the user may lift a limit."""

    def __init__(self, settings: KnownSettings) -> None:
        self._settings = settings
        self._lifted: dict[tuple[str, SentSetting], dict[str, int]] = {}

    def lifted(self, client: ClickHouseClient, setting: SentSetting) -> dict[str, int]:
        """Return the settings of a statement that drops a part or table of any size.

        Empty if the version has no such setting, or does not let the user change it. Then the limit counts.
        """
        key = client.label, setting
        if key not in self._lifted:
            self._lifted[key] = self._find(client, setting)
        return self._lifted[key]

    def most_bytes(self, client: ClickHouseClient) -> int | None:
        """Return the size of the largest part that the server drops for the user.

        None if it drops parts of any size, or if the version shows no limit. Raises NotPermitted if the user
        may not read the limit.
        """
        if self.lifted(client, PART_SIZE):
            return None
        (name,) = PART_SIZE.names
        # The value of a profile counts, and without one that of the configuration.
        rows = client.rows(
            f"SELECT toString(value) FROM system.settings WHERE name = {literal(name)} AND changed"
        )
        if not rows:
            rows = _of_configuration(client, name)
        return int(rows[0][0]) or None if rows else None

    def _find(self, client: ClickHouseClient, setting: SentSetting) -> dict[str, int]:
        name = self._settings.find(client, setting)
        if not name:
            return {}
        try:
            client.execute("SELECT 1", **{name: 0})
        except QueryRefused as error:
            if forbidden_setting(error.code, error.text) != name:
                raise
            return {}
        return {name: 0}


def _of_configuration(client: ClickHouseClient, name: str) -> list[list[str]]:
    """Return the row with the limit in the configuration; none if the version does not show it."""
    sql = f"SELECT toString(value) FROM system.server_settings WHERE name = {literal(name)}"
    try:
        # Not after a look at its columns: this error names the right that is needed.
        with permitted():
            return client.rows(sql)
    except QueryRefused as error:
        if error.code != UNKNOWN_TABLE:
            raise
        return []
