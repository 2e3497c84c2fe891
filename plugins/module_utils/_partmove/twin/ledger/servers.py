# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the servers of replicas for what a ledger is compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..move.tables import PartsOf, Side, TwinReplica, TwinTable, TwinTables
from .entry import Birth

Identities = Mapping[str, Mapping[str, str]]
"""Replica → database and name of a table → its UUID."""


class SetAside(NamedTuple):
    """A folder in ``detached/`` of the twin."""

    folder: str
    part: str
    """The name of the part in the folder, without a reason in front."""


class TablesOfReplica(Protocol):
    """The tables of a replica."""

    @property
    def replica(self) -> TwinReplica:
        """The replica."""

    @property
    def server(self) -> str:
        """Name of the server, for people."""

    @property
    def hot(self) -> TwinTable:
        """The hot table."""

    @property
    def cold(self) -> TwinTable | None:
        """The twin; None if the server has no table with its name."""

    @property
    def is_exchanged(self) -> bool:
        """Whether the names are exchanged: the table in the auxiliary ensemble has the name of the table."""


class FactServers(Protocol):
    """Reads facts from the servers of replicas, and changes nothing. Raises PartMoveError on a failure."""

    def identities(
        self, replica: TwinReplica, tables: Sequence[TwinTable], uuids: Collection[str]
    ) -> Mapping[str, str]:
        """Map database and name of tables to their UUIDs.

        The tables are the given ones, the hot table first, and those that have one of ``uuids`` on the
        server. Tables of databases without UUIDs are left out.
        """

    def set_aside(self, tables: TwinTables) -> Mapping[str, Sequence[SetAside]]:
        """Map partition ids to the folders in ``detached/`` of the twin, whoever moved them there."""

    def cold_birth(self, tables: TwinTables) -> Birth | None:
        """Return when the znodes of the twin were created, as its ensemble shows to the server.

        None if the server does not show them: by its version, by the rights of the user, or for lack of them.
        """

    def cold_blocks(self, tables: TwinTables) -> Mapping[str, int] | None:
        """Map partition ids to the number of block numbers that the twin has allocated, ever.

        None if the version of the server does not show the auxiliary ensemble.
        """

    def expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """Map active parts of the twin to the time when all their rows had expired by the TTL of the table.

        The times are in seconds since 1970. Parts without such a time are left out.
        """

    def now(self, tables: TwinTables) -> float:
        """Return the time by the clock of the server, in seconds since 1970."""


class LedgerServers(FactServers, Protocol):
    """Reads tables and parts as well."""

    def pair(self, shard_path: str, replica: TwinReplica) -> TablesOfReplica:
        """Return the hot table of the replica, and its twin if the replica has one."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Return the parts of each partition in both tables, read by one query."""

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Return the ids of all partitions with active parts in the table."""


class LostFacts(NamedTuple):
    """What was read about partitions of which the twin lacks something."""

    now: float
    """The time by the clock of the first server that was read, in seconds since 1970."""
    set_aside: Mapping[str, Mapping[str, Sequence[SetAside]]]
    """Partition id → replica → folders in ``detached/`` of the twin."""
    cold_blocks: Mapping[str, int] | None
    """As `LedgerServers.cold_blocks` returns."""
    hot_blocks: Mapping[str, int]
    """As `read_hot_blocks` returns."""


def read_lost_facts(
    servers: FactServers,
    tables: Sequence[TwinTables],
    partition_ids: Collection[str],
    hot_blocks: Mapping[str, int],
) -> LostFacts:
    """Read the facts about the partitions on every replica. Raises PartMoveError."""
    set_aside: dict[str, dict[str, Sequence[SetAside]]] = {each: {} for each in partition_ids}
    for each in tables:
        for partition, folders in servers.set_aside(each).items():
            if partition in set_aside and folders:
                set_aside[partition][each.replica.name] = folders
    return LostFacts(servers.now(tables[0]), set_aside, servers.cold_blocks(tables[0]), hot_blocks)
