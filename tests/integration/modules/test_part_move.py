# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_move on synthetic tables: check mode, the run, the run again, and what it tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from support.ansible.calls import Call, run_modules
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import Table, TableOptions, build_table, days
from support.plans import origin_in

FIRST, SECOND, THIRD = days(3)


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    """Drop what no two runs have in common."""
    kept = {name: value for name, value in result.items() if name not in ("msg", "invocation")}
    kept["totals"] = {name: value for name, value in result["totals"].items() if name != "seconds"}
    return kept


@pytest.mark.parametrize("legacy", [False, True], ids=["minimalistic", "legacy"])
def test_check_then_run_then_run_again_then_check_again(pair: Pair, legacy: bool) -> None:
    table = build_table(pair.hot, f"{pair.base}/hits", TableOptions(legacy=legacy))
    move = {"partitions": partitions_of(table), **ASSUMED}
    before = pair.trees()

    checked = pair.call("part_move", check=True, **move)
    assert pair.trees() == before

    moved = pair.call("part_move", **move)
    assert checked["msg"] == "3 would be moved, 0 deferred, 0 failed, 0 unchanged"
    assert moved["msg"] == "3 moved, 0 deferred, 0 failed, 0 unchanged"
    assert without_time(checked) == without_time(moved)
    assert moved["changed"]
    znodes = 18 if legacy else 6
    assert (moved["totals"]["parts"], moved["totals"]["znodes"]) == (6, znodes)
    for partition in table.options.partitions:
        assert table.state(partition) == b"COLD"
        assert table.registered(pair.hot, partition) == {"r1": [], "r2": []}
        assert table.registered(pair.cold, partition) == dict.fromkeys(
            ("r1", "r2"), table.part_names(partition)
        )

    after = pair.trees_below(table.path)
    again, checked_again = pair.call_all(
        pair.task("part_move", **move), pair.task("part_move", check=True, **move)
    )
    assert [result["changed"] for result in (again, checked_again)] == [False, False]
    assert again["unchanged"] == move["partitions"]
    assert again["diff"] == {"before": "", "after": ""}
    assert pair.trees_below(table.path) == after


def test_many_shard_paths_at_once_are_told_as_one_after_the_other(pair: Pair) -> None:
    tables = [build_table(pair.hot, f"{pair.base}/t{number:02}") for number in range(12)]
    # One of them in the middle has a partition that is deferred, and one has nothing left to do.
    pair.hot.create(f"{tables[5].parts_path('r1')}/{SECOND}_5_5_0", MINIMALISTIC)
    pair.call("part_move", partitions=partitions_of(tables[7]), **ASSUMED)
    move = {"partitions": [each for table in tables for each in partitions_of(table)], **ASSUMED}
    before = pair.trees()

    alone, checked = pair.call_all(
        pair.task("part_move", check=True, workers=1, **move),
        pair.task("part_move", check=True, workers=5, **move),
    )
    assert pair.trees() == before
    moved = pair.call("part_move", workers=5, **move)

    assert without_time(checked) == without_time(alone)
    assert without_time(moved) == without_time(alone)
    assert moved["counts"] == {
        "moved": 32,
        "copies_removed": 0,
        "deferred": 1,
        "failed": 0,
        "unchanged": 3,
        "other_state": 0,
        "not_reached": 0,
    }
    for table in tables:
        wanted = b"COLD" if table is not tables[5] else None
        assert table.state(SECOND) == wanted
        assert table.registered(pair.cold, FIRST) == dict.fromkeys(("r1", "r2"), table.part_names(FIRST))


def test_workers_that_cannot_be(pair: Pair, table: Table) -> None:
    result = pair.call("part_move", workers=65, partitions=partitions_of(table), **ASSUMED)
    assert result["failed"]
    assert result["msg"] == "workers is 65. Give 1 to 64, or 0 to choose by the amount of work."


