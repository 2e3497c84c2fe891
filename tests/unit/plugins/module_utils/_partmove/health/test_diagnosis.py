# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which facts of a server make which findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.diagnosis import (
    SYMPTOMS,
    diagnose,
    has_caught_up,
    is_healthy,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    ColdFacts,
    DdlTask,
    Disk,
    DiskPartition,
    DiskTable,
    FailingEntry,
    HealthFacts,
    Limits,
    LogPosition,
    Registration,
    ReplicaPath,
    ReplicaStatus,
    ServerFacts,
    TableKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.symptom import Severity

T, U = TableKey("d", "t"), TableKey("d", "u")
PATH = ReplicaPath("/p/t", "r1")
OTHER = ReplicaPath("/p/u", "r1")
SERVER = ServerFacts("ch1", "18.16.1", uptime=100, now=1000, parts_to_delay=3, parts_to_throw=5)
LOG = LogPosition(max_index=9, pointer=10, total_replicas=2, active_replicas=2)
BEHIND = LOG._replace(pointer=8)
ROW = ReplicaStatus(T, "ReplicatedMergeTree", "/p/t", "r1", True, False, False, 0, 0, 0, LOG)
READ_ONLY = ROW._replace(read_only=True)
EXPIRED = READ_ONLY._replace(session_expired=True)
PART = {"2019": DiskPartition(3, ("2019_0_0_0",))}


def disk(
    parts: dict[str, DiskPartition] | None = None, detached: frozenset[str] | None = frozenset(), **table: Any
) -> Disk:
    """A disk with one table."""
    fields = {"engine": "ReplicatedMergeTree", "ttl": False, **table}
    partitions = PART if parts is None else parts
    return Disk({T: DiskTable(fields["engine"], fields["ttl"], partitions)}, {T: detached})


HEALTHY = HealthFacts(SERVER, [ROW], disk())


def parts(*names: str, rows: int = 3) -> dict[str, DiskPartition]:
    """One partition."""
    return {"2019": DiskPartition(rows, names)}


def many(count: int) -> Disk:
    """A disk with so many parts in one partition."""
    return disk(parts(*(f"2019_{number}_{number}_0" for number in range(count))))


def cold(*missing: str, not_ready: str | None = None, ids: tuple[str, ...] = ("2019",)) -> tuple[ColdFacts]:
    """What the ensembles say of the table."""
    return (ColdFacts(T, "/p/t", ids, not_ready, missing),)


def task(age: int = 61, **finished: str) -> DdlTask:
    """A statement for the hosts a and b."""
    return DdlTask("/ddl/query-1", "CREATE TABLE d.x (p String) ENGINE = S('pw')", age, ("a", "b"), finished)


Case = tuple[str, dict[str, Any], list[str]]

