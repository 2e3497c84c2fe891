# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates that judge a whole shard path: its replicas, the definition of the table, and shared storage."""

from __future__ import annotations

from ..binding.owner import Owner
from ..formats.table_metadata import columns_have_ttl
from ..shard.facts import ReplicaFacts, ShardFacts
from ..text import first_few
from .gate import ShardGate
from .names import GateName


def _unknown_layout(shard: ShardFacts) -> str | None:
    unknown = [f"{shard.layout.path}/{name}" for name in shard.unknown_children]
    for replica in shard.replicas:
        base = shard.layout.replica(replica.name).path
        unknown += [f"{base}/{name}" for name in replica.unknown_children]
    return f"znodes of an unknown kind: {first_few(unknown)}" if unknown else None


def _being_dropped(shard: ShardFacts) -> str | None:
    return "the table is being dropped" if shard.being_dropped else None


def _no_replica(shard: ShardFacts) -> str | None:
    return None if shard.replicas else "the table has no replica"


def _unhealthy(replica: ReplicaFacts) -> str | None:
    if replica.host is None or replica.is_active is None:
        return f"replica {replica.name} is not active"
    if replica.is_lost is None:
        return f"replica {replica.name} has no znode is_lost"
    if replica.is_lost.data != b"0":
        return f"replica {replica.name} is lost"
    return None


def _replicas_unhealthy(shard: ShardFacts) -> str | None:
    problems = [problem for problem in map(_unhealthy, shard.replicas) if problem]
    return first_few(problems) if problems else None


def _ttl(shard: ShardFacts) -> str | None:
    if shard.metadata.has_ttl:
        return "the table has a TTL"
    if columns_have_ttl(shard.columns, shard.layout.columns):
        return "a column of the table has a TTL"
    return None


def _alter_pending(shard: ShardFacts) -> str | None:
    if shard.pending_table_wide:
        return f"entries that concern the whole table wait: {first_few(shard.pending_table_wide)}"
    behind = [
        replica.name
        for replica in shard.replicas
        if replica.columns != shard.columns or replica.metadata not in (None, shard.metadata.raw)
    ]
    return f"replicas with another table definition: {first_few(behind)}" if behind else None


def _another_table(shard: ShardFacts) -> str | None:
    if not shard.has_parts_in_cold:
        return None
    return _OWNERS[shard.owner]


_OWNERS = {
    Owner.OURS: None,
    Owner.FORMER: "the cold ensemble registers parts of a former table at the same path",
    Owner.NOBODY: "the cold ensemble registers parts that another tool put there",
    Owner.OTHER_CLUSTER: "nothing proves that the parts in the cold ensemble are of this cluster",
}


def _shared_storage(shard: ShardFacts) -> str | None:
    if not shard.shared_storage:
        return None
    return f"parts are shared, pinned or on their way to another shard: {first_few(shard.shared_storage)}"


SHARD_GATES: tuple[ShardGate, ...] = (
    ShardGate(
        GateName.KNOWN_LAYOUT,
        "A newer ClickHouse may keep references to parts in znodes that this version does not read.",
        "Use a version of olap.partmove that knows this version of ClickHouse",
        _unknown_layout,
    ),
    ShardGate(
        GateName.TABLE_KEPT,
        "DROP TABLE leaves the part znodes in the cold ensemble behind.",
        "Let the DROP TABLE finish and leave the table out of the plan",
        _being_dropped,
    ),
    ShardGate(
        GateName.REPLICAS_PRESENT,
        "Without a replica no server has the data.",
        "Leave the table out of the plan",
        _no_replica,
    ),
    ShardGate(
        GateName.REPLICAS_HEALTHY,
        "A replica that is down or lost may come back with parts of its own and detach these.",
        "Start the replica and wait until replica_info reports caught_up; drop the replica only if its server"
        " is gone for good with its data",
        _replicas_unhealthy,
    ),
    ShardGate(
        GateName.NO_TTL,
        "A TTL merge takes a cold part out of the table.",
        "Remove the TTL from the table (DROP PARTITION can do its work), and plan again",
        _ttl,
    ),
    ShardGate(
        GateName.NO_ALTER_PENDING,
        "An ALTER that rewrites a cold part takes the part out of the table.",
        "Wait until the ALTER has finished on every replica and run again",
        _alter_pending,
    ),
    ShardGate(
        GateName.SAME_TABLE,
        "A new table reuses part names, so stale copies of a former table can pass for parts of the new one.",
        "Run part_audit_info on the shard path, then part_repair with the kind of the finding",
        _another_table,
    ),
    ShardGate(
        GateName.NO_SHARED_STORAGE,
        "Zero-copy locks, pinned parts and moves between shards keep references to parts in other znodes.",
        "Leave tables with zero-copy replication or part moves between shards out of the plan",
        _shared_storage,
    ),
)
