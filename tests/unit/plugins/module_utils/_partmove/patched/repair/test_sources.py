# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which bytes may register a part of a replica, and in which order."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairCase,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.sources import (
    Source,
    read_sources,
)
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

R1, R2 = (f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


def sources_of(
    drifted: Drifted, *given: SavedZnode, kind: FindingKind = FindingKind.UNREGISTERED
) -> list[Source]:
    """For the part of r1."""
    case = RepairCase(drifted.context(), ShardLayout(PATH), kind, [], RepairOptions(registrations=given))
    return list(read_sources(case, [partition_of(drifted)], {PART}).of("r1", PART))


def partition_of(drifted: Drifted) -> PartitionEvidence:
    return drifted.context().evidence().read(PATH).partitions[DAY]


def test_other_replicas_come_before_what_was_given() -> None:
    drifted = Drifted()
    registered = drifted.bench.hot.get(R2)[0]
    given = SavedZnode("cold", R1, MINIMALISTIC, 0)
    assert sources_of(drifted, given) == [Source(registered, {}, False), Source(MINIMALISTIC, {}, False)]


def test_what_only_cold_registers() -> None:
    drifted = Drifted()
    drifted.bench.move()
    registered = drifted.bench.cold.get(R2)[0]
    assert sources_of(drifted) == [Source(registered, {}, True)]
    assert sources_of(drifted, kind=FindingKind.COLD_UNKNOWN) == []


def test_children_that_were_given_belong_to_the_part_of_their_replica_and_ensemble() -> None:
    drifted = Drifted()
    given = [
        SavedZnode("hot", R1, b"", 0),
        SavedZnode("hot", f"{R1}/checksums", b"of r1", 0),
        SavedZnode("hot", R2, b"", 0),
        SavedZnode("cold", f"{R1}/checksums", b"of cold", 0),
        SavedZnode("hot", f"{PATH}/block_numbers/{DAY}/State", b"COLD", 0),
        SavedZnode("hot", R1.replace(PATH, f"{PATH}-other"), b"of another table", 0),
        SavedZnode("hot", R1.replace(PART, "20191201_7_7_0"), b"another part", 0),
    ]
    assert sources_of(drifted, *given)[1:] == [
        Source(b"", {"checksums": b"of r1"}, False),
        Source(b"", {}, False),
    ]