REPLICATION: list[Case] = [
    ("nothing", {}, []),
    ("no replicas, no ZooKeeper", {"replicas": [], "server": SERVER._replace(zookeeper_problem="")}, []),
    ("replicas, no ZooKeeper", {"server": SERVER._replace(zookeeper_problem="")}, ["no_zookeeper ch1"]),
    (
        "out of reach",
        {"server": SERVER._replace(zookeeper_problem="gone"), "replicas": [EXPIRED]},
        ["no_zookeeper ch1"],
    ),
    ("session expired", {"replicas": [EXPIRED]}, ["no_zookeeper d.t"]),
    ("read-only, reason not known", {"replicas": [READ_ONLY]}, ["read_only d.t"]),
    (
        "read-only, no znodes",
        {"replicas": [READ_ONLY], "registrations": {PATH: Registration(False)}},
        ["metadata_lost d.t"],
    ),
    (
        "read-only, active elsewhere",
        {"replicas": [READ_ONLY], "registrations": {PATH: Registration(True, True, "ch2")}},
        ["replica_exists d.t"],
    ),
    (
        "read-only otherwise",
        {"replicas": [READ_ONLY], "registrations": {PATH: Registration(True)}},
        ["read_only d.t"],
    ),
    ("expected and there", {"expected": [PATH]}, []),
    ("expected and unknown", {"expected": [OTHER]}, ["replica_missing /p/u/replicas/r1"]),
    (
        "expected and nowhere",
        {"expected": [OTHER], "registrations": {OTHER: Registration(False)}},
        ["replica_missing /p/u/replicas/r1"],
    ),
    (
        "expected and taken",
        {"expected": [OTHER], "registrations": {OTHER: Registration(True)}},
        ["replica_exists /p/u/replicas/r1"],
    ),
    ("one replica twice", {"replicas": [ROW, ROW._replace(key=U)]}, ["replica_exists /p/t/replicas/r1"]),
    ("delay as allowed", {"replicas": [ROW._replace(delay=60)]}, []),
    ("delay too long", {"replicas": [ROW._replace(delay=61)]}, ["delay_too_long d.t"]),
    (
        "delay was too long",
        {"replicas": [ROW._replace(delay=61)], "later": {PATH: ROW._replace(delay=60)}},
        [],
    ),
    (
        "delay grows",
        {"replicas": [ROW._replace(delay=1)], "later": {PATH: ROW._replace(delay=2)}},
        ["delay_growing d.t"],
    ),
    (
        "delay grows too long",
        {"replicas": [ROW._replace(delay=60)], "later": {PATH: ROW._replace(delay=61)}},
        ["delay_too_long d.t"],
    ),
    ("delay stays", {"replicas": [ROW._replace(delay=5)], "later": {PATH: ROW._replace(delay=5)}}, []),
    ("read-only is told alone", {"replicas": [EXPIRED._replace(delay=99)]}, ["no_zookeeper d.t"]),
    ("queue as allowed", {"replicas": [ROW._replace(queue=9, queue_age=60)]}, []),
    ("old queue", {"replicas": [ROW._replace(queue=9, queue_age=61)]}, ["queue_backlog d.t"]),
    (
        "queue was old",
        {"replicas": [ROW._replace(queue_age=61)], "later": {PATH: ROW._replace(queue_age=1)}},
        [],
    ),
    ("log not taken over at one look", {"replicas": [ROW._replace(log=BEHIND)]}, []),
    (
        "log not taken over",
        {"replicas": [ROW._replace(log=BEHIND)], "later": {PATH: ROW._replace(log=BEHIND)}},
        ["queue_backlog d.t"],
    ),
    (
        "log being taken over",
        {
            "replicas": [ROW._replace(log=BEHIND)],
            "later": {PATH: ROW._replace(log=BEHIND._replace(pointer=9))},
        },
        [],
    ),
    ("log not known", {"replicas": [ROW._replace(log=None)], "later": {PATH: ROW}}, []),
    ("failed twice", {"failing": [FailingEntry(T, "GET_PART", "2019_0_0_0", 2, "x")]}, []),
    (
        "failed again",
        {"failing": [FailingEntry(T, "GET_PART", "2019_0_0_0", 3, "x")]},
        ["queue_failing d.t"],
    ),
    (
        "a replica is away",
        {"replicas": [ROW._replace(log=LOG._replace(active_replicas=1))]},
        ["replicas_inactive d.t"],
    ),
    ("ON CLUSTER done", {"ddl": [task(a="", b="")]}, []),
    ("ON CLUSTER young", {"ddl": [task(60, a="")]}, []),
    ("ON CLUSTER open", {"ddl": [task(a="")]}, ["ddl_unfinished /ddl/query-1"]),
    ("ON CLUSTER failed", {"ddl": [task(a="", b="Code: 60")]}, ["ddl_failed /ddl/query-1"]),
]

DISK: list[Case] = [
    ("few parts", {"disk": many(2)}, []),
    ("many parts", {"disk": many(3)}, ["many_parts d.t"]),
    ("nearly too many parts", {"disk": many(4)}, ["many_parts d.t"]),
    ("too many parts", {"disk": many(5)}, ["too_many_parts d.t"]),
    (
        "no limits",
        {"disk": many(9), "server": SERVER._replace(parts_to_delay=0, parts_to_throw=0)},
        [],
    ),
    ("ignored", {"disk": disk(detached=frozenset({"ignored_2018_0_0_0"}))}, ["detached_parts d.t"]),
    ("unexpected", {"disk": disk(detached=frozenset({"unexpected_2018_0_0_0"}))}, ["detached_parts d.t"]),
    ("detached by hand", {"disk": disk(detached=frozenset({"2018_0_0_0"}))}, []),
    ("detached not known", {"disk": disk(detached=None)}, []),
    ("cold and ready", {"cold": cold()}, []),
    ("cold not looked at", {"cold": [cold()[0]._replace(missing=None)]}, []),
    ("cold part missing", {"cold": cold("2019_0_0_0")}, ["cold_missing d.t"]),
    ("cold, not in the ledger", {"cold": cold(not_ready="x")}, ["state_without_ledger d.t"]),
    ("hot, not in the ledger", {"cold": cold(not_ready="x", ids=())}, []),
    (
        "cold, patched, not in the ledger",
        {"cold": cold(not_ready="x"), "server": SERVER._replace(patched=True)},
        ["ledger_stale d.t"],
    ),
    (
        "cold, not patched",
        {"cold": cold(not_ready="x"), "server": SERVER._replace(patched=False)},
        ["unpatched d.t"],
    ),
    ("hot, not patched", {"cold": cold(ids=()), "server": SERVER._replace(patched=False)}, []),
    ("as old as the configuration", {"limits": Limits(config_changed_at=900.9)}, []),
    ("older than the configuration", {"limits": Limits(config_changed_at=901.0)}, ["old_process ch1"]),
]

