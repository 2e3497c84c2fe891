# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies come with SQL that has real names, and only where it keeps all rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
    ReplicaEvidence,
    ServerTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.statements import (
    statements_of,
)
from support.memory.evidence import DAY, A, B, partition, replica

FIRST = "/* r1, ClickHouse at r1:8123"
ALONE = f"{FIRST}, on this server alone"
NAMES = ServerTable("ClickHouse at ch1:8123", "db", "hits-2019")


def placed(*replicas: ReplicaEvidence, state: str = "", listed: bool = True) -> PartitionEvidence:
    """Return the evidence with a table on each server; ``listed``: whether it lists its detached folder."""
    known = [
        replace(each, table=NAMES._replace(server=f"ClickHouse at {each.name}:8123"))
        if each.active is not None
        else each
        for each in replicas
    ]
    if not listed:
        known = [replace(each, detached=None) for each in known]
    return partition(*known, state=state)


def told(evidence: PartitionEvidence) -> dict[str, tuple[str, ...]]:
    """Return the statements by replica, for replicas with any."""
    found = {
        each.name: statements_of(evidence, each, verdict)
        for each in evidence.replicas
        for verdict in [judge(evidence)[each.name]]
    }
    return {name: statements for name, statements in found.items() if statements}


def test_an_unregistered_partition_is_detached_and_attached_on_one_server() -> None:
    """The second time would attach the folders that the first time left on the other replica."""
    assert told(placed(replica(disk=A), replica("r2", disk=A), state="COLD")) == {
        "r1": (
            f"{ALONE} */ ALTER TABLE db.`hits-2019` DETACH PARTITION ID '{DAY}'",
            f"{ALONE} */ ALTER TABLE db.`hits-2019` ATTACH PARTITION ID '{DAY}'",
        )
    }


def test_the_server_that_has_all_parts_is_the_one() -> None:
    assert told(placed(replica(disk=A), replica("r2", disk=f"{A} {B}"))).keys() == {"r2"}


def test_a_server_that_does_not_list_its_folder_has_to_be_looked_at() -> None:
    _detach, attach = told(placed(replica(disk=A), listed=False))["r1"]
    assert attach.startswith(f"{ALONE}, if detached/ had no folder of the partition before */")


@pytest.mark.parametrize(
    "evidence",
    [
        placed(replica(disk=A), replica("r2", disk=B)),
        placed(replica(disk=A), replica("r2", disk=None)),
        placed(replica(disk=A, detached=f"ignored_{B}")),
        placed(replica(disk=A, detached=B)),
        placed(replica(disk=f"{A} {B}", cold=B), state="COLD"),
        partition(replica(disk=A)),
    ],
    ids=["no server has all", "silent", "set aside", "detached", "partly in cold", "no table known"],
)
def test_no_statement_that_could_lose_or_double_rows(evidence: PartitionEvidence) -> None:
    assert FindingKind.UNREGISTERED in {each.kind for each in judge(evidence).values()}
    assert told(evidence) == {}


def test_several_cold_parts_are_merged_once_and_not_while_they_are_cold() -> None:
    both = f"{A} {B}"
    evidence = placed(replica(cold=both, disk=both), replica("r2", cold=both, disk=both), state="COLD")
    when = f"{FIRST}, only after part_move with state: hot brought the partition back */"
    assert told(evidence) == {"r1": (f"{when} OPTIMIZE TABLE db.`hits-2019` PARTITION ID '{DAY}' FINAL",)}


def test_several_cold_parts_are_merged_on_the_first_server_that_answers() -> None:
    both = f"{A} {B}"
    silent = replica(cold=both, disk=None)
    evidence = placed(silent, replica("r2", cold=both, disk=both), state="COLD")
    assert judge(evidence)["r2"].kind is FindingKind.SEVERAL_COLD_PARTS
    assert told(evidence).keys() == {"r2"}


@pytest.mark.parametrize(
    ("evidence", "kind"),
    [
        (placed(replica(cold=A), state="COLD"), FindingKind.GHOST),
        (placed(replica(cold=A)), FindingKind.DROPPED),
        (placed(replica(cold=A), replica("r2", cold=A, disk=A), state="COLD"), FindingKind.LACKS_DATA),
        (placed(replica(hot=A, detached=f"ignored_{A}")), FindingKind.SET_ASIDE),
    ],
    ids=["ghost", "dropped", "lacks data", "set aside"],
)
def test_where_people_have_to_find_out_there_is_a_query(
    evidence: PartitionEvidence, kind: FindingKind
) -> None:
    assert judge(evidence)["r1"].kind is kind
    (statement,) = told(evidence)["r1"]
    assert statement == (
        f"{FIRST} */ SELECT name, rows, modification_time FROM system.parts WHERE active"
        f" AND database = 'db' AND table = 'hits-2019' AND partition_id = '{DAY}' ORDER BY name"
    )


def test_a_part_that_is_yet_to_be_fetched() -> None:
    (statement,) = told(placed(replica(hot=A)))["r1"]
    assert statement.endswith("FROM system.replication_queue WHERE database = 'db' AND table = 'hits-2019'")


def test_a_name_does_not_end_its_comment() -> None:
    odd = replica("*/ DROP TABLE t /*", disk=A)
    (detach, _attach) = told(placed(odd))[odd.name]
    assert detach.index("*/") == detach.index("*/ ALTER TABLE")


def test_consistent_partitions_have_none() -> None:
    assert told(placed(replica(hot=A, disk=A))) == {}
