# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One pass over the kinds in the order of repairs repairs everything; with the worst first it does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import audit_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    REPAIR_ORDER,
)
from support.memory.arrange import create, create_cold, delete
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC
from support.memory.two_clusters import hash_of

OTHER_PART = f"{OTHER}_0_0_0"


@pytest.fixture
def drifted() -> Drifted:
    """Another tool has moved a partition and lost a part; cold has a dropped part, and one of a replica."""
    drifted = Drifted()
    bench = drifted.bench
    for part in (PART, OTHER_PART):
        drifted.disks.hashes[part] = hash_of(bench, part)
    for path in (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")):
        create_cold(path, bench.hot.get(f"{PATH}/{path}")[0])(bench)
        delete(path)(bench)
    create(f"block_numbers/{DAY}/State", b"COLD")(bench)
    delete(f"replicas/r2/parts/{OTHER_PART}")(bench)
    create_cold("replicas/r1/parts/20180101_8_8_0", MINIMALISTIC)(bench)
    create_cold(f"replicas/r9/parts/{PART}", MINIMALISTIC)(bench)
    bench.clock.sleep(7200)
    return drifted


def found(drifted: Drifted) -> set[FindingKind]:
    audit = audit_shard(drifted.evidence(), PATH)
    return {row.verdict.kind for row in audit.rows if not row.verdict.kind.is_consistent}


def repair_once(drifted: Drifted, order: Sequence[FindingKind]) -> set[FindingKind]:
    """Repair each kind once, and return what an audit finds then."""
    kinds = found(drifted)
    for kind in order:
        if kind in kinds:
            drifted.repair(kind)
    return found(drifted)


def test_in_order_one_pass_is_enough(drifted: Drifted) -> None:
    assert found(drifted) == {
        FindingKind.REGISTERED_FOR_ANOTHER,
        FindingKind.FOREIGN,
        FindingKind.DROPPED,
        FindingKind.ANOTHER_REPLICA,
    }
    assert repair_once(drifted, REPAIR_ORDER) == set()


def test_with_the_worst_first_the_worst_are_left(drifted: Drifted) -> None:
    left = drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER).left[OTHER]
    assert left.reason == "the cold ensemble registers parts that another tool put there"
    worst_first = sorted(REPAIR_ORDER, key=lambda kind: kind.rank)
    assert repair_once(drifted, worst_first) == {FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.FOREIGN}
