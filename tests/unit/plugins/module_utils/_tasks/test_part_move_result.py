# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of part_move, from the reports of its shard paths."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import (
    MovedPartition,
    PatchedReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move_result import PatchedTally

BUSY = Refusal(GateName.QUEUE_CLEAR, "entries wait", "Wait")
LATE = Refusal(
    GateName.LATE_INSERT, "the partition was switched, but r1 registered 1_2_2_0", "Audit the partition now"
)


def report(
    path: str, moved: int = 0, deferred: int = 0, failed: int = 0, unchanged: int = 0
) -> PatchedReport:
    """Return a report with this number of partitions of each kind."""
    return PatchedReport(
        path,
        moved={f"m{number}": MovedPartition(f"m{number}", "", "COLD", 2, 6, 100) for number in range(moved)},
        unchanged={f"u{number}" for number in range(unchanged)},
        deferred=dict.fromkeys((f"d{number}" for number in range(deferred)), BUSY),
        failed=dict.fromkeys((f"f{number}" for number in range(failed)), LATE),
    )


def test_counts_lists_and_totals() -> None:
    tally = PatchedTally(10)
    tally.expected = 8
    tally.add(report("/a", moved=2, deferred=1))
    tally.add(report("/b", moved=1, unchanged=2))
    result = tally.result(check_mode=False, seconds=1.23456)
    assert result["counts"] == {
        "moved": 3,
        "copies_removed": 0,
        "deferred": 1,
        "failed": 0,
        "unchanged": 2,
        "other_state": 0,
        "not_reached": 2,
    }
    assert result["totals"] == {"parts": 6, "znodes": 18, "bytes": 300, "seconds": 1.235}
    assert result["msg"] == "3 moved, 1 deferred, 0 failed, 2 unchanged"
    assert [(each["shard_path"], each["partition"]) for each in result["moved"]] == [
        ("/a", "m0"),
        ("/a", "m1"),
        ("/b", "m0"),
    ]
    assert result["deferred"] == [{"shard_path": "/a", "partition": "d0", **BUSY._asdict()}]
    assert tally.failure == ""


@pytest.mark.parametrize("most", [0, 1, 3, 5, 100])
def test_tallies_of_shard_paths_add_up_to_the_one_of_all(most: int) -> None:
    """The result does not depend on the number of tallies for a shard path."""
    whole, merged = PatchedTally(most), PatchedTally(most)
    for path, stages in (("/a", [(2, 0), (1, 1)]), ("/b", [(0, 2)]), ("/c", [(3, 0), (1, 2), (0, 1)])):
        of_path = PatchedTally(most)
        for moved, failed in stages:
            batch = report(path, moved=moved, deferred=moved, failed=failed, unchanged=1)
            batch.copies_removed.update(f"c{number}" for number in range(failed))
            whole.add(batch)
            of_path.add(batch)
        merged.merge(of_path)
    expected = whole.result(check_mode=False, seconds=1.0)
    assert merged.result(check_mode=False, seconds=1.0) == expected
    assert expected["counts"]["moved"] == 7
    assert merged.failure == whole.failure != ""


def test_check_mode_says_would() -> None:
    tally = PatchedTally(10)
    tally.add(report("/a", moved=1))
    assert tally.result(check_mode=True, seconds=0)["msg"].startswith("1 would be moved, ")


def test_lists_are_limited_and_the_diff_says_so() -> None:
    tally = PatchedTally(3)
    for path in ("/a", "/b"):
        tally.add(report(path, moved=2, deferred=2, failed=2, unchanged=2))
    result = tally.result(check_mode=False, seconds=0)
    for name in ("moved", "deferred", "failed_partitions", "unchanged"):
        assert len(result[name]) == 3
    assert result["counts"]["moved"] == 4
    assert result["diff"]["before"].splitlines() == [
        "/a m0: State absent, 2 parts in hot",
        "/a m1: State absent, 2 parts in hot",
        "/b m0: State absent, 2 parts in hot",
        "and 1 more",
    ]
    assert result["gates"] == [
        {"gate": "late_insert", "deferred": 0, "failed": 4, "remedy": "Audit the partition now"},
        {"gate": "queue_clear", "deferred": 4, "failed": 0, "remedy": "Wait"},
    ]


