# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stand-ins for servers answer to the first query of a client, the one for its settings."""

from __future__ import annotations

from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.plain_settings import PLAIN, SQL


def settings_rows(**changed: str) -> list[list[Any]]:
    """The rows of a server whose settings are those that queries need, but for these."""
    return [[[f"{name}={value}" for name, value in {**PLAIN, **changed}.items()]]]


def asks_for_settings(sql: str) -> bool:
    """Whether it is that query."""
    return sql.startswith(SQL)
