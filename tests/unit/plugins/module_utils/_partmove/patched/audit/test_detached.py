# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which folders in detached are needed."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.detached import (
    DetachedFolder,
    Need,
    detached_folders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import AuditReport
from support.memory.evidence import AB, DAY, A, B, partition, replica


def folders_of(partition_id: str, evidence: PartitionEvidence) -> tuple[DetachedFolder, ...]:
    listed = {each.name: each.detached or frozenset[str]() for each in evidence.replicas}
    return detached_folders(listed, {partition_id: evidence}, 1)


def needs(evidence: PartitionEvidence) -> dict[tuple[str, str], Need]:
    return {(each.replica, each.folder): each.need for each in folders_of(DAY, evidence)}


@pytest.mark.parametrize("folder", [A, f"ignored_{A}", f"broken-on-start_{A}_try2"])
@pytest.mark.parametrize(
    ("evidence", "need"),
    [
        (partition(replica(detached="?"), replica("r2")), Need.YES),
        (partition(replica(detached="?"), replica("r2", disk=A)), Need.YES),
        (partition(replica(detached="?", disk=A), replica("r2", disk=A)), Need.NO),
        (partition(replica(detached="?", disk=B), replica("r2", disk=B)), Need.COMPARE),
        (partition(replica(detached="?"), replica("r2", disk=B)), Need.COMPARE),
        (partition(replica(detached="?"), replica("r2", disk=None)), Need.COMPARE),
        (partition(replica(detached="?"), replica("r9", in_hot=False, disk=None, cold=A)), Need.YES),
    ],
)
def test_a_folder(evidence: PartitionEvidence, need: Need, folder: str) -> None:
    first = replica(disk=" ".join(part.text for part in evidence.replicas[0].active or ()), detached=folder)
    assert needs(partition(first, *evidence.replicas[1:])) == {("r1", folder): need}


def test_a_part_that_covers_a_folder_may_have_been_merged_without_it() -> None:
    assert needs(partition(replica(disk=AB, detached=A))) == {("r1", A): Need.COMPARE}


def test_names_of_no_part_are_left_out_and_unknown_partitions_are_needed() -> None:
    evidence = partition(replica(disk=A, detached="backup 2018_0_0_0"), replica("r2", disk=None))
    assert folders_of(DAY, evidence) == (DetachedFolder("2018", "r1", "2018_0_0_0", Need.YES),)


def test_a_partition_id_that_looks_like_a_reason() -> None:
    evidence = partition(replica(detached="all_0_0_0"))
    assert folders_of("all", evidence) == (DetachedFolder("all", "r1", "all_0_0_0", Need.YES),)


def test_the_summary_names_the_folders_by_need() -> None:
    folders = tuple(
        DetachedFolder(DAY, "r1", f"{DAY}_{number}_{number}_0", need) for number, need in enumerate(Need)
    )
    lines = AuditReport([ShardAudit("/t", (), detached=folders)]).summary()[1:]
    assert [line.partition(":")[0] for line in lines] == ["detached 1"] * 3
    assert [line.rpartition("(")[2] for line in lines] == [
        f"/t r1 {DAY}_{number}_{number}_0)" for number in range(3)
    ]
