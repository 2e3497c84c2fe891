# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts for the diagnosis of one server. Times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..formats.layout import DEFAULT_ENSEMBLE


class TableKey(NamedTuple):
    """A table by its names on the server."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


class ServerFacts(NamedTuple):
    """A server and its settings relevant to a diagnosis."""

    address: str
    version: str
    uptime: int
    """Full seconds since its process started."""
    now: int
    """The clock of the server when it was asked, in seconds since 1970."""
    patched: bool | None = None
    """The result of the query for the sign of the patch; None without such a query."""
    zookeeper_problem: str | None = None
    """Why the server cannot read ZooKeeper; None if it can, empty if ZooKeeper is not configured."""
    parts_to_delay: int = 0
    """Active parts of a partition from which inserts are slowed down; 0 for never."""
    parts_to_throw: int = 0
    """Active parts of a partition from which inserts are refused; 0 for never."""

    @property
    def started(self) -> int:
        """When the process started, in seconds since 1970; exact to less than a second."""
        return self.now - self.uptime


class LogPosition(NamedTuple):
    """The position in the replication log, read by a server from ZooKeeper for ``system.replicas``."""

    max_index: int
    """The number of the newest log entry; also 0 for an empty log."""
    pointer: int
    """The number of the first log entry not yet copied to the replica's queue."""
    total_replicas: int
    active_replicas: int

    @property
    def lag(self) -> int:
        """The number of log entries not yet copied to the replica's queue."""
        return max(0, self.max_index - self.pointer + 1) if self.pointer or self.max_index else 0


class ReplicaPath(NamedTuple):
    """A replica by its place in ZooKeeper; as text, the path of its znode."""

    shard_path: str
    replica: str

    def __str__(self) -> str:
        return f"{self.shard_path}/replicas/{self.replica}"


class ReplicaStatus(NamedTuple):
    """A row of ``system.replicas``."""

    key: TableKey
    engine: str
    shard_path: str
    replica: str
    leader: bool
    read_only: bool
    session_expired: bool
    delay: int
    """Delay of the replica behind the others."""
    queue: int
    """The number of entries in its queue."""
    queue_age: int
    """Age of the oldest queue entry; 0 for an empty queue."""
    log: LogPosition | None
    """The position in the log; None if the server could not read the log from ZooKeeper."""
    ensemble: str = DEFAULT_ENSEMBLE
    """The server's name for the ensemble of the table."""

    @property
    def path(self) -> ReplicaPath:
        """The place of the replica in ZooKeeper."""
        return ReplicaPath(self.shard_path, self.replica)

    @property
    def is_auxiliary(self) -> bool:
        """Whether the znodes of the table are in an auxiliary ensemble, as those of a cold twin are."""
        return self.ensemble != DEFAULT_ENSEMBLE


class Registration(NamedTuple):
    """The znodes of a replica, as read by the server itself.

    host: address of the server of the last activation; empty if the replica was never active.
    """

    exists: bool
    active: bool = False
    host: str = ""


class FailingEntry(NamedTuple):
    """A row of ``system.replication_queue`` whose last attempt failed."""

    key: TableKey
    kind: str
    part: str
    tries: int
    exception: str


class DdlTask(NamedTuple):
    """An ON CLUSTER statement and its result on each host.

    finished: host → error text; empty text for success. A host without a result is no key.
    """

    path: str
    query: str
    age: int
    hosts: tuple[str, ...]
    finished: Mapping[str, str]


class DiskPartition(NamedTuple):
    """The row count and the sorted names of the active parts of a partition."""

    rows: int
    parts: tuple[str, ...]


class DiskTable(NamedTuple):
    """The active parts of a table, by partition id.

    ttl: whether its rows can expire.
    """

    engine: str
    ttl: bool
    partitions: Mapping[str, DiskPartition]


class Disk(NamedTuple):
    """The content of a server's disk at one time.

    detached: names in the ``detached`` folder of each table; None if they are unknown.
    """

    tables: Mapping[TableKey, DiskTable]
    detached: Mapping[TableKey, frozenset[str] | None]


class ColdFacts(NamedTuple):
    """The content of the two ensembles for one replica.

    cold_partitions: ids of the partitions with State COLD, sorted.
    not_ready: why the ledger does not vouch for the replica; None if it does.
    missing: names of parts registered in cold for the replica, but missing on its disk, both as an active
        part and as a source of an active part; None if the cold ensemble was not read.
    unregistered: names of parts active on its disk, but registered in neither ensemble for the replica,
        neither as they are nor as a source of a registered part; None if the ensembles were not read.
    """

    key: TableKey
    shard_path: str
    cold_partitions: tuple[str, ...]
    not_ready: str | None
    missing: tuple[str, ...] | None
    unregistered: tuple[str, ...] | None = None


class HealthLimits(NamedTuple):
    """The operator's limits for a diagnosis; ages and delays are in seconds."""

    max_delay: int = 60
    max_queue_age: int = 60
    ddl_grace: int = 60
    """Age from which an ON CLUSTER statement should have been executed on every host."""
    config_changed_at: float | None = None
    """When the configuration changed, in seconds since 1970; the process has to be younger."""


@dataclass(frozen=True)
class HealthFacts:
    """The facts of one server at one time.

    later: the replicas a little later; empty if they were read once only.
    registrations: the znodes of expected replicas missing on the server, and of its read-only replicas.
    before: the disk at an earlier time; None if unknown.
    """

    server: ServerFacts
    replicas: Sequence[ReplicaStatus]
    disk: Disk
    later: Mapping[ReplicaPath, ReplicaStatus] = field(default_factory=dict)
    failing: Sequence[FailingEntry] = ()
    ddl: Sequence[DdlTask] = ()
    registrations: Mapping[ReplicaPath, Registration] = field(default_factory=dict)
    expected: Sequence[ReplicaPath] = ()
    cold: Sequence[ColdFacts] = ()
    before: Disk | None = None
    limits: HealthLimits = field(default_factory=HealthLimits)
