# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action for a finding takes."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.details import (
    RowDetails,
    details_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    PartitionEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import judge
from support.memory.evidence import A, B, partition, replica

THREE = {A: 3, B: 3}
"""Parts in the legacy form, which have two children."""


def details(evidence: PartitionEvidence, name: str = "r1") -> RowDetails:
    return details_of(evidence, name, judge(evidence)[name])


def test_the_znodes_of_parts_in_cold_are_counted_for_each_replica() -> None:
    first = replace(replica(cold=f"{A} {B}"), znodes=THREE)
    evidence = partition(first, replica("r2", cold=A), state="COLD")
    assert [details(evidence, each).znodes for each in ("r1", "r2")] == [6, 1]


def test_of_a_half_cold_partition_only_what_hot_lacks_is_registered_again() -> None:
    first = replace(replica(hot=A, cold=f"{A} {B}", disk=f"{A} {B}"), znodes=THREE)
    second = replace(replica("r2", hot=f"{A} {B}", disk=f"{A} {B}"), znodes=THREE)
    evidence = partition(first, second, state="COLD")
    assert [details(evidence, each).znodes for each in ("r1", "r2")] == [3, 0]


def test_a_part_is_registered_as_for_the_other_replica() -> None:
    evidence = partition(replica(disk=A), replace(replica("r2", hot=A, disk=A), znodes=THREE))
    assert details(evidence).znodes == 3


def test_unreadable_znodes_count_by_their_paths() -> None:
    assert details(partition(replica(hot=A, disk=A, unreadable="/t/a /t/b"))).znodes == 2


def test_copies_that_have_to_stay() -> None:
    copied = replica(hot=A, cold=A, disk=A)
    for seconds in (9.0, inf):
        assert details(partition(copied, state="HOT", seconds_needed=seconds)).seconds_needed == seconds


def test_the_newest_write_to_state_or_cold() -> None:
    cold = replace(replica(cold=A), cold_mtime=7)
    assert details(partition(cold, state="HOT")).newest_write == 7


def test_consistent_rows_and_replicas_that_went_have_none() -> None:
    hot = partition(replica(hot=A, disk=A))
    assert details(hot) == RowDetails()
    assert details_of(hot, "r9", judge(hot)["r1"]) == RowDetails()