def test_diff_tells_state_and_parts_of_each_partition(pair: Pair, table: Table) -> None:
    pair.hot.create(table.state_path(SECOND), b"HOT")
    result = pair.call("part_move", check=True, partitions=partitions_of(table, SECOND, FIRST), **ASSUMED)
    assert result["diff"] == {
        "before": f"{table.path} {FIRST}: State absent, 2 parts in hot\n"
        f"{table.path} {SECOND}: State HOT, 2 parts in hot\n",
        "after": f"{table.path} {FIRST}: State COLD, 0 parts in hot, 2 parts in cold\n"
        f"{table.path} {SECOND}: State COLD, 0 parts in hot, 2 parts in cold\n",
    }


def test_partitions_that_may_not_move_are_deferred_with_gate_and_remedy(pair: Pair, table: Table) -> None:
    pair.hot.create(f"{table.parts_path('r1')}/{SECOND}_5_5_0", MINIMALISTIC)
    checked, moved = pair.call_all(
        *(
            pair.task("part_move", check=check, partitions=partitions_of(table), **ASSUMED)
            for check in (True, False)
        )
    )
    assert without_time(checked) == without_time(moved)
    assert moved["counts"] == {
        "moved": 2,
        "copies_removed": 0,
        "deferred": 1,
        "failed": 0,
        "unchanged": 0,
        "other_state": 0,
        "not_reached": 0,
    }
    (deferred,) = moved["deferred"]
    assert (deferred["shard_path"], deferred["partition"], deferred["gate"]) == (
        table.path,
        SECOND,
        "equal_parts",
    )
    assert deferred["reason"] == f"the replicas have different parts: {SECOND}_5_5_0 is not on r2"
    assert moved["gates"] == [
        {"gate": "equal_parts", "deferred": 1, "failed": 0, "remedy": deferred["remedy"]}
    ]
    assert not moved["failed"]


def test_nothing_moves_until_somebody_vouches_for_the_servers(pair: Pair, table: Table) -> None:
    before = pair.hot.get_children(table.parts_path("r1"))
    wanted = partitions_of(table, FIRST)
    results = pair.call_all(
        pair.task("part_move", partitions=wanted, min_age="0", assume_active=True),
        pair.task("part_move", partitions=wanted, min_age="0", assume_patched=True),
        pair.task("part_move", partitions=wanted, assume_patched=True, assume_active=True),
    )
    ledger, servers, age = results
    assert [result["deferred"][0]["gate"] for result in (ledger, age)] == ["patched_replicas", "old_enough"]
    assert servers["failed"]
    assert servers["msg"].startswith("Neither clickhouse nor assume_active is given")
    assert pair.hot.get_children(table.parts_path("r1")) == before


@pytest.mark.parametrize("check", [False, True])
def test_servers_that_cannot_be_reached_fail_the_module(pair: Pair, table: Table, check: bool) -> None:
    before = pair.trees()
    result = pair.call(
        "part_move",
        check=check,
        partitions=partitions_of(table, FIRST),
        min_age="0",
        assume_patched=True,
        clickhouse={"endpoints": {"r1": "127.0.0.1:9", "r2": "127.0.0.1:9"}},
    )
    assert result["failed"]
    assert f"No ClickHouse server of {table.path} can be asked: ClickHouse at 127.0.0.1:9" in result["msg"]
    assert pair.trees() == before


def test_a_gate_fails_the_module_on_request(pair: Pair, table: Table) -> None:
    result = pair.call(
        "part_move",
        partitions=partitions_of(table, FIRST),
        assume_patched=True,
        assume_active=True,
        fail_when_deferred_by=["old_enough"],
    )
    assert result["failed"]
    assert "fail_when_deferred_by: 1 by old_enough." in result["msg"]
    assert result["counts"]["deferred"] == 1


