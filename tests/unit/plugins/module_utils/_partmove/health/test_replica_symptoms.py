# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms of a server's replicas."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    FailingEntry,
    Registration,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.replica_symptoms import (
    REPLICA_SYMPTOMS,
)
from support.memory.health import (
    BEHIND,
    EXPIRED,
    LOG,
    OTHER,
    PATH,
    READ_ONLY,
    ROW,
    SERVER,
    Case,
    T,
    U,
    seen,
    sentences,
    task,
)

CASES: list[Case] = [
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


@pytest.mark.parametrize(
    ("changes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_which_facts_show_which_symptoms(changes: dict[str, Any], expected: list[str]) -> None:
    assert seen(REPLICA_SYMPTOMS, changes) == expected


def test_every_symptom_has_a_case() -> None:
    shown = {text.split()[0] for case in CASES for text in case[2]}
    assert shown == {symptom.name for symptom in REPLICA_SYMPTOMS}


TAKEN = "the server does not have this replica, but ZooKeeper has it"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {"server": SERVER._replace(zookeeper_problem="Coordination\n error: x")},
            "the server cannot read from ZooKeeper: Coordination error: x",
        ),
        (
            {"replicas": [READ_ONLY], "registrations": {PATH: Registration(False)}},
            "the table is read-only, and there is no /p/t/replicas/r1 in ZooKeeper",
        ),
        (
            {"replicas": [READ_ONLY], "registrations": {PATH: Registration(True, True, "ch2")}},
            "the table is read-only: another session has /p/t/replicas/r1 active; ch2 had it last",
        ),
        (
            {"expected": [OTHER], "registrations": {OTHER: Registration(True)}},
            f"{TAKEN}; a server that left no address had it last",
        ),
        ({"replicas": [ROW, ROW._replace(key=U)]}, "2 tables of the server are this replica: d.t, d.u"),
        ({"replicas": [ROW._replace(delay=61)]}, "the replica is 61 s behind, and 60 s are allowed"),
        (
            {"replicas": [ROW._replace(delay=1)], "later": {PATH: ROW._replace(delay=2)}},
            "its delay grew from 1 s to 2 s",
        ),
        (
            {"replicas": [ROW._replace(queue=9, queue_age=61)]},
            "the oldest of the 9 queue entries is 61 s old, and 60 s are allowed",
        ),
        (
            {"failing": [FailingEntry(T, "GET_PART", "2019_0_0_0", 3, "no\n disk")]},
            "GET_PART of 2019_0_0_0 failed, 3 attempts so far: no disk",
        ),
        (
            {"replicas": [ROW._replace(log=LOG._replace(active_replicas=1))]},
            "of its 2 replicas 1 are active",
        ),
    ],
)
def test_what_is_said_of_them(changes: dict[str, Any], what: str) -> None:
    assert sentences(REPLICA_SYMPTOMS, changes) == [what]


def test_the_content_of_a_statement_is_not_reported() -> None:
    assert sentences(REPLICA_SYMPTOMS, {"ddl": [task(a="Code: 1")]}) == [
        "CREATE TABLE d.x was given 61 s ago and is not executed on b",
        "CREATE TABLE d.x failed on a: Code: 1",
    ]
