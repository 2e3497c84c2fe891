# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy server, to be made ill by a test of symptoms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    ColdFacts,
    DdlTask,
    Disk,
    DiskPartition,
    DiskTable,
    HealthFacts,
    LogPosition,
    ReplicaPath,
    ReplicaStatus,
    ServerFacts,
    TableKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.symptom import (
    Finding,
    Symptom,
)

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


def parts(*names: str, rows: int = 3) -> dict[str, DiskPartition]:
    """One partition."""
    return {"2019": DiskPartition(rows, names)}


def many(count: int) -> Disk:
    """A disk with so many parts in one partition."""
    return disk(parts(*(f"2019_{number}_{number}_0" for number in range(count))))


def cold(
    *missing: str,
    not_ready: str | None = None,
    ids: tuple[str, ...] = ("2019",),
    unregistered: tuple[str, ...] = (),
) -> tuple[ColdFacts]:
    """What the ensembles say of the table."""
    return (ColdFacts(T, "/p/t", ids, not_ready, missing, unregistered),)


def task(age: int = 61, **finished: str) -> DdlTask:
    """A statement for the hosts a and b."""
    return DdlTask("/ddl/query-1", "CREATE TABLE d.x (p String) ENGINE = S('pw')", age, ("a", "b"), finished)


HEALTHY = HealthFacts(SERVER, [ROW], disk())

Case = tuple[str, dict[str, Any], list[str]]
"""What is so, the facts that HEALTHY has otherwise, and the symptoms with the places that they show at."""


def seen(symptoms: Iterable[Symptom], changes: dict[str, Any]) -> list[str]:
    """The symptoms that the facts show, each with its place."""
    return [f"{each.symptom} {each.where}" for each in findings(symptoms, changes)]


def sentences(symptoms: Iterable[Symptom], changes: dict[str, Any]) -> list[str]:
    """What is said of the symptoms that the facts show."""
    return [each.what for each in findings(symptoms, changes)]


def findings(symptoms: Iterable[Symptom], changes: dict[str, Any]) -> list[Finding]:
    """What the symptoms find in the facts."""
    facts = replace(HEALTHY, **changes)
    return [finding for symptom in symptoms for finding in symptom.findings(facts)]
