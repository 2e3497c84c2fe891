# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of replication: sessions, queues, delays, and ON CLUSTER statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..text import first_few, shortened
from .facts import DdlTask, HealthFacts, Registration, ReplicaPath, ReplicaStatus
from .symptom import Occurrence, Severity, Symptom

_TRIES = 3
"""Attempts after which a queue entry counts as failing."""

_UNKNOWN = Registration(exists=True)
"""Stands for a replica whose znodes were not read: causes no symptom."""


def _no_zookeeper(facts: HealthFacts) -> Iterator[Occurrence]:
    problem = facts.server.zookeeper_problem
    if problem:
        yield Occurrence(facts.server.address, f"the server cannot read from ZooKeeper: {shortened(problem)}")
    elif problem is not None and (facts.replicas or facts.expected):
        yield Occurrence(facts.server.address, "ZooKeeper is not in the configuration of the server")
    if problem is not None:
        return
    for replica in facts.replicas:
        if replica.session_expired:
            yield Occurrence(
                str(replica.key), "its ZooKeeper session has expired, and the server uses no new session yet"
            )


def _read_only(facts: HealthFacts) -> Iterator[tuple[ReplicaStatus, Registration]]:
    """Yield the tables that take no inserts although ZooKeeper can be reached."""
    if facts.server.zookeeper_problem is None:
        for replica in facts.replicas:
            if replica.read_only and not replica.session_expired:
                yield replica, facts.registrations.get(replica.path, _UNKNOWN)


def _metadata_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    for replica, registration in _read_only(facts):
        if not registration.exists:
            yield Occurrence(
                str(replica.key), f"the table is read-only, and there is no {replica.path} in ZooKeeper"
            )


def _replica_exists(facts: HealthFacts) -> Iterator[Occurrence]:
    for replica, registration in _read_only(facts):
        if registration.exists and registration.active:
            host = registration.host or "a server that left no address"
            what = f"the table is read-only: another session has {replica.path} active; {host} had it last"
            yield Occurrence(str(replica.key), what)
    for path in _missing(facts):
        registration = facts.registrations.get(path, _UNKNOWN)
        if path in facts.registrations and registration.exists:
            host = registration.host or "a server that left no address"
            what = f"the server does not have this replica, but ZooKeeper has it; {host} had it last"
            yield Occurrence(str(path), what)
    for path, count in Counter(each.path for each in facts.replicas).items():
        if count > 1:
            names = sorted(str(each.key) for each in facts.replicas if each.path == path)
            yield Occurrence(str(path), f"{count} tables of the server are this replica: {', '.join(names)}")


def _replica_missing(facts: HealthFacts) -> Iterator[Occurrence]:
    for path in _missing(facts):
        registration = facts.registrations.get(path)
        if registration is None or not registration.exists:
            yield Occurrence(str(path), "the server does not have this replica")


def _missing(facts: HealthFacts) -> list[ReplicaPath]:
    present = {replica.path for replica in facts.replicas}
    return [path for path in facts.expected if path not in present]


def _read_only_otherwise(facts: HealthFacts) -> Iterator[Occurrence]:
    for replica, registration in _read_only(facts):
        if registration.exists and not registration.active:
            yield Occurrence(str(replica.key), "the table is read-only, and its ZooKeeper session is alive")


def _working(facts: HealthFacts) -> Iterator[tuple[ReplicaStatus, ReplicaStatus | None]]:
    """Yield the replicas that can do their work: at first, and a little later."""
    for replica in facts.replicas:
        if not replica.read_only and not replica.session_expired:
            yield replica, facts.later.get(replica.path)


