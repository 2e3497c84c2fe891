# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each partition has one place in a report, and its numbers add up over the replicas."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import (
    MovedPartition,
    PatchedReport,
)
from support.memory.bench import DAY, PATH
from support.memory.copying import Copying
from support.memory.tables import TableOptions

REFUSAL = Refusal(GateName.POST_SWITCH_CHECK, "it is so", "Do this")
MOVED = MovedPartition("a", "", "COLD", 1, 1, 1)


def test_what_is_said_of_a_partition_is_over_all_its_replicas() -> None:
    copying = Copying(TableOptions(partitions=(DAY,), legacy=True))
    facts = copying.read([DAY]).partitions[DAY]
    size = sum(len(data) for data in copying.originals(DAY).values())

    to_cold = MovedPartition.to_cold(facts)

    assert to_cold == MovedPartition(DAY, "", "COLD", 2, 6, size)
    assert MovedPartition.to_hot(DAY, facts.hot_parts) == MovedPartition(DAY, "COLD", "HOT", 2, 6, size)
    assert to_cold.event(PATH, 17) == {
        "shard_path": PATH,
        "partition": DAY,
        "parts": 2,
        "znodes": 6,
        "bytes": size,
        "zxid": 17,
    }


@pytest.mark.parametrize(
    "report",
    [
        PatchedReport(PATH, moved={"a": MOVED}),
        PatchedReport(PATH, unchanged={"a"}),
        PatchedReport(PATH, copies_removed={"a"}),
        PatchedReport(PATH, deferred={"a": REFUSAL}),
        PatchedReport(PATH, failed={"a": REFUSAL}),
    ],
)
def test_what_nothing_was_said_of_is_open(report: PatchedReport) -> None:
    assert report.open(["a", "b"]) == ["b"]


def test_a_partition_that_fails_was_not_moved() -> None:
    report = PatchedReport(PATH, moved={"a": MOVED})
    report.fail("a", REFUSAL)
    assert report == PatchedReport(PATH, failed={"a": REFUSAL}, touched={"a"})


def test_what_was_written_of_a_partition_that_was_not_moved_is_a_change() -> None:
    undone, lost, removed = (PatchedReport(PATH) for _each in range(3))
    undone.moved["a"] = MOVED
    undone.undo("a", REFUSAL)
    lost.lose({"a"}, REFUSAL)
    removed.copies_removed.add("a")
    assert undone == PatchedReport(PATH, deferred={"a": REFUSAL}, touched={"a"})
    assert lost == PatchedReport(PATH, failed={"a": REFUSAL}, touched={"a"})
    bound = PatchedReport(PATH, is_bound_now=True)
    for report in (undone, lost, removed, bound, PatchedReport(PATH, moved={"a": MOVED})):
        assert report.is_changed
    kept = PatchedReport(PATH, unchanged={"a"}, deferred={"b": REFUSAL}, failed={"c": REFUSAL})
    assert not kept.is_changed
