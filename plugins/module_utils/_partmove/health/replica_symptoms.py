# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of replication: sessions, queues, delays, and statements of ON CLUSTER."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..text import first_few, shortened
from .facts import DdlTask, HealthFacts, Registration, ReplicaPath, ReplicaStatus
from .symptom import Occurrence, Severity, Symptom

_TRIES = 3
"""Attempts after which an entry of the queue counts as failing."""

_UNKNOWN = Registration(exists=True)
"""Nothing is known of the replica in ZooKeeper, so nothing is said of it."""


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
                str(replica.key), "its session with ZooKeeper has expired, and no new one is in use yet"
            )


def _read_only(facts: HealthFacts) -> Iterator[tuple[ReplicaStatus, Registration]]:
    """Tables that take no inserts although ZooKeeper can be reached."""
    if facts.server.zookeeper_problem is None:
        for replica in facts.replicas:
            if replica.read_only and not replica.session_expired:
                yield replica, facts.registrations.get(replica.path, _UNKNOWN)


def _metadata_lost(facts: HealthFacts) -> Iterator[Occurrence]:
    for replica, registration in _read_only(facts):
        if not registration.exists:
            yield Occurrence(
                str(replica.key), f"it is read-only, and there is no {replica.path} in ZooKeeper"
            )


def _replica_exists(facts: HealthFacts) -> Iterator[Occurrence]:
    for replica, registration in _read_only(facts):
        if registration.exists and registration.active:
            host = registration.host or "a server that left no address"
            what = f"it is read-only, because {replica.path} is active in another session; {host} had it last"
            yield Occurrence(str(replica.key), what)
    for path in _missing(facts):
        registration = facts.registrations.get(path, _UNKNOWN)
        if path in facts.registrations and registration.exists:
            host = registration.host or "a server that left no address"
            what = f"the server does not have this replica, and it is there in ZooKeeper; {host} had it last"
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
            yield Occurrence(str(replica.key), "it is read-only, and its session with ZooKeeper is alive")


def _working(facts: HealthFacts) -> Iterator[tuple[ReplicaStatus, ReplicaStatus | None]]:
    """Replicas that can do their work, as they were first and a little later."""
    for replica in facts.replicas:
        if not replica.read_only and not replica.session_expired:
            yield replica, facts.later.get(replica.path)


def _delay_too_long(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        delay = (later or first).delay
        if delay > facts.limits.max_delay:
            yield Occurrence(
                str(first.key), f"it is {delay} s behind, and {facts.limits.max_delay} s are allowed"
            )


def _delay_growing(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        if later is not None and first.delay < later.delay <= facts.limits.max_delay:
            yield Occurrence(str(first.key), f"its delay went from {first.delay} s to {later.delay} s")


def _queue_backlog(facts: HealthFacts) -> Iterator[Occurrence]:
    for first, later in _working(facts):
        last = later or first
        if last.queue_age > facts.limits.max_queue_age:
            yield Occurrence(
                str(first.key),
                f"of the {last.queue} entries in its queue one is {last.queue_age} s old, and"
                f" {facts.limits.max_queue_age} s are allowed",
            )
        elif later is not None and _stands_still(first, later):
            yield Occurrence(str(first.key), "it does not take over new entries of the log")


def _stands_still(first: ReplicaStatus, later: ReplicaStatus) -> bool:
    """Whether there were entries of the log to take over and the replica took none."""
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
            what = f"{_statement(task)} was given {task.age} s ago and is not executed on {first_few(open_hosts)}"
            yield Occurrence(task.path, what)


def _ddl_failed(facts: HealthFacts) -> Iterator[Occurrence]:
    for task in facts.ddl:
        failed = [host for host in task.hosts if task.finished.get(host)]
        if failed:
            answer = shortened(task.finished[failed[0]])
            yield Occurrence(task.path, f"{_statement(task)} failed on {first_few(failed)}: {answer}")


def _statement(task: DdlTask) -> str:
    """What the statement is about; the rest of it may hold passwords."""
    return " ".join(task.query.split()[:3])


REPLICA_SYMPTOMS = (
    Symptom(
        "no_zookeeper",
        Severity.ERROR,
        "The server is not connected to ZooKeeper; its replicated tables are read-only.",
        "system.zookeeper, the log of the server, telnet HOST 2181",
        "Check zookeeper in its config, the firewall and the ensemble; tables are back within a minute after"
        " ZooKeeper is, else restart the server",
        _no_zookeeper,
    ),
    Symptom(
        "metadata_lost",
        Severity.ERROR,
        "A table is read-only because its znodes are gone.",
        "system.replicas, system.zookeeper",
        "Do not restart the server, which may not start without them; from 21.8 on SYSTEM RESTORE REPLICA,"
        " before that make a table with another path and ATTACH PARTITION ... FROM this one",
        _metadata_lost,
    ),
    Symptom(
        "replica_exists",
        Severity.ERROR,
        "Replica ... already exists: two tables, on one server or on two, want to be the same replica.",
        "system.replicas, the znode host of the replica",
        "Give each its own {replica} (macros), then DETACH and ATTACH or create the table again; remove the"
        " replica of a server that is gone for good first; an earlier session of the same server ends by"
        " itself",
        _replica_exists,
    ),
    Symptom(
        "replica_missing",
        Severity.ERROR,
        "A replica that the server should have is not there.",
        "system.replicas",
        "ATTACH the table if it is detached, else create it; with cold partitions bring them back to the hot"
        " ensemble first",
        _replica_missing,
    ),
    Symptom(
        "read_only",
        Severity.ERROR,
        "A table takes no inserts although ZooKeeper can be reached.",
        "system.replicas, the log of the server",
        "Wait a minute after a start; if it stays so, see the log of the server for the table",
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
        "See which entries wait and why (postpone_reason, last_exception); check disk, CPU and network of the"
        " server, and that fetches and queues are not stopped",
        _delay_growing,
    ),
    Symptom(
        "queue_backlog",
        Severity.WARNING,
        "A replica has work left that is older than allowed, or does not take over the log.",
        "system.replication_queue",
        "Wait, or SYSTEM SYNC REPLICA; see postpone_reason and last_exception of the oldest entries",
        _queue_backlog,
    ),
    Symptom(
        "queue_failing",
        Severity.WARNING,
        "An entry of the queue fails again and again.",
        "system.replication_queue (num_tries, last_exception)",
        "See what the exception says; a part that no replica has any more is lost, unless it is in a detached"
        " folder or registered in the cold ensemble",
        _queue_failing,
    ),
    Symptom(
        "replicas_inactive",
        Severity.WARNING,
        "Another replica of a table is not there.",
        "system.replicas (active_replicas)",
        "Start its server and see its health",
        _replicas_inactive,
    ),
    Symptom(
        "ddl_unfinished",
        Severity.WARNING,
        "A statement of ON CLUSTER was not executed on all hosts, so definitions may differ.",
        "system.zookeeper below the path of distributed_ddl",
        "Start the hosts, which then execute it; for a host that is gone change remote_servers. Always use"
        " ON CLUSTER for DDL, so that no host is forgotten",
        _ddl_unfinished,
    ),
    Symptom(
        "ddl_failed",
        Severity.WARNING,
        "A statement of ON CLUSTER failed on a host, so definitions may differ.",
        "system.zookeeper below the path of distributed_ddl",
        "Compare the definitions of the table on the hosts and give the statement again where it is missing",
        _ddl_failed,
    ),
)
"""All of these symptoms, in the order in which findings are told."""