def _delay_too_long(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        delay = (later or first).delay
        if delay > facts.limits.max_delay:
            yield Occurrence(
                str(first.key), f"the replica is {delay} s behind, and {facts.limits.max_delay} s are allowed"
            )


def _delay_growing(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        if later is not None and first.delay < later.delay <= facts.limits.max_delay:
            yield Occurrence(str(first.key), f"its delay grew from {first.delay} s to {later.delay} s")


def _queue_backlog(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        last = later or first
        if last.queue_age > facts.limits.max_queue_age:
            yield Occurrence(
                str(first.key),
                f"the oldest of the {last.queue} queue entries is {last.queue_age} s old, and"
                f" {facts.limits.max_queue_age} s are allowed",
            )
        elif later is not None and _stands_still(first, later):
            yield Occurrence(str(first.key), "the replica does not copy new log entries to its queue")


def _stands_still(first: ReplicaStatus, later: ReplicaStatus) -> bool:
    """Whether the log had new entries and the replica copied none of them."""
    if first.log is None or later.log is None:
        return False
    return bool(first.log.lag) and first.log.pointer == later.log.pointer


def _queue_failing(facts: HealthFacts) -> Iterator[Occurrence]:
    for entry in facts.failing:
        if entry.tries >= _TRIES:
            yield Occurrence(
                str(entry.key),
                f"{entry.kind} of {entry.part} failed, {entry.tries} attempts so far:"
                f" {shortened(entry.exception)}",
            )


def _replicas_inactive(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        log = (later or first).log
        if log is not None and log.active_replicas < log.total_replicas:
            yield Occurrence(
                str(first.key), f"of its {log.total_replicas} replicas {log.active_replicas} are active"
            )


def _ddl_unfinished(facts: HealthFacts) -> Iterator[Occurrence]:
    for task in facts.ddl:
        open_hosts = [host for host in task.hosts if host not in task.finished]
        if open_hosts and task.age > facts.limits.ddl_grace:
            hosts = first_few(open_hosts)
            what = f"{_statement(task)} was given {task.age} s ago and is not executed on {hosts}"
            yield Occurrence(task.path, what)


def _ddl_failed(facts: HealthFacts) -> Iterator[Occurrence]:
    for task in facts.ddl:
        failed = [host for host in task.hosts if task.finished.get(host)]
        if failed:
            answer = shortened(task.finished[failed[0]])
            yield Occurrence(task.path, f"{_statement(task)} failed on {first_few(failed)}: {answer}")


def _statement(task: DdlTask) -> str:
    """Return the first words of the statement; the rest may hold passwords."""
    return " ".join(task.query.split()[:3])


REPLICA_SYMPTOMS = (
    Symptom(
        "no_zookeeper",
        Severity.ERROR,
        "The server is not connected to ZooKeeper; its replicated tables are read-only.",
        "system.zookeeper, the log of the server, telnet HOST 2181",
        "Check zookeeper in its config, the firewall and the ensemble; the tables recover within a minute"
        " after ZooKeeper does, else restart the server",
        _no_zookeeper,
    ),
    Symptom(
        "metadata_lost",
        Severity.ERROR,
        "A table is read-only because its znodes are gone.",
        "system.replicas, system.zookeeper",
        "Do not restart the server, which may not start without the znodes; from 21.8 on use SYSTEM RESTORE"
        " REPLICA; before 21.8 create a table with another path and ATTACH PARTITION ... FROM this table",
        _metadata_lost,
    ),
    Symptom(
        "replica_exists",
        Severity.ERROR,
        "Replica ... already exists: two tables, on one server or on two, are the same replica.",
        "system.replicas, the znode host of the replica",
        "An earlier session of the same server ends by itself. Else give each table its own {replica}"
        " (macros), then DETACH and ATTACH it; never DROP one of the two tables, which deletes the znodes of"
        " both. Only if the server in the znode host is gone for good with its data, and no server has the"
        " table, not even detached, run SYSTEM DROP REPLICA, which refuses a replica with a session",
        _replica_exists,
    ),
    Symptom(
        "replica_missing",
        Severity.ERROR,
        "A replica that the server should have does not exist.",
        "system.replicas",
        "ATTACH the table if it is detached, else create the table; with cold partitions first bring them"
        " back to the hot ensemble (part_move with state: hot)",
        _replica_missing,
    ),
    Symptom(
        "read_only",
        Severity.ERROR,
        "A table takes no inserts although ZooKeeper can be reached.",
        "system.replicas, the log of the server",
        "Wait a minute after a start; if the table stays read-only, read the log of the server for the table",
        _read_only_otherwise,
    ),
    Symptom(
        "delay_too_long",
        Severity.ERROR,
        "A replica is further behind than allowed.",
        "system.replicas (absolute_delay), system.replication_queue",
        "Wait, or SYSTEM SYNC REPLICA; check disk, CPU and network of the server, and the entries that fail",
        _delay_too_long,
    ),
    Symptom(
        "delay_growing",
        Severity.WARNING,
        "A replica falls behind more and more.",
        "system.replicas (absolute_delay), system.replication_queue",
        "Check which entries wait and why (postpone_reason, last_exception); check disk, CPU and network"
        " of the server, and that fetches and queues are not stopped",
        _delay_growing,
    ),
    Symptom(
        "queue_backlog",
        Severity.WARNING,
        "A replica has queue entries that are older than allowed, or does not copy new log entries.",
        "system.replication_queue",
        "Wait, or SYSTEM SYNC REPLICA; read postpone_reason and last_exception of the oldest entries",
        _queue_backlog,
    ),
    Symptom(
        "queue_failing",
        Severity.WARNING,
        "A queue entry fails again and again.",
        "system.replication_queue (num_tries, last_exception)",
        "Read the exception; a part that no replica has any more is lost, unless the part is in a detached"
        " folder or registered in the cold ensemble",
        _queue_failing,
    ),
    Symptom(
        "replicas_inactive",
        Severity.WARNING,
        "Another replica of a table is not active.",
        "system.replicas (active_replicas)",
        "Start its server, and check it with replica_info",
        _replicas_inactive,
    ),
    Symptom(
        "ddl_unfinished",
        Severity.WARNING,
        "An ON CLUSTER statement was not executed on all hosts, so table definitions may differ.",
        "system.zookeeper below the path of distributed_ddl",
        "Start the hosts, which then execute the statement; for a host that is gone change remote_servers."
        " Always use ON CLUSTER for DDL, so that no host is forgotten",
        _ddl_unfinished,
    ),
    Symptom(
        "ddl_failed",
        Severity.WARNING,
        "An ON CLUSTER statement failed on a host, so table definitions may differ.",
        "system.zookeeper below the path of distributed_ddl",
        "Compare the definitions of the table on the hosts and repeat the statement on the hosts that lack"
        " it",
        _ddl_failed,
    ),
)
"""These symptoms, in the order of the report."""
