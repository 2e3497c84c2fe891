# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one replica has decides over the verdict of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import (
    SECONDS_COPIES_MAY_STAY,
    judge,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.memory.evidence import A, B, partition, replica

HOT, HALF_COLD, FOREIGN = FindingKind.HOT, FindingKind.HALF_COLD, FindingKind.FOREIGN
FORMER, ANOTHER = FindingKind.FORMER_TABLE, FindingKind.ANOTHER_REPLICA


@pytest.mark.parametrize(
    ("evidence", "kinds"),
    [
        pytest.param(
            partition(replica(), replica("r2", hot=A, cold=B, disk=f"{A} {B}"), state="COLD"),
            [HALF_COLD, HALF_COLD],
            id="a replica without parts beside one with parts in both ensembles",
        ),
        pytest.param(
            partition(
                replica(),
                replica("r2", hot=A, cold=B, disk=f"{A} {B}"),
                replica("r3", cold=f"{A} {B}", disk=f"{A} {B}"),
                state="COLD",
            ),
            [HALF_COLD, HALF_COLD, HALF_COLD],
            id="one of two other replicas has parts in hot",
        ),
        pytest.param(
            partition(replica(hot=A, disk=A), replica("r9", in_hot=False, cold=A), owner=Owner.NOBODY),
            [HOT, ANOTHER],
            id="parts in cold of a replica that is gone make no other foreign",
        ),
        pytest.param(
            partition(
                replica(hot=A, cold=A, disk=A, differing=A),
                replica("r2", hot=A, cold=A, disk=A),
                owner=Owner.NOBODY,
            ),
            [FORMER, FORMER],
            id="one replica has a copy that differs",
        ),
        pytest.param(
            partition(replica(cold=A, disk=A), replica("r2", hot=A, disk=A), owner=Owner.FORMER),
            [FOREIGN, FOREIGN],
            id="one replica has a part in cold alone, which no repair may remove",
        ),
        pytest.param(
            partition(replica(), replica("r2", cold=A), replica("r9", in_hot=False, cold=B), state="COLD"),
            [FindingKind.EMPTY, FindingKind.GHOST, ANOTHER],
            id="parts of a replica that is gone are no rest of a dropped partition",
        ),
        pytest.param(
            partition(replica(hot=A, cold=A, disk=A), replica("r2", hot=A, disk=A), state="HOT"),
            [FindingKind.COPIES_LEFT, FindingKind.COPIES_LEFT],
            id="one replica has a copy",
        ),
        pytest.param(
            partition(replica(cold=A, disk=A), cold_is_known=False),
            [FindingKind.COLD_UNMARKED],
            id="a part in cold alone without State",
        ),
    ],
)
def test_kinds_of_all_replicas(evidence: PartitionEvidence, kinds: list[FindingKind]) -> None:
    assert [verdict.kind for verdict in judge(evidence).values()] == kinds


def test_only_copies_may_wait() -> None:
    assert not judge(partition(replica(hot=A, disk=A)))["r1"].can_wait
    assert not judge(partition(replica(cold=A, disk=A)))["r1"].can_wait


@pytest.mark.parametrize(("state_at", "copy_at", "waits"), [(1000, 0, True), (0, 1000, True), (0, 0, False)])
def test_copies_may_wait_since_the_newest_write(state_at: int, copy_at: int, waits: bool) -> None:
    # Of today's times, as a part in a thousand of the seconds since 1970 is more than copies may stay.
    began = 1_795_212_900
    now = began + 1000 + SECONDS_COPIES_MAY_STAY - 1
    copied = replace(replica(hot=A, cold=A, disk=A), cold_mtime=(began + copy_at) * 1000)
    evidence = partition(copied, state="HOT")
    assert evidence.state is not None
    state = evidence.state._replace(stat=evidence.state.stat._replace(mtime=(began + state_at) * 1000))

    verdict = judge(replace(evidence, state=state, now=float(now)))["r1"]

    assert (verdict.kind, verdict.can_wait) == (FindingKind.COPIES_LEFT, waits)


def test_copies_may_stay_for_two_days() -> None:
    assert SECONDS_COPIES_MAY_STAY == 172_800
