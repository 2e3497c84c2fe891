# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Advice of a census: superfluous znodes, and how to reduce them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .removal import COMPARE_DATABASES


class AdviceKind(Enum):
    """A cause of superfluous znodes; the value is the name in results."""

    LEGACY_HEADERS = "legacy_headers"
    TABLE_ON_NO_SERVER = "table_on_no_server"
    TABLE_WITHOUT_SESSION = "table_without_session"
    TABLE_BELOW_TABLE = "table_below_table"
    REPLICA_WITHOUT_SESSION = "replica_without_session"
    LOG_HELD = "log_held"
    LOG_PASSED = "log_passed"
    LONG_QUEUE = "long_queue"
    MANY_BLOCKS = "many_blocks"
    MUTATION_UNFINISHED = "mutation_unfinished"
    MUTATIONS_KEPT = "mutations_kept"
    PARTITIONS_GONE = "partitions_gone"
    DDL_QUEUE = "ddl_queue"

    @property
    def means(self) -> str:
        """A sentence about the current state, without full stop."""
        return _TEXTS[self].means

    @property
    def remedy(self) -> str:
        """The next steps in sentences, without the last full stop."""
        return _TEXTS[self].remedy


class Advice(NamedTuple):
    """A case of an `AdviceKind`."""

    kind: AdviceKind
    path: str
    """The shard path, or the path of the queue of distributed DDL."""
    replica: str
    """Name of the replica; empty for advice about a whole table or queue."""
    znodes: int
    """Number of znodes saved by the advice."""
    evidence: str
    """Sentences with the figures from the ensemble."""
    statements: tuple[str, ...] = ()
    """SQL statements or configuration for this case."""


class _Texts(NamedTuple):
    means: str
    remedy: str


_DROP_REPLICA = (
    "The statements are given only if every queried server answered and lacks the replica, and if no session"
    " and no other table is at or below the path; otherwise the evidence states what is missing."
    f" {COMPARE_DATABASES}."
    " Run them on a server of 20.5 or later that does not have the replica; SYSTEM DROP REPLICA refuses a"
    " replica with a session. Earlier servers have no such statement. Never delete the znodes yourself:"
    " ZooKeeper checks neither sessions nor other tables below the path"
)

_TEXTS = {
    AdviceKind.LEGACY_HEADERS: _Texts(
        "parts are registered with two znodes more than later servers need",
        "Set use_minimalistic_part_header_in_zookeeper in <merge_tree> of every server. The setting exists"
        " from"
        " 19.1 on, and is on by default from 20.1 on. A part keeps the old form until a merge or mutation."
        " Change"
        " the setting only when all servers of the cluster have 19.1 or later: older servers cannot read the"
        " new form",
    ),
    AdviceKind.TABLE_ON_NO_SERVER: _Texts(
        "the table is in the ensemble, but on no server",
        "Verify that the table was dropped. A detached table, a table of a detached database, and a table"
        " that a server could not load still has"
        " its .sql file below metadata of a server, and is in system.replicas once it is attached. If the"
        f" table was dropped, drop its replicas. {_DROP_REPLICA}. The table disappears with its last replica",
    ),
    AdviceKind.TABLE_WITHOUT_SESSION: _Texts(
        "no replica of the table has a session: its servers are gone, or no longer have the table",
        "First find out whether a server still has the table: search its zookeeper_path in system.replicas,"
        " or name all servers to the census. If no server has the table, drop its replicas."
        f" {_DROP_REPLICA}. The table disappears with its last replica",
    ),
    AdviceKind.TABLE_BELOW_TABLE: _Texts(
        "another table has its znodes below the path of this table",
        "Never drop this table or the replica above the other table: DROP TABLE and SYSTEM DROP REPLICA would"
        " delete the znodes of the other table, also while it is in use. Give the other table a path outside"
        " of this table: create a table there, and ATTACH PARTITION … FROM the other table",
    ),
    AdviceKind.REPLICA_WITHOUT_SESSION: _Texts(
        "the replica has no session: its server is gone, or no longer has the table",
        "If the server will return, start the server: the replica continues, or is rebuilt from another"
        f" replica. Otherwise drop the replica. {_DROP_REPLICA}",
    ),
    AdviceKind.LOG_HELD: _Texts(
        "the log keeps entries that only replicas without a session need",
        "Start these replicas. If a server is gone for good, drop its replica as replica_without_session"
        " describes. Servers clear the log themselves once it has more than"
        " max_replicated_logs_to_keep entries; the replicas then count as lost and are rebuilt",
    ),
    AdviceKind.LOG_PASSED: _Texts(
        "the log keeps many entries that all replicas have passed",
        "Servers remove these entries every cleanup_delay_period, except the newest"
        " min_replicated_logs_to_keep (100 in 18.16, 10 in later servers). Read both in"
        " system.merge_tree_settings and in SHOW CREATE TABLE, and lower a high value. If the values are low,"
        " no server clears the log: check in system.replicas for a leader (is_leader) that is not"
        " is_readonly, and search its error log for the cleanup thread. A restart of the server, or DETACH"
        " and ATTACH TABLE, starts the thread anew; with a cold ensemble only if part_audit_info finds no"
        " unsafe restart. Do not delete entries yourself: a replica that still reads them is then lost",
    ),
    AdviceKind.LONG_QUEUE: _Texts(
        "the replica has a session but does not execute the entries of its queue",
        "Read last_exception and postpone_reason in system.replication_queue of its server. First repair the"
        " cause there, such as a part that no replica has, a full disk or too few threads",
    ),
    AdviceKind.MANY_BLOCKS: _Texts(
        "the table keeps the hashes of many more inserted blocks than the limit deduplication_window",
        "Read replicated_deduplication_window in system.merge_tree_settings of its servers and in SHOW CREATE"
        " TABLE (by default 100, in later servers 1000 or more). With a smaller value, servers remove the"
        " other"
        " hashes. If the value is small already, no server removes hashes: check in system.replicas whether a"
        " replica is the leader",
    ),
    AdviceKind.MUTATION_UNFINISHED: _Texts(
        "a mutation does not finish on replicas with a session",
        "Read latest_fail_reason in system.mutations. Repair the cause, or run KILL MUTATION: parts without"
        " the mutation then stay unchanged, and mutated parts stay mutated",
    ),
    AdviceKind.MUTATIONS_KEPT: _Texts(
        "many more finished mutations are kept than the limit finished_mutations_to_keep",
        "Read finished_mutations_to_keep in system.merge_tree_settings of its servers (100 by default; 0"
        " keeps all). The leader removes mutations once all replicas have finished them",
    ),
    AdviceKind.PARTITIONS_GONE: _Texts(
        "partitions have a znode but no part on any replica: servers keep the znode of a dropped partition",
        "Run ALTER TABLE … FORGET PARTITION on servers of 24.2 or later, if no rows will be inserted into or"
        " attached to the partition again. The statements are given only if every queried server answered,"
        " all replicas have a session and an empty queue, and no server has detached parts of the partition"
        " or a table of another ensemble with the same keys that has the partition, such as a cold twin;"
        f" otherwise the evidence states what is missing. {COMPARE_DATABASES}. Earlier servers"
        " have no such statement. Do not delete the znodes: block numbers would be used twice",
    ),
    AdviceKind.DDL_QUEUE: _Texts(
        "the queue of distributed DDL has more or older tasks than servers keep by default",
        "Servers clear the queue when they take a new task. Check task_max_lifetime (a week by default) and"
        " max_tasks_in_queue (1000) in <distributed_ddl> of the servers, and whether a server of the cluster"
        " still uses this path. Tasks in progress, below active, stay",
    ),
}