def test_failure_has_the_count_and_the_first_partition() -> None:
    tally = PatchedTally(1)
    tally.add(report("/a", failed=1))
    assert tally.failure == (
        "1 partition failed, the first is partition f0 of /a: the partition was switched, but r1"
        " registered 1_2_2_0."
        " Audit the partition now."
    )
    tally.add(report("/b", failed=2))
    assert tally.failure.startswith("3 partitions failed, the first is partition f0 of /a: ")


def test_nothing_moved_is_no_change() -> None:
    tally = PatchedTally(1)
    tally.add(report("/a", deferred=1, unchanged=1))
    assert not tally.result(check_mode=False, seconds=0)["changed"]


def test_a_write_to_a_partition_that_was_not_moved_is_a_change() -> None:
    tally, switched = PatchedTally(1), report("/a", moved=1)
    switched.fail("m0", LATE)
    tally.add(switched)
    tally.add(report("/b", unchanged=1))
    result = tally.result(check_mode=False, seconds=0)
    assert result["changed"]
    assert (result["counts"]["moved"], result["counts"]["failed"]) == (0, 1)


def back(path: str, moved: int = 0, removed: int = 0, deferred: int = 0) -> PatchedReport:
    """Return the report of a move to hot, with this number of partitions of each kind."""
    return PatchedReport(
        path,
        moved={
            f"m{number}": MovedPartition(f"m{number}", "COLD", "HOT", 2, 6, 100) for number in range(moved)
        },
        copies_removed={f"c{number}" for number in range(removed)},
        deferred=dict.fromkeys((f"d{number}" for number in range(deferred)), BUSY),
    )


def test_partitions_whose_copies_were_removed_count_and_are_listed() -> None:
    tally = PatchedTally(10)
    tally.expected = 6
    tally.add(back("/a", moved=1, removed=2, deferred=1))
    tally.add(back("/b", removed=1))
    result = tally.result(check_mode=False, seconds=0)
    counts = result["counts"]
    assert (counts["moved"], counts["copies_removed"], counts["not_reached"]) == (1, 3, 1)
    assert [(each["shard_path"], each["partition"]) for each in result["copies_removed"]] == [
        ("/a", "c0"),
        ("/a", "c1"),
        ("/b", "c0"),
    ]
    assert (result["moved"][0]["state_before"], result["moved"][0]["state"]) == ("COLD", "HOT")
    assert result["msg"] == "1 moved, copies of 3 removed, 1 deferred, 0 failed, 0 unchanged"
    in_check_mode = tally.result(check_mode=True, seconds=0)["msg"]
    assert in_check_mode.startswith("1 would be moved, copies of 3 would be removed, 1 deferred, ")


def test_diff_of_a_move_to_hot() -> None:
    tally = PatchedTally(10)
    tally.add(back("/a", moved=1, removed=1))
    assert tally.result(check_mode=False, seconds=0)["diff"] == {
        "before": "/a m0: State COLD, 2 parts in cold only\n/a c0: copies in cold\n",
        "after": "/a m0: State HOT, 2 parts in hot and in cold\n/a c0: no copies in cold\n",
    }


def test_removed_copies_alone_are_a_change_and_their_list_is_limited() -> None:
    tally = PatchedTally(1)
    tally.add(back("/a", removed=3))
    result = tally.result(check_mode=False, seconds=0)
    assert result["changed"]
    assert result["totals"]["parts"] == 0
    assert len(result["copies_removed"]) == 1
    assert result["diff"]["after"] == "/a c0: no copies in cold\nand 2 more\n"
