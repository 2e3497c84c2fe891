# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The paths of the znodes of a replicated table.

A shard path is the first argument of a ReplicatedMergeTree engine: the znode shared by the replicas of one
shard of a table.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..errors import FormatError
from ..text import shown
from .state import STATE

DEFAULT_ENSEMBLE = "default"
"""The name of the ensemble of ``<zookeeper>`` in ClickHouse; auxiliary ensembles have names of their own."""

KNOWN_TABLE_CHILDREN = frozenset(
    {
        # From 18.16 on, or earlier.
        "block_numbers",
        "blocks",
        "columns",
        "leader_election",
        "log",
        "metadata",
        "mutations",
        "nonincrement_block_numbers",
        "quorum",
        "replicas",
        "temp",
        # Added by later servers, up to those of 2026.
        "alter_partition_version",
        "async_blocks",
        "deduplication_hashes",
        "lost_part_count",
        "part_moves_shard",
        "pinned_part_uuids",
        "table_shared_id",
    }
)
"""Children of a shard path in servers from 18.16 on, without ``zero_copy_*``."""

TABLE_CHILDREN_WITHOUT_MOVES = frozenset({"lightweight_updates"})
"""Further children of a shard path in servers of 2026. Moves of tables with these children are untested.

Lightweight UPDATE and DELETE write patches: parts of a separate partition ``patch-…``. Merges apply patches
to the original parts. So the rows of a partition depend on parts of another partition.
"""

KNOWN_REPLICA_CHILDREN = frozenset(
    {
        "columns",
        "creator_info",
        "flags",
        "host",
        "is_active",
        "is_lost",
        "log_pointer",
        "max_processed_insert_time",
        "metadata",
        "metadata_version",
        "min_unprocessed_insert_time",
        "mutation_pointer",
        "parts",
        "queue",
    }
)
"""Children of ``replicas/<replica>`` in servers from 18.16 on."""

# Every server from 18.16 on creates these children together with the table and keeps them until the drop.
MARKS_OF_A_SHARD = frozenset({"block_numbers", "blocks", "columns", "log", "metadata", "replicas"})
"""A znode with all these children is a shard path."""
_ZERO_COPY_PREFIX = "zero_copy_"
# ZooKeeper itself refuses these characters.
_REFUSED_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


@dataclass(frozen=True)
class ReplicaLayout:
    """The znodes of one replica; ``path`` is ``<shard path>/replicas/<name>``."""

    path: str
    name: str

    @property
    def host(self) -> str:
        """Address of the replica's server; written when the replica is activated."""
        return f"{self.path}/host"

    @property
    def is_active(self) -> str:
        """Ephemeral znode; exists while the replica's server has a session."""
        return f"{self.path}/is_active"

    @property
    def is_lost(self) -> str:
        """``1`` if the replica has to be rebuilt from another replica, else ``0``."""
        return f"{self.path}/is_lost"

    @property
    def log_pointer(self) -> str:
        """Number of the first entry of ``log`` not yet in the replica's queue."""
        return f"{self.path}/log_pointer"

    @property
    def queue(self) -> str:
        """Parent of the entries still to be executed by the replica."""
        return f"{self.path}/queue"

    @property
    def parts(self) -> str:
        """Parent of the replica's part znodes."""
        return f"{self.path}/parts"

    def part(self, name: str) -> str:
        """Return the path of a part znode."""
        return f"{self.path}/parts/{name}"

    @property
    def metadata(self) -> str:
        """The table's definition, as applied by the replica."""
        return f"{self.path}/metadata"

    @property
    def columns(self) -> str:
        """The table's columns, as applied by the replica."""
        return f"{self.path}/columns"


