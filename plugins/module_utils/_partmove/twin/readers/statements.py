# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL statements about row policies of reading tables: a run executes them, and check mode prints them.

- A server announces a policy that ``CREATE … IN <storage>`` made, or ``DROP … FROM <storage>`` removed, only
  with its next change of access rights: until then readers do not notice (seen on 24.8 and 25.8). So a policy
  is created with a condition that hides nothing, ALTER sets the condition, and DROP names no storage. ALTER
  and DROP without a storage are in force when they return.
- ``CREATE OR REPLACE`` leaves a moment without any policy.
- The storage is a directory of the server: a replicated storage would hide rows on all shards.
- The name of a policy ends with the shard path, as the records do from which its condition follows. Tables
  of the same name, in several databases, and tables that were renamed since are told apart by it.
"""

from __future__ import annotations

from typing import NamedTuple, Union

from ...formats.sql import identifier
from ..move.tables import TwinTables

POLICY_PREFIX = "partmove_moving_"
"""Begins the name of each policy, before the shard path: a table may read several pairs."""
NOTHING_HIDDEN = "1"


class ReadingTable(NamedTuple):
    """A table of the engine Merge on a replica that reads a table and its twin."""

    database: str
    name: str

    @property
    def sql_name(self) -> str:
        """Database and table, quoted for SQL."""
        return f"{identifier(self.database)}.{identifier(self.name)}"

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


class LeftPolicy(NamedTuple):
    """A row policy of a move by its name, and the table that it is on, which need not exist any more."""

    name: str
    reading: ReadingTable


def policy_name(tables: TwinTables) -> str:
    """Return the name of the policies for a table and its twin."""
    return f"{POLICY_PREFIX}{tables.shard_path}"


def older_policy_name(tables: TwinTables) -> str:
    """Return the name that earlier versions gave to the policies of each pair with this name of a table."""
    return f"{POLICY_PREFIX}{tables.hot.name}"


def policy_names(shard_path: str, name: str) -> frozenset[str]:
    """Return the names that policies of a pair may have. ``name``: the name for clients, without database."""
    return frozenset({f"{POLICY_PREFIX}{shard_path}", f"{POLICY_PREFIX}{name}"})


class CreatePolicy(NamedTuple):
    """Creates the row policy with a condition that hides nothing, if it does not exist."""

    tables: TwinTables
    reading: ReadingTable
    storage: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        policy = identifier(policy_name(self.tables))
        return (
            f"CREATE ROW POLICY IF NOT EXISTS {policy} ON {self.reading.sql_name}"
            f" IN {identifier(self.storage)} USING {NOTHING_HIDDEN} AS RESTRICTIVE TO ALL"
        )


class AlterPolicy(NamedTuple):
    """Gives the row policy its condition."""

    tables: TwinTables
    reading: ReadingTable
    condition: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        policy = identifier(policy_name(self.tables))
        return f"ALTER ROW POLICY {policy} ON {self.reading.sql_name} USING {self.condition}"


class DropPolicy(NamedTuple):
    """Removes a row policy of the pair, if it exists."""

    tables: TwinTables
    policy: LeftPolicy

    @property
    def reading(self) -> ReadingTable:
        """The table that the policy is on."""
        return self.policy.reading

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"DROP ROW POLICY IF EXISTS {identifier(self.policy.name)} ON {self.reading.sql_name}"


PolicyStatement = Union[CreatePolicy, AlterPolicy, DropPolicy]
