# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All that a diagnosis of one server is made from. Times are seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..formats.layout import DEFAULT_ENSEMBLE


class TableKey(NamedTuple):
    """A table as its server calls it."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


class ServerFacts(NamedTuple):
    """What a server says of itself, and of its settings."""

    address: str
    version: str
    uptime: int
    """For how many full seconds its process has run."""
    now: int
    """What its clock said when it was asked, in seconds since 1970."""
    patched: bool | None = None
    """What the sign of the patch said; None without a sign."""
    zookeeper_problem: str | None = None
    """Why the server cannot read from ZooKeeper; None when it can, empty when it is not configured."""
    parts_to_delay: int = 0
    """Active parts of a partition from which on inserts are slowed down; 0 for never."""
    parts_to_throw: int = 0
    """Active parts of a partition from which on inserts are refused; 0 for never."""

    @property
    def started(self) -> int:
        """When the process started, seconds since 1970; less than a second too early or too late."""
        return self.now - self.uptime


class LogPosition(NamedTuple):
    """What a server reads from ZooKeeper for ``system.replicas``."""

    max_index: int
    """The newest entry of the log; 0 also for an empty one."""
    pointer: int
    """The first entry that the replica has not taken over."""
    total_replicas: int
    active_replicas: int

    @property
    def lag(self) -> int:
        """Entries that the replica has yet to take over."""
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
    """How far the replica is behind the others."""
    queue: int
    """Entries in its queue."""
    queue_age: int
    """Age of the oldest of them; 0 for an empty queue."""
    log: LogPosition | None
    """Where the replica is in the log; None when the server could not read that from ZooKeeper."""
    ensemble: str = DEFAULT_ENSEMBLE
    """What the server calls the ensemble that the table is in."""

    @property
    def path(self) -> ReplicaPath:
        """Where the replica is in ZooKeeper."""
        return ReplicaPath(self.shard_path, self.replica)

    @property
    def is_auxiliary(self) -> bool:
        """Whether the table is in another ensemble than that of ``<zookeeper>``, as a cold twin is."""
        return self.ensemble != DEFAULT_ENSEMBLE


class Registration(NamedTuple):
    """What ZooKeeper has of a replica, as the server itself sees it.

    host: address of the server that activated it last; empty where it never was.
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
    """A statement that was given with ON CLUSTER, and what became of it on each host.

    finished: host → what it answered; empty text for success. A host that has not executed it is no key.
    """

    path: str
    query: str
    age: int
    hosts: tuple[str, ...]
    finished: Mapping[str, str]


class DiskPartition(NamedTuple):
    """The active parts of a partition; the names sorted."""

    rows: int
    parts: tuple[str, ...]


class DiskTable(NamedTuple):
    """The active parts of a table, by partition id.

    ttl: whether rows of it expire.
    """

    engine: str
    ttl: bool
    partitions: Mapping[str, DiskPartition]


class Disk(NamedTuple):
    """What a server has on disk, or had.

    detached: names in the ``detached`` folder of each table; None where they are not known.
    """

    tables: Mapping[TableKey, DiskTable]
    detached: Mapping[TableKey, frozenset[str] | None]


class ColdFacts(NamedTuple):
    """What the two ensembles say of one replica.

    cold_partitions: those whose State is COLD, sorted.
    not_ready: why the ledger does not vouch for the replica; None when it does.
    missing: names of parts that cold has registered for the replica and that are not on its disk, by
        themselves or as a part of another one; None when the cold ensemble was not looked at.
    unregistered: names of parts that are active on its disk and that neither ensemble has registered for it,
        by themselves or as a part of another one; None when the ensembles were not looked at.
    """

    key: TableKey
    shard_path: str
    cold_partitions: tuple[str, ...]
    not_ready: str | None
    missing: tuple[str, ...] | None
    unregistered: tuple[str, ...] | None = None


class HealthLimits(NamedTuple):
    """What an operator may set of a diagnosis; ages and delays are in seconds."""

    max_delay: int = 60
    max_queue_age: int = 60
    ddl_grace: int = 60
    """Age from which on a statement of ON CLUSTER should have been executed everywhere."""
    config_changed_at: float | None = None
    """When the configuration was changed, in seconds since 1970; the process has to be younger."""


@dataclass(frozen=True)
class HealthFacts:
    """One server, at one time; ``later`` is what its replicas said a little later, if they were asked again.

    registrations: of the replicas that are expected and not there, and of those that are read-only.
    before: what the server had on disk earlier, if that is known.
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
