# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is found in a census that need not be there, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class AdviceKind(Enum):
    """What may be done so that an ensemble has fewer znodes; the value is its name in results."""

    LEGACY_HEADERS = "legacy_headers"
    TABLE_ON_NO_SERVER = "table_on_no_server"
    TABLE_WITHOUT_SESSION = "table_without_session"
    REPLICA_WITHOUT_SESSION = "replica_without_session"
    LOG_HELD = "log_held"
    LONG_QUEUE = "long_queue"
    MANY_BLOCKS = "many_blocks"
    MUTATION_UNFINISHED = "mutation_unfinished"
    MUTATIONS_KEPT = "mutations_kept"
    PARTITIONS_GONE = "partitions_gone"
    DDL_QUEUE = "ddl_queue"

    @property
    def means(self) -> str:
        """One sentence without its full stop: what is so."""
        return _TOLD[self].means

    @property
    def remedy(self) -> str:
        """What to do about it, in sentences without the last full stop."""
        return _TOLD[self].remedy


class Advice(NamedTuple):
    """One piece of advice."""

    kind: AdviceKind
    path: str
    """The shard path, or the path of the queue of distributed DDL."""
    replica: str
    """Empty where it is not about one replica."""
    znodes: int
    """How many znodes go when it is followed."""
    evidence: str
    """What in the ensemble says so: a sentence."""
    statements: tuple[str, ...] = ()
    """What to run or to configure, with the names of the case."""


class _Told(NamedTuple):
    means: str
    remedy: str


_DROP_REPLICA = (
    "SYSTEM DROP REPLICA, on a server of 20.5 or later that has no such replica itself, removes it; it"
    " refuses one that has a session. Before 20.5, DROP TABLE on the server of the replica, or remove its"
    " znode"
)

_TOLD = {
    AdviceKind.LEGACY_HEADERS: _Told(
        "parts are registered with two znodes more than later servers need",
        "Set use_minimalistic_part_header_in_zookeeper in <merge_tree> of every server: there is such a"
        " setting from 19.1 on, and it is on by default from 20.1 on. A part keeps its old form until it is"
        " merged or mutated. Do it when all servers of the cluster have 19.1 or later, because none older can"
        " read the parts then",
    ),
    AdviceKind.TABLE_ON_NO_SERVER: _Told(
        "the table is in the ensemble, and no server has it",
        "See that it was dropped, and not only detached or left out by a server that could not load it: then"
        " its .sql file is still below metadata of a server, and the table in system.replicas once it is"
        f" attached. If it was dropped, drop its replicas. {_DROP_REPLICA}. With the last replica the table"
        " goes",
    ),
    AdviceKind.TABLE_WITHOUT_SESSION: _Told(
        "no replica of the table has a session: its servers are gone, or do not have the table any more",
        "Find out first whether a server still has the table: its zookeeper_path is in system.replicas, and a"
        " census that all servers are named to asks them. If none has, drop its replicas."
        f" {_DROP_REPLICA}. With the last replica the table goes",
    ),
    AdviceKind.REPLICA_WITHOUT_SESSION: _Told(
        "the replica has no session: its server is gone, or does not have the table any more",
        "If the server will come back, start it: it goes on from where it was, or is built anew from another"
        f" replica. If not, drop the replica. {_DROP_REPLICA}",
    ),
    AdviceKind.LOG_HELD: _Told(
        "the log keeps entries that only replicas without a session need",
        "Start or drop these replicas, as above. Servers clear the log by themselves once it has more than"
        " max_replicated_logs_to_keep entries; the replicas then count as lost and are built anew",
    ),
    AdviceKind.LONG_QUEUE: _Told(
        "the replica has a session and does not carry out what is in its queue",
        "See last_exception and postpone_reason in system.replication_queue of its server; what is wrong"
        " there, such as a part that no replica has, a full disk or too few threads, has to be put right"
        " first",
    ),
    AdviceKind.MANY_BLOCKS: _Told(
        "the table keeps the hashes of many more inserted blocks than were said to be kept",
        "See replicated_deduplication_window in system.merge_tree_settings of its servers and in SHOW CREATE"
        " TABLE (by default 100, of later servers 1000 or more); a smaller one lets servers remove the rest."
        " If it is small, no server removes them: see whether a replica is the leader, in system.replicas",
    ),
    AdviceKind.MUTATION_UNFINISHED: _Told(
        "a mutation does not come to an end on replicas that have a session",
        "See latest_fail_reason in system.mutations. Put that right, or KILL MUTATION: parts that were not"
        " mutated then stay as they are, and those that were stay mutated",
    ),
    AdviceKind.MUTATIONS_KEPT: _Told(
        "many more finished mutations are kept than were said to be kept",
        "See finished_mutations_to_keep in system.merge_tree_settings of its servers (100 by default; 0 keeps"
        " all). They are removed by the leader, once all replicas have finished them",
    ),
    AdviceKind.PARTITIONS_GONE: _Told(
        "partitions have a znode and no part of any replica any more: servers keep the znode of a"
        " partition that is dropped",
        "ALTER TABLE … FORGET PARTITION, on servers of 24.2 or later, if nothing will be inserted there"
        " again. Earlier servers have no way: leave them, and do not delete the znodes, or block numbers are"
        " used twice",
    ),
    AdviceKind.DDL_QUEUE: _Told(
        "the queue of distributed DDL has more tasks, or older ones, than servers keep by default",
        "Servers clear it when they take a new task: see task_max_lifetime (a week by default) and"
        " max_tasks_in_queue (1000) in <distributed_ddl> of the servers, and whether any server of the"
        " cluster still works on this path. A task that a server is at, below active, stays",
    ),
}