@dataclass(frozen=True)
class ShardLayout:
    """The znodes of one shard path. Raises FormatError for an invalid path."""

    path: str

    def __post_init__(self) -> None:
        """Refuse invalid paths, which would lead to znodes outside of the table."""
        check_shard_path(self.path)

    @property
    def metadata(self) -> str:
        """The table's definition."""
        return f"{self.path}/metadata"

    @property
    def columns(self) -> str:
        """The columns of the table, in ClickHouse's text format."""
        return f"{self.path}/columns"

    @property
    def log(self) -> str:
        """Parent of the replication log."""
        return f"{self.path}/log"

    @property
    def mutations(self) -> str:
        """Parent of the mutations."""
        return f"{self.path}/mutations"

    @property
    def quorum_status(self) -> str:
        """The insert that waits for a quorum; absent without such an insert."""
        return f"{self.path}/quorum/status"

    @property
    def quorum_parallel(self) -> str:
        """Parent of parallel inserts that wait for a quorum."""
        return f"{self.path}/quorum/parallel"

    @property
    def quorum_failed_parts(self) -> str:
        """Parent of the parts without a quorum."""
        return f"{self.path}/quorum/failed_parts"

    @property
    def block_numbers(self) -> str:
        """Parent of the partitions."""
        return f"{self.path}/block_numbers"

    def partition(self, partition_id: str) -> str:
        """Return the parent of a partition's inserts in flight and of its marker."""
        return f"{self.path}/block_numbers/{partition_id}"

    def state(self, partition_id: str) -> str:
        """Return the path of a partition's marker, which selects the ensemble of the part znodes."""
        return f"{self.path}/block_numbers/{partition_id}/{STATE}"

    @property
    def temp(self) -> str:
        """Parent of the holders of inserts in flight."""
        return f"{self.path}/temp"

    @property
    def replicas(self) -> str:
        """Parent of the replicas."""
        return f"{self.path}/replicas"

    def replica(self, name: str) -> ReplicaLayout:
        """Return the znodes of one replica. Raises FormatError for an invalid name."""
        if not name or "/" in name:
            raise FormatError(
                f"{shown(name)} is not the name of a replica of {self.path}",
                remedy=f"Give the name of a child of {self.replicas}",
            )
        return ReplicaLayout(f"{self.path}/replicas/{name}", name)

    @property
    def table_shared_id(self) -> str:
        """Id of the table in zero-copy locks."""
        return f"{self.path}/table_shared_id"

    @property
    def pinned_part_uuids(self) -> str:
        """Parts on their way to another shard; servers must not merge such parts."""
        return f"{self.path}/pinned_part_uuids"

    @property
    def part_moves_shard(self) -> str:
        """Parent of the moves of parts to another shard."""
        return f"{self.path}/part_moves_shard"

    def zero_copy(self, children: Collection[str]) -> tuple[str, ...]:
        """Return the paths of the parents of zero-copy locks, from the children of the shard path; sorted."""
        return tuple(f"{self.path}/{name}" for name in sorted(children) if name.startswith(_ZERO_COPY_PREFIX))


def check_shard_path(path: str) -> str:
    """Return ``path``. Raises FormatError unless the path is absolute and canonical."""
    segments = path.split("/")
    problem = ""
    if not path.startswith("/"):
        problem = "does not begin with a slash"
    elif path.endswith("/"):
        problem = "ends with a slash"
    elif "" in segments[1:]:
        problem = "has two slashes in a row"
    elif "." in segments or ".." in segments:
        problem = "has a . or .. in it"
    elif _REFUSED_CHARACTERS.search(path):
        problem = "has a character that ZooKeeper does not allow"
    if problem:
        raise FormatError(
            f"The shard path {shown(path)} {problem}",
            remedy="Write zookeeper_path of system.replicas, such as /clickhouse/tables/01/hits",
        )
    return path


def is_shard_path(children: Collection[str]) -> bool:
    """Whether a znode with these children is a shard path; false during a drop of the table."""
    return MARKS_OF_A_SHARD.issubset(children)


def unknown_table_children(children: Collection[str]) -> tuple[str, ...]:
    """Return the children of a shard path that make the table unsuitable for moves, sorted."""
    unknown = set(children) - KNOWN_TABLE_CHILDREN
    return tuple(sorted(name for name in unknown if not name.startswith(_ZERO_COPY_PREFIX)))


def unknown_replica_children(children: Collection[str]) -> tuple[str, ...]:
    """Return the children of a replica's znode that are not in KNOWN_REPLICA_CHILDREN, sorted."""
    return tuple(sorted(set(children) - KNOWN_REPLICA_CHILDREN))
