# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which replicas have the data of a part, active or in the folder detached."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    ReplicaEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.holders import (
    has_part,
    is_detached,
    is_detached_by_server,
    others_of,
)
from support.memory.evidence import AB, A, B, partition, parts, replica

(PART,) = parts(A)


@pytest.mark.parametrize(
    ("first", "second", "has"),
    [
        (replica(disk=A), replica("r2"), True),
        (replica(disk=AB), replica("r2"), True),
        (replica(disk=B), replica("r2"), False),
        (replica(disk=None), replica("r2"), False),
        (replica(detached=f"ignored_{A}"), replica("r2"), True),
        (replica(detached=A), replica("r2"), False),
        (replica(detached=A), replica("r2", disk=A), True),
    ],
)
def test_a_server_has_what_is_active_and_what_it_detached_itself(
    first: ReplicaEvidence, second: ReplicaEvidence, has: bool
) -> None:
    """A statement detaches on every replica: a part that is active on another one was moved otherwise."""
    assert has_part(partition(first, second), first, PART) is has
    if first.active is None or not first.active:
        assert is_detached_by_server(partition(first, second), first, PART) is has


@pytest.mark.parametrize(
    ("folder", "detached"), [(A, True), (f"ignored_{A}", True), (B, False), (f"9{A}", False)]
)
def test_names_of_folders(folder: str, detached: bool) -> None:
    assert is_detached(replica(detached=folder), PART) is detached


def test_no_server_can_be_asked_for_a_replica_in_cold_alone() -> None:
    first, second, third = replica(), replica("r2"), replica("r3", in_hot=False, cold=A)
    assert others_of(partition(first, second, third), first) == [second]


@pytest.mark.parametrize("third", [replica("r3"), replica("r3", disk=None)], ids=["without parts", "silent"])
def test_one_other_server_with_the_part_is_enough(third: ReplicaEvidence) -> None:
    first, second = replica(detached=A), replica("r2", disk=A)

    assert is_detached_by_server(partition(first, third, second), first, PART)
    assert not is_detached_by_server(partition(first, third), first, PART)