AFTER = disk()
LOSS: list[Case] = [
    ("the same", {"before": AFTER}, []),
    ("new table", {"before": Disk({}, {})}, []),
    ("table gone", {"before": AFTER, "disk": Disk({}, {})}, ["table_lost d.t"]),
    ("empty table gone", {"before": disk({}), "disk": Disk({}, {})}, []),
    ("partition gone", {"before": AFTER, "disk": disk({})}, ["partition_lost d.t"]),
    ("partition without rows gone", {"before": disk(parts("2019_0_0_0", rows=0)), "disk": disk({})}, []),
    ("more rows", {"before": AFTER, "disk": disk(parts("2019_0_0_0", "2019_1_1_0", rows=5))}, []),
    (
        "merged",
        {"before": disk(parts("2019_0_0_0", "2019_1_1_0")), "disk": disk(parts("2019_0_1_1"))},
        [],
    ),
    ("mutated", {"before": AFTER, "disk": disk(parts("2019_0_0_0_1"))}, []),
    ("merged alone", {"before": AFTER, "disk": disk(parts("2019_0_0_1"))}, []),
    (
        "replaced with as many rows",
        {"before": AFTER, "disk": disk(parts("2019_1_1_0"))},
        ["part_lost d.t"],
    ),
    (
        "one of two gone, inserts hide it",
        {"before": disk(parts("2019_0_0_0", "2019_1_1_0")), "disk": disk(parts("2019_0_0_0", rows=9))},
        ["part_lost d.t"],
    ),
    (
        "fewer rows in the same part",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0", rows=2))},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a plain merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2))},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a merge that replaces",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), engine="ReplicatedReplacingMergeTree")},
        ["rows_merged d.t"],
    ),
    (
        "fewer rows of a replacing table without a merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0", rows=2), engine="ReplicatedReplacingMergeTree")},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a TTL merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), ttl=True)},
        ["rows_merged d.t"],
    ),
    (
        "fewer rows after a mutation",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0_1", rows=2))},
        ["rows_merged d.t"],
    ),
    (
        "old-style names",
        {
            "before": disk({"201912": DiskPartition(3, ("20191201_20191202_0_0_0",))}),
            "disk": disk({"201912": DiskPartition(3, ("20191201_20191205_0_3_1",))}),
        },
        [],
    ),
    (
        "detached since",
        {"before": AFTER, "disk": disk(detached=frozenset({"2018_0_0_0"}))},
        ["detached_new d.t"],
    ),
    (
        "detached before",
        {"before": disk(detached=frozenset({"x"})), "disk": disk(detached=frozenset({"x"}))},
        [],
    ),
    ("detached is not known now", {"before": AFTER, "disk": disk(detached=None)}, ["detached_unknown ch1"]),
    ("detached was not known", {"before": disk(detached=None)}, ["detached_unknown ch1"]),
    (
        "detached in a new table",
        {"before": Disk({}, {}), "disk": disk(detached=frozenset({"x"}))},
        ["detached_new d.t"],
    ),
]
CASES = REPLICATION + DISK + LOSS


@pytest.mark.parametrize(
    ("changes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_findings(changes: dict[str, Any], expected: list[str]) -> None:
    findings = diagnose(replace(HEALTHY, **changes))
    assert [f"{each.symptom} {each.where}" for each in findings] == expected
    assert all(each.what and each.remedy and each.see for each in findings)


def test_every_symptom_has_a_case() -> None:
    seen = {text.split()[0] for case in CASES for text in case[2]}
    assert seen == {symptom.name for symptom in SYMPTOMS}
    assert len(SYMPTOMS) == len(seen)


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda each: str(each.name))
def test_severity_decides_about_health(symptom: Any) -> None:
    changes = next(case[1] for case in CASES if any(each.split()[0] == symptom.name for each in case[2]))
    findings = diagnose(replace(HEALTHY, **changes))
    passing = symptom.name in ("delay_growing", "queue_backlog")
    assert is_healthy(findings) == (symptom.severity is not Severity.ERROR)
    assert has_caught_up(findings) == (is_healthy(findings) and not passing)


def test_errors_come_first_and_places_are_sorted() -> None:
    facts = replace(
        HEALTHY,
        replicas=[ROW._replace(delay=99, log=LOG._replace(active_replicas=1))],
        cold=[cold("2019_0_0_0")[0]._replace(key=key) for key in (U, T)],
    )
    assert [(each.symptom, each.where) for each in diagnose(facts)] == [
        ("delay_too_long", "d.t"),
        ("cold_missing", "d.t"),
        ("cold_missing", "d.u"),
        ("replicas_inactive", "d.t"),
    ]


def test_what_a_statement_holds_is_not_told() -> None:
    findings = diagnose(replace(HEALTHY, ddl=[task(a="Code: 1")]))
    assert [each.what for each in findings] == [
        "CREATE TABLE d.x was given 61 s ago and is not executed on b",
        "CREATE TABLE d.x failed on a: Code: 1",
    ]


@pytest.mark.parametrize(
    ("log", "lag"),
    [
        (LogPosition(0, 0, 1, 1), 0),
        (LogPosition(0, 1, 1, 1), 0),
        (LogPosition(9, 10, 1, 1), 0),
        (LogPosition(9, 0, 1, 1), 10),
        (LogPosition(9, 9, 1, 1), 1),
    ],
)
def test_lag_of_the_log(log: LogPosition, lag: int) -> None:
    assert log.lag == lag
