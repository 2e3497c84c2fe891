# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The closed vocabulary of a census: every znode of an ensemble is of exactly one kind."""

from __future__ import annotations

from enum import Enum

from ..formats.layout import KNOWN_TABLE_CHILDREN, TABLE_CHILDREN_WITHOUT_MOVES
from ..formats.state import STATE


class ZnodeKind(Enum):
    """What a znode is there for; the value is its name in results."""

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
    COORDINATION = "coordination"
    FOLDER = "folder"
    ZOOKEEPER = "zookeeper"
    OTHER = "other"

    # There is one of each, and what Enum has would take a tenth of the time of a census.
    __hash__ = object.__hash__

    @property
    def means(self) -> str:
        """What znodes of the kind are, in a few words."""
        return _MEANS[self]


_MEANS = {
    ZnodeKind.PART: "registered parts, one znode for each part of each replica",
    ZnodeKind.PART_CHILD: "columns and checksums of parts with legacy headers",
    ZnodeKind.REPLICA: "what each replica of a table has once, such as host and log_pointer",
    ZnodeKind.QUEUE: "entries that a replica has yet to carry out",
    ZnodeKind.LOG: "entries of the replication logs",
    ZnodeKind.BLOCK: "hashes of inserted blocks, for deduplication",
    ZnodeKind.BLOCK_NUMBER: "partitions, and inserts that hold a block number",
    ZnodeKind.MUTATION: "mutations, also finished ones that are kept",
    ZnodeKind.QUORUM: "inserts with a quorum",
    ZnodeKind.TABLE: "what each table has once, such as metadata",
    ZnodeKind.EPHEMERAL: "ephemeral znodes of tables, which go with the session of a server",
    ZnodeKind.ZERO_COPY: "locks of zero-copy replication",
    ZnodeKind.STATE: "State markers of partitions",
    ZnodeKind.UNKNOWN: "znodes below tables with names that are not known",
    ZnodeKind.DDL: "queue of distributed DDL (ON CLUSTER)",
    ZnodeKind.COORDINATION: "locks, epochs and ledger of this collection",
    ZnodeKind.FOLDER: "parents of tables",
    ZnodeKind.ZOOKEEPER: "what ZooKeeper keeps itself",
    ZnodeKind.OTHER: "other software, and what is left of tables that were not dropped completely",
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
"""Child of a shard path → the kind of what is below it, and how many names such a path may have."""
_ZERO_COPY_PREFIX = "zero_copy_"


def kind_in_table(names: list[str]) -> ZnodeKind:
    """The kind of a persistent znode below a shard path, which is not below its replicas.

    ``names`` are those on the way from the shard path to the znode, at least one. What each table has once,
    the folders that all the rest is in included, is of the kind TABLE.

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
    """What an unknown znode below a table is called: names, with a star for those that differ by table.

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
