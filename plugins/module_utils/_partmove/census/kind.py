# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of znodes in a census. Every znode of an ensemble has exactly one kind."""

from __future__ import annotations

from enum import Enum

from ..formats.layout import KNOWN_TABLE_CHILDREN, TABLE_CHILDREN_WITHOUT_MOVES
from ..formats.state import STATE


class ZnodeKind(Enum):
    """The purpose of a znode; the value is the name in results."""

    PART = "part"
    PART_CHILD = "part_child"
    REPLICA = "replica"
    QUEUE = "queue"
    LOG = "log"
    BLOCK = "block"
    BLOCK_NUMBER = "block_number"
    MUTATION = "mutation"
    QUORUM = "quorum"
    TABLE = "table"
    EPHEMERAL = "ephemeral"
    ZERO_COPY = "zero_copy"
    STATE = "state"
    UNKNOWN = "unknown"
    DDL = "ddl"
    DATABASE = "database"
    SERVER = "server"
    COORDINATION = "coordination"
    FOLDER = "folder"
    KEEPER = "keeper"
    ZOOKEEPER = "zookeeper"
    OTHER = "other"

    # Members are singletons. The hash of Enum would take a tenth of the time of a census.
    __hash__ = object.__hash__

    @property
    def means(self) -> str:
        """A short description of the kind."""
        return _MEANS[self]


_MEANS = {
    ZnodeKind.PART: "registered parts, one znode for each part of each replica",
    ZnodeKind.PART_CHILD: "columns and checksums of parts with legacy headers",
    ZnodeKind.REPLICA: "single znodes of each replica of a table, such as host and log_pointer",
    ZnodeKind.QUEUE: "entries still to be executed by a replica",
    ZnodeKind.LOG: "entries of the replication logs",
    ZnodeKind.BLOCK: "hashes of inserted blocks, for deduplication",
    ZnodeKind.BLOCK_NUMBER: "partitions, and inserts that hold a block number",
    ZnodeKind.MUTATION: "mutations, including finished mutations",
    ZnodeKind.QUORUM: "inserts with a quorum",
    ZnodeKind.TABLE: "single znodes of each table, such as metadata",
    ZnodeKind.EPHEMERAL: "ephemeral znodes of tables, deleted at the end of a server's session",
    ZnodeKind.ZERO_COPY: "locks of zero-copy replication",
    ZnodeKind.STATE: "State markers of partitions",
    ZnodeKind.UNKNOWN: "znodes with unknown names below tables",
    ZnodeKind.DDL: "queues of distributed DDL (ON CLUSTER)",
    ZnodeKind.DATABASE: "Replicated databases and their logs",
    ZnodeKind.SERVER: "sessions and addresses of servers, and objects that servers share",
    ZnodeKind.COORDINATION: "locks, epochs and ledger of this collection",
    ZnodeKind.FOLDER: "parents of tables",
    ZnodeKind.KEEPER: "ClickHouse Keeper's own znodes",
    ZnodeKind.ZOOKEEPER: "ZooKeeper's own znodes",
    ZnodeKind.OTHER: "other software, and remains of incompletely dropped tables",
}

CHILDREN_OF_A_PART = frozenset({"columns", "checksums"})
"""The znodes below a part with a legacy header."""

_TABLE_CHILDREN = KNOWN_TABLE_CHILDREN | TABLE_CHILDREN_WITHOUT_MOVES
_ANY_DEPTH = 1_000
_BELOW = {
    "alter_partition_version": (ZnodeKind.TABLE, _ANY_DEPTH),
    "async_blocks": (ZnodeKind.BLOCK, 2),
    "block_numbers": (ZnodeKind.BLOCK_NUMBER, 3),
    "blocks": (ZnodeKind.BLOCK, 2),
    "deduplication_hashes": (ZnodeKind.BLOCK, 2),
    "leader_election": (ZnodeKind.TABLE, 2),
    "lightweight_updates": (ZnodeKind.TABLE, _ANY_DEPTH),
    "log": (ZnodeKind.LOG, 2),
    "mutations": (ZnodeKind.MUTATION, 2),
    "nonincrement_block_numbers": (ZnodeKind.BLOCK_NUMBER, 3),
    "part_moves_shard": (ZnodeKind.TABLE, _ANY_DEPTH),
    "pinned_part_uuids": (ZnodeKind.TABLE, _ANY_DEPTH),
    "quorum": (ZnodeKind.QUORUM, _ANY_DEPTH),
    "temp": (ZnodeKind.BLOCK_NUMBER, 2),
}
"""Child of a shard path → kind of its descendants, and their greatest depth below the shard path."""
_ZERO_COPY_PREFIX = "zero_copy_"


def kind_in_table(names: list[str]) -> ZnodeKind:
    """Return the kind of a persistent znode below a shard path, but not below ``replicas/<replica>``.

    Single znodes of a table, including the parents of logs, mutations and so on, have the kind TABLE.

    names: the path from the shard path to the znode, at least one name.

    >>> kind_in_table(["log"]), kind_in_table(["log", "log-0000000007"])
    (<ZnodeKind.TABLE: 'table'>, <ZnodeKind.LOG: 'log'>)
    """
    first, depth = names[0], len(names)
    if first.startswith(_ZERO_COPY_PREFIX):
        return ZnodeKind.ZERO_COPY
    if depth == 1:
        return ZnodeKind.TABLE if first in _TABLE_CHILDREN else ZnodeKind.UNKNOWN
    if first == "block_numbers" and depth == 3 and names[2] == STATE:
        return ZnodeKind.STATE
    kind, deepest = _BELOW.get(first, (ZnodeKind.UNKNOWN, 0))
    return kind if depth <= deepest else ZnodeKind.UNKNOWN


def label_of_unknown(names: list[str]) -> str:
    """Return a label for an unknown znode below a table, with a star in place of variable names.

    >>> label_of_unknown(["new_thing", "a", "b"]), label_of_unknown(["log", "log-0000000007", "x", "y"])
    ('new_thing', 'log/*/x')
    >>> label_of_unknown(["replicas", "r1", "new_thing"])
    'replicas/*/new_thing'
    >>> label_of_unknown(["replicas", "r1", "parts", "all_1_1_0", "x"])
    'replicas/*/parts/*/x'
    """
    if names[0] == "replicas":
        return "/".join(["replicas", "*", *names[2:3], *(["*", *names[4:5]] if len(names) > 4 else [])])
    if len(names) > 2 and names[0] in _TABLE_CHILDREN:
        return f"{names[0]}/*/{names[2]}"
    return names[0]
