# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last registration of a part on a disk stays, whatever a verdict says of it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.by_removal import (
    remove_ghosts,
    remove_registrations,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairCase,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.judged import (
    JudgedPartition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import Remedy
from support.memory.arrange import create
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

REPLICAS = ("r1", "r2")


def removed(
    drifted: Drifted, remedy: Remedy, kind: FindingKind, *, disks_are_mounted: bool = True
) -> set[str]:
    """Let a remedy remove the part of both replicas; returns the partitions that it left."""
    options = RepairOptions(disks_are_mounted=disks_are_mounted)
    case = RepairCase(drifted.context(), ShardLayout(PATH), kind, [DAY], options)
    with case.leased() as leased:
        assert leased.evidence is not None
        verdicts = {each: Verdict(kind, (PART,)) for each in REPLICAS}
        return set(remedy(leased, [JudgedPartition(leased.evidence.partitions[DAY], verdicts)]))


REMOVALS = pytest.mark.parametrize(
    ("remedy", "kind"),
    [
        (remove_ghosts, FindingKind.GHOST),
        (remove_registrations, FindingKind.DROPPED),
        (remove_registrations, FindingKind.FORMER_TABLE),
        (remove_registrations, FindingKind.ANOTHER_REPLICA),
    ],
)


@REMOVALS
@pytest.mark.parametrize("on_disk_of", [("r1", "r2"), ("r1",), ("r2",)])
def test_a_part_on_a_disk_keeps_its_registrations(
    remedy: Remedy, kind: FindingKind, on_disk_of: tuple[str, ...]
) -> None:
    drifted = Drifted()
    bench = drifted.bench
    bench.move()
    for replica in set(REPLICAS) - set(on_disk_of):
        bench.servers.disk[replica].discard(PART)

    assert removed(drifted, remedy, kind) == {DAY}

    assert all(bench.cold.exists(bench.part(each)) is not None for each in REPLICAS)
    assert drifted.done == []


@REMOVALS
def test_a_part_on_no_disk_loses_them(remedy: Remedy, kind: FindingKind) -> None:
    drifted = Drifted()
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)

    assert not removed(drifted, remedy, kind)

    assert not any(drifted.bench.cold.exists(drifted.bench.part(each)) for each in REPLICAS)


@REMOVALS
def test_a_part_on_no_disk_keeps_them_until_the_disks_are_said_to_be_mounted(
    remedy: Remedy, kind: FindingKind
) -> None:
    drifted = Drifted()
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)

    assert removed(drifted, remedy, kind, disks_are_mounted=False) == {DAY}

    assert all(drifted.bench.cold.exists(drifted.bench.part(each)) is not None for each in REPLICAS)
    assert drifted.done == []


@REMOVALS
@pytest.mark.parametrize("disks_are_mounted", [True, False])
def test_a_part_in_hot_loses_them(remedy: Remedy, kind: FindingKind, disks_are_mounted: bool) -> None:
    drifted = Drifted()
    drifted.bench.move()
    for replica in REPLICAS:
        create(f"replicas/{replica}/parts/{PART}", MINIMALISTIC)(drifted.bench)

    assert not removed(drifted, remedy, kind, disks_are_mounted=disks_are_mounted)

    assert not any(drifted.bench.cold.exists(drifted.bench.part(each)) for each in REPLICAS)