def test_plan_is_carried_out_and_rows_for_the_other_state_are_told(pair: Pair, table: Table) -> None:
    other = build_table(pair.hot, f"{pair.base}/visits")
    plan = pair.folder / "plan.jsonl"
    rows = [
        PlanRow(path, partition, State(state), "test", 0, 2, 2, 192)
        for path, partition, state in (
            (table.path, FIRST, "COLD"),
            (table.path, SECOND, "HOT"),
            (other.path, THIRD, "COLD"),
        )
    ]
    write_plan(plan, rows, policy_digest="0" * 64, source="test", origin=origin_in(pair.hot), as_of=0)
    journal = pair.folder / "journal.jsonl"

    result = pair.call("part_move", plan=str(plan), journal=str(journal), **ASSUMED)

    assert [(each["shard_path"], each["partition"]) for each in result["moved"]] == [
        (table.path, FIRST),
        (other.path, THIRD),
    ]
    assert result["other_state"] == [{"shard_path": table.path, "partition": SECOND, "state": "HOT"}]
    assert table.state(SECOND) is None
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    steps = ["switching", "moved"]
    assert [events[0]["event"], events[-1]["event"]] == ["started", "ended"]
    # Those of two shard paths may come in any order.
    of_each = [[event for event in events if event.get("shard_path") == each.path] for each in (table, other)]
    assert [[event["event"] for event in found] for found in of_each] == [steps, steps]
    assert [[event["partition"] for event in found] for found in of_each] == [[FIRST] * 2, [THIRD] * 2]
    assert {event["run"] for event in events} == {events[0]["run"]}
    told = pair.hot.get(f"{table.path}/block_numbers/{FIRST}/State")[1].mzxid
    assert of_each[0][1]["zxid"] == told


def test_journal_is_kept_and_read_by_default(
    pair: Pair, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(pair.folder / "state"))
    pair.call("part_move", partitions=partitions_of(table, FIRST), journal="", **ASSUMED)
    path = pair.folder / "state" / "olap.partmove" / "journal.jsonl"
    assert not path.exists()
    pair.call("part_move", partitions=partitions_of(table, SECOND, "20190199"), **ASSUMED)

    (told,) = run_modules(Call("journal_info", {"shard_path": table.path}))

    assert told["path"] == str(path)
    assert [(each["event"], each["partition"]) for each in told["events"]] == [
        ("switching", SECOND),
        ("moved", SECOND),
        ("deferred", "20190199"),
    ]
    (run,) = told["runs"]
    assert (run["outcome"], run["counts"]["moved"]) == ("completed", 1)
    assert run["started"]["hot"] == ",".join(pair.options["hot"]["hosts"])
    assert not told["changed"]


def test_journal_is_not_touched_in_check_mode(pair: Pair, table: Table) -> None:
    journal = pair.folder / "journal.jsonl"
    pair.call("part_move", check=True, partitions=partitions_of(table), journal=str(journal), **ASSUMED)
    assert not journal.exists()


def test_lists_are_bounded_and_counts_are_not(pair: Pair, table: Table) -> None:
    result = pair.call("part_move", check=True, partitions=partitions_of(table), max_listed=2, **ASSUMED)
    assert [each["partition"] for each in result["moved"]] == [FIRST, SECOND]
    assert (result["counts"]["moved"], result["totals"]["parts"]) == (3, 6)
    assert result["diff"]["after"].splitlines()[2:] == ["and 1 more"]


def test_partition_that_is_nowhere_is_deferred(pair: Pair, table: Table) -> None:
    result = pair.call("part_move", partitions=partitions_of(table, "20190199"), **ASSUMED)
    assert [each["gate"] for each in result["deferred"]] == ["partition_exists"]
    assert not result["changed"]


def test_journal_that_cannot_be_written_is_refused_before_anything_moves(pair: Pair, table: Table) -> None:
    path = Path(pair.folder, "nowhere", "journal")
    result = pair.call("part_move", partitions=partitions_of(table, FIRST), journal=str(path), **ASSUMED)
    assert result["failed"]
    assert result["msg"] == (
        f"The journal {path} cannot be written: No such file or directory."
        " Give as journal a path in a folder that exists and that this user may write to, or an empty text"
        " for no journal."
    )
    assert table.state(FIRST) is None
