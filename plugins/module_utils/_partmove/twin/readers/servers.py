# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the servers about reading tables, their row policies, and readers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..move.tables import TwinTables
from .statements import LeftPolicy, PolicyStatement, ReadingTable


class Reading(NamedTuple):
    """How a replica reads a table and its twin as one."""

    tables: tuple[ReadingTable, ...]
    """The tables of the engine Merge that read both, sorted."""
    policies: tuple[LeftPolicy, ...] = ()
    """Row policies of moves of this pair, for example of a killed run; sorted."""
    storage: str = ""
    """The storage of access rights for the policy."""


class ReaderServers(Protocol):
    """Queries the servers of replicas about readers. Raises PartMoveError on a failure."""

    def reading(self, tables: TwinTables) -> Reading:
        """Return the reading tables of the replica and left policies; without a storage yet."""

    def storage(self, tables: TwinTables) -> str:
        """Return the name of the storage for policies. Raises PartMoveError if the server has no fit one."""

    def problem(self, tables: TwinTables, reading: Reading) -> str:
        """Return why a row policy would not hide rows or would do harm; "" if neither. Only reads."""

    def probe(self, tables: TwinTables, reading: Reading) -> str:
        """Try a row policy that other users do not notice; return the problem, or ""."""

    def execute(self, statement: PolicyStatement) -> None:
        """Execute the statement on the server of its replica. Readers that begin afterwards notice it."""

    def readers(self, tables: TwinTables) -> frozenset[str]:
        """Return everything on the server that may be reading now, one text for each."""
