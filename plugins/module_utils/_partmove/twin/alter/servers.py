# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the servers of a table and its twin, for statements that change both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ...errors import PartMoveError
from ..move.tables import PartsOf, Side, TwinReplica, TwinTables


class Refused(PartMoveError):
    """The server refused a statement with an error, and certainly does not execute the statement any more."""


class Mutation(NamedTuple):
    """A mutation of a table on a replica, as its server lists it."""

    mutation_id: str
    command: str
    is_done: bool
    failure: str = ""
    """Why the mutation failed last; "" if it has not failed."""


class Blocks(NamedTuple):
    """The lowest and the highest block number of the active parts of a partition, and their rows."""

    lowest: int
    highest: int
    rows: int


class ReadingTable(NamedTuple):
    """A table of the engine Merge."""

    sql_name: str
    """Database and table, quoted for SQL."""
    engine: str
    """The engine with its arguments, as the server writes it."""
    columns: tuple[str, ...]
    """Name, type and default of each column, in their order."""
    names: tuple[str, ...]
    """Names of the columns."""
    can_be_replaced: bool
    """Whether the engine of the database supports CREATE OR REPLACE TABLE."""
    expressions: tuple[str, ...] = ()
    """For each name, the expression of its DEFAULT, MATERIALIZED or ALIAS; "" for a column without."""


class AlterServers(Protocol):
    """Queries the servers of replicas and executes statements on them. Raises PartMoveError on a failure."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Return the hot table of the replica and its cold twin."""

    def syntax_tree(self, tables: TwinTables, text: str) -> Sequence[str]:
        """Return the lines of the syntax tree of ``ALTER TABLE <hot table> <text>``. Executes nothing.

        Raises Refused if the server does not understand the text.
        """

    def in_progress(self, tables: TwinTables) -> Sequence[str]:
        """Return statements and queued changes that alter one of the two tables now, for people."""

    def mutations(self, tables: TwinTables, side: Side) -> Sequence[Mutation]:
        """Return the mutations of a table, oldest first. The list may lag behind other replicas."""

    def blocks(self, tables: TwinTables, side: Side) -> Mapping[str, Blocks]:
        """Map each partition with active parts to its block numbers."""

    def detached(self, tables: TwinTables, side: Side, partition_id: str) -> int:
        """Return how many parts of the partition can be attached from ``detached/`` of the replica."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Return the parts of each partition in both tables, as `LedgerServers.parts` does."""

    def expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """Map active parts of the twin to the expiry times that servers note, as `FactServers.expiries`."""

    def expected_expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """Map active parts of the twin to their expiry times by the TTL that the hot table has now.

        The time is in seconds since 1970, when all rows of the part will have expired. Left out are parts of
        which it is not known, and every part if no row expires as a whole. Raises NotPermitted, also without
        partitions, if the user may not read the twin.
        """

    def now(self, tables: TwinTables) -> float:
        """Return the time by the clock of the server, in seconds since 1970."""

    def columns(self, tables: TwinTables) -> tuple[str, ...]:
        """Return the columns of the hot table as in `ReadingTable.columns`."""

    def reading(self, tables: TwinTables) -> Sequence[ReadingTable]:
        """Return the tables of the engine Merge in the database of the two tables, by name."""

    def execute(self, tables: TwinTables, sql: str) -> None:
        """Execute a statement on the server of the replica, and wait for all replicas.

        Raises Refused if the server certainly does not execute the statement. After any other error the
        outcome is unknown, and the statement may still be in progress.
        """
