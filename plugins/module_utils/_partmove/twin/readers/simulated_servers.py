# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers for check mode: they list the statements about row policies, and nobody reads."""

from __future__ import annotations

from ..move.tables import TwinTables
from .servers import ReaderServers, Reading
from .statements import PolicyStatement


class SimulatedReaderServers:
    """Implements ReaderServers on top of servers of replicas, and only reads from these servers."""

    def __init__(self, servers: ReaderServers, executed: list[str]) -> None:
        """Append the SQL of each statement to ``executed``."""
        self._servers = servers
        self._executed = executed

    def reading(self, tables: TwinTables) -> Reading:
        """Return the answer of the server."""
        return self._servers.reading(tables)

    def storage(self, tables: TwinTables) -> str:
        """Return the answer of the server."""
        return self._servers.storage(tables)

    def problem(self, tables: TwinTables, reading: Reading) -> str:
        """Return the answer of the server."""
        return self._servers.problem(tables, reading)

    def probe(self, tables: TwinTables, reading: Reading) -> str:
        """Try nothing, as a probe executes statements."""
        del tables, reading
        return ""

    def execute(self, statement: PolicyStatement) -> None:
        """Add the statement to the list."""
        self._executed.append(statement.sql)

    def readers(self, tables: TwinTables) -> frozenset[str]:
        """Return nothing: check mode changes nothing that readers could notice."""
        del tables
        return frozenset()
