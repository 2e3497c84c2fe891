# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result has complete counts, sorted lists of a bounded length, and the first failure."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.hot_znodes import HotZnodes
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.readers import ReadersSeen
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import (
    MovedTwin,
    TwinReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_move_result import TwinTally

EVEN = Refusal(GateName.TWIN_EVEN, "a reason", "a remedy")
KNOWN = Refusal(GateName.TWIN_KNOWN, "it is odd", "Look at it")


def test_reports_are_added_up() -> None:
    tally = TwinTally(10)
    tally.expected = 7
    report = TwinReport("/a", unchanged={"4"}, deferred={"3": EVEN}, failed={"5": KNOWN})
    report.moved["2"] = MovedTwin("2", 2, 20, 200, ("x",), 1.25)
    report.moved["1"] = MovedTwin("1", 1, 10, 100, (), None)
    tally.add(report)
    tally.add_other_state(PlanRow("/a", "9", State.HOT, "by name", None, None, None, None))
    result = tally.result(check_mode=False, seconds=1.5)
    assert result["changed"]
    assert result["msg"] == "2 moved, 1 deferred, 1 failed, 1 unchanged"
    assert result["counts"] == {
        "moved": 2,
        "deferred": 1,
        "failed": 1,
        "unchanged": 1,
        "other_state": 1,
        "not_reached": 2,
    }
    assert result["totals"] == {
        "parts": 3,
        "rows": 30,
        "bytes": 300,
        "seconds": 1.5,
        "seen_twice_seconds_most": 1.25,
    }
    assert [(each["partition"], each["seen_twice_seconds"]) for each in result["moved"]] == [
        ("1", None),
        ("2", 1.25),
    ]
    assert result["left_behind"] == [{"shard_path": "/a", "partition": "2", "parts": ["x"]}]
    assert [each["gate"] for each in result["gates"]] == ["twin_even", "twin_known"]
    assert result["other_state"] == [{"shard_path": "/a", "partition": "9", "state": "HOT"}]
    assert tally.failure == "1 partition failed, the first is partition 5 of /a: it is odd. Look at it."


def test_lists_are_bounded_and_counts_are_not() -> None:
    tally = TwinTally(1)
    tally.add(TwinReport("/a", deferred={"1": EVEN, "2": EVEN}, statements=["a", "b", "c"]))
    result = tally.result(check_mode=True, seconds=1.5)
    assert (result["counts"]["deferred"], len(result["deferred"])) == (2, 1)
    assert result["gates"][0]["deferred"] == 2
    assert result["diff"] == {"before": "", "after": "a\nb\n"}
    assert (result["changed"], tally.failure) == (False, "")


def test_what_readers_saw_is_said_once_for_each_shard_path() -> None:
    tally, other = TwinTally(2), TwinTally(2)
    tally.add(TwinReport("/a", readers=ReadersSeen(("db.hits_all",))))
    tally.add(TwinReport("/b"))
    other.add(TwinReport("/c", readers=ReadersSeen((), "no right")))
    other.add(TwinReport("/c", readers=ReadersSeen((), "no right", "a server is away")))
    other.add(TwinReport("/d", readers=ReadersSeen(("db.hits_all",))))
    tally.merge(other)
    assert tally.result(check_mode=False, seconds=1.5)["readers"] == [
        {"shard_path": "/a", "tables": ["db.hits_all"], "reason": "", "left": ""},
        {"shard_path": "/c", "tables": [], "reason": "no right", "left": "a server is away"},
    ]


def test_znodes_of_a_shard_path_are_those_after_its_last_batch() -> None:
    tally, other = TwinTally(2), TwinTally(2)
    tally.add(TwinReport("/a", hot_znodes=HotZnodes(parts=9, block_numbers=3, blocks=1)))
    tally.add(TwinReport("/a", hot_znodes=HotZnodes(parts=4, block_numbers=3, blocks=0)))
    tally.add(TwinReport("/b"))
    other.add(TwinReport("/c", hot_znodes=HotZnodes(parts=5, block_numbers=2, blocks=2)))
    other.add(TwinReport("/d", hot_znodes=HotZnodes(parts=6, block_numbers=2, blocks=2)))
    tally.merge(other)
    assert tally.result(check_mode=False, seconds=1.5)["hot_znodes"] == [
        {"shard_path": "/a", "parts": 4, "block_numbers": 3, "blocks": 0},
        {"shard_path": "/c", "parts": 5, "block_numbers": 2, "blocks": 2},
    ]
