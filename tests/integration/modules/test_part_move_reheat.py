# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_move with the state hot, on synthetic tables that were made cold before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, TableOptions, build_table, days, read_tree, register
from support.plans import origin_in
from support.servers.real_moves import Run

FIRST, SECOND, THIRD = days(3)
BACK: dict[str, Any] = {"state": "hot", "assume_active": True}
"""Options of part_move with which every cold partition of a synthetic table comes back."""


def parts(tree: Mapping[str, tuple[object, ...]]) -> dict[str, object]:
    """Path → data of what a tree has of parts."""
    return {path: znode[0] for path, znode in tree.items() if "/parts/" in path}


def parts_of(pair: Pair, table: Table) -> list[dict[str, object]]:
    """What both ensembles have of the table's parts."""
    return [parts(tree) for tree in pair.trees_below(table.path)]


def make_cold(pair: Pair, table: Table) -> None:
    """Move all of the table."""
    options = pair.options
    run = Run(options["hot"]["hosts"], options["cold"]["hosts"], "", root=options["coordination_root"])
    assert run.move(table).moved.keys() == set(table.options.partitions)


def events_of(journal: Path) -> list[dict[str, Any]]:
    """What a journal has, without what is another one in each run, and without what was about to be done."""
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    assert all(event.pop("time") and event.pop("version") for event in events)
    assert len({event.pop("run") for event in events}) == 1
    return [event for event in events if event["event"] != "switching"]


def placed(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Shard path and partition of each row of a list of the result."""
    return [(row["shard_path"], row["partition"]) for row in rows]


def test_what_was_dropped_while_cold_ends_by_the_way_out_that_is_told(pair: Pair, table: Table) -> None:
    """No server can be asked here, and only servers tell a drop from registrations that cold has lost."""
    make_cold(pair, table)
    for replica, names in table.registered(pair.cold, FIRST).items():
        for name in names:
            pair.cold.delete(f"{table.parts_path(replica)}/{name}")
    whole = {**BACK, "shard_paths": [table.path]}
    first, again, state, last = pair.call_all(
        pair.task("part_move", **whole),
        pair.task("part_move", **whole),
        pair.task("partition_state", shard_path=table.path, partition=FIRST, state="HOT", assume_active=True),
        pair.task("part_move", **whole),
    )
    assert placed(first["moved"]) == [(table.path, SECOND), (table.path, THIRD)]
    for result in (first, again):
        told = {row["partition"]: row for row in result["deferred"]}[FIRST]
        assert told["gate"] == "registered"
        assert "set State to HOT with partition_state" in told["remedy"]
    assert (state["changed"], state["state_before"], state["state"]) == (True, "COLD", "HOT")
    assert FIRST not in {row["partition"] for kind in ("deferred", "unchanged") for row in last[kind]}


@pytest.mark.parametrize("legacy", [False, True], ids=["minimalistic", "legacy"])
def test_there_and_back(pair: Pair, legacy: bool) -> None:
    table = build_table(pair.hot, f"{pair.base}/hits", TableOptions(legacy=legacy))
    wanted: dict[str, Any] = {"partitions": partitions_of(table)}
    original = parts(read_tree(pair.hot, table.path))
    pair.call("part_move", **wanted, **ASSUMED)
    assert parts_of(pair, table) == [{}, original]
    before = pair.trees()

    checked = pair.call("part_move", check=True, **wanted, **BACK | {"state": "HOT"})
    assert pair.trees() == before
    back = pair.call("part_move", **wanted, **BACK)

    assert checked["msg"] == "3 would be moved, 0 deferred, 0 failed, 0 unchanged"
    assert back["msg"] == "3 moved, 0 deferred, 0 failed, 0 unchanged"
    for name in ("changed", "counts", "moved", "copies_removed", "gates", "diff"):
        assert checked[name] == back[name]
    assert back["changed"]
    assert {(row["state_before"], row["state"]) for row in back["moved"]} == {("COLD", "HOT")}
    totals = back["totals"]
    sizes = sum(len(data) for data in original.values() if isinstance(data, bytes))
    assert (totals["parts"], totals["znodes"], totals["bytes"]) == (6, len(original), sizes)
    assert parts_of(pair, table) == [original, original]
    assert {table.state(each) for each in table.options.partitions} == {b"HOT"}

    after = pair.trees_below(table.path)
    again, checked_again = pair.call_all(
        *(pair.task("part_move", check=check, **wanted, **BACK) for check in (False, True))
    )
    for result in (again, checked_again):
        assert not result["changed"]
        assert result["counts"]["deferred"] == 3
        (gate,) = result["gates"]
        assert (gate["gate"], gate["deferred"]) == ("copies_needed", 3)
        assert gate["remedy"].startswith("Run again in ")
        assert result["diff"] == {"before": "", "after": ""}
    assert pair.trees_below(table.path) == after


def test_diff_tells_where_the_parts_are(pair: Pair, table: Table) -> None:
    make_cold(pair, table)
    wanted = partitions_of(table, SECOND, FIRST)
    result = pair.call("part_move", check=True, partitions=wanted, **BACK)
    assert result["diff"] == {
        "before": f"{table.path} {FIRST}: State COLD, 2 parts in cold only\n"
        f"{table.path} {SECOND}: State COLD, 2 parts in cold only\n",
        "after": f"{table.path} {FIRST}: State HOT, 2 parts in hot and in cold\n"
        f"{table.path} {SECOND}: State HOT, 2 parts in hot and in cold\n",
    }


def test_plan_is_carried_out_and_rows_for_the_other_state_are_told(pair: Pair, table: Table) -> None:
    other = build_table(pair.hot, f"{pair.base}/visits")
    make_cold(pair, table)
    make_cold(pair, other)
    plan, journal = pair.folder / "plan.jsonl", pair.folder / "journal.jsonl"
    rows = [
        PlanRow(path, partition, State(state), "test", 0, 2, 2, 192)
        for path, partition, state in (
            (table.path, FIRST, "HOT"),
            (table.path, SECOND, "COLD"),
            (other.path, THIRD, "HOT"),
        )
    ]
    write_plan(plan, rows, policy_digest="0" * 64, source="test", origin=origin_in(pair.hot), as_of=0)

    result = pair.call("part_move", plan=str(plan), journal=str(journal), **BACK)

    assert placed(result["moved"]) == [(table.path, FIRST), (other.path, THIRD)]
    assert result["other_state"] == [{"shard_path": table.path, "partition": SECOND, "state": "COLD"}]
    assert [table.state(each) for each in (FIRST, SECOND)] == [b"HOT", b"COLD"]
    started, *reheated, ended = events_of(journal)
    assert (started["event"], started["state"]) == ("started", "HOT")
    assert (started["shard_paths"], started["partitions"]) == (2, 2)
    sizes = {"parts": 2, "znodes": 2, "bytes": result["moved"][0]["bytes"]}
    assert all(event.pop("zxid") > 0 for event in reheated)
    # Those of two shard paths may come in any order.
    assert sorted(reheated, key=lambda event: str(event["shard_path"])) == [
        {"event": "reheated", "shard_path": path, "partition": partition, **sizes}
        for path, partition in ((table.path, FIRST), (other.path, THIRD))
    ]
    assert ended == {"event": "ended", "counts": result["counts"], "error": ""}


def test_everything_of_a_shard_path_comes_back(pair: Pair, table: Table) -> None:
    """Not what is hot, nor of another shard path."""
    visits, orders = (build_table(pair.hot, f"{pair.base}/{name}") for name in ("visits", "orders"))
    for each in (table, visits):
        make_cold(pair, each)
    journal = pair.folder / "journal.jsonl"
    paths = [orders.path, table.path, table.path]

    result = pair.call("part_move", shard_paths=paths, journal=str(journal), **BACK)

    assert placed(result["moved"]) == [(table.path, each) for each in (FIRST, SECOND, THIRD)]
    counts = result["counts"]
    assert (counts["unchanged"], counts["not_reached"]) == (0, 0)
    assert {visits.state(each) for each in (FIRST, SECOND, THIRD)} == {b"COLD"}
    started = events_of(journal)[0]
    assert (started["event"], started["module"], started["state"]) == ("started", "part_move", "HOT")
    assert (started["work"], started["shard_paths"]) == ("a list of shard paths", 2)
    assert "partitions" not in started


def test_shard_path_that_cannot_be_read_does_not_keep_the_others(pair: Pair, table: Table) -> None:
    odd, visits = (build_table(pair.hot, f"{pair.base}/{name}") for name in ("a", "visits"))
    for each in (table, odd):
        make_cold(pair, each)
    znode = f"{odd.parts_path('r1')}/nothing-of-ours"
    pair.cold.create(znode)
    before = pair.trees_below(odd.path)

    result = pair.call("part_move", shard_paths=[table.path, odd.path, visits.path], **BACK)

    assert result["failed"]
    assert result["msg"].startswith(f"{odd.path} cannot be read: {znode} in the cold ensemble: ")
    assert placed(result["moved"]) == [(table.path, each) for each in (FIRST, SECOND, THIRD)]
    assert result["counts"]["not_reached"] == 0
    assert pair.trees_below(odd.path) == before


def test_copies_of_a_partition_that_never_was_cold_are_removed(pair: Pair, table: Table) -> None:
    """A move that was killed before its switch leaves them, and no server has ever looked for them."""
    cold = Table(table.client, table.path, TableOptions(partitions=(THIRD,)))
    make_cold(pair, cold)
    for replica in ("r1", "r2"):
        register(pair.cold, table, replica, [FIRST])
    journal = pair.folder / "journal.jsonl"
    wanted: dict[str, Any] = {
        "partitions": partitions_of(table, FIRST, SECOND),
        "journal": str(journal),
    }
    before = pair.trees()

    checked = pair.call("part_move", check=True, **wanted, **BACK | {"state": "HOT"})
    assert pair.trees() == before
    assert not journal.exists()
    result = pair.call("part_move", **wanted, **BACK)

    assert checked["msg"] == (
        "0 would be moved, copies of 1 would be removed, 0 deferred, 0 failed, 1 unchanged"
    )
    assert result["msg"] == "0 moved, copies of 1 removed, 0 deferred, 0 failed, 1 unchanged"
    for name in ("changed", "counts", "copies_removed", "unchanged", "diff"):
        assert checked[name] == result[name]
    assert result["changed"]
    assert placed(result["copies_removed"]) == [(table.path, FIRST)]
    assert result["diff"] == {
        "before": f"{table.path} {FIRST}: copies in cold\n",
        "after": f"{table.path} {FIRST}: no copies in cold\n",
    }
    assert table.registered(pair.cold, FIRST) == {"r1": [], "r2": []}
    assert table.registered(pair.cold, THIRD) == dict.fromkeys(("r1", "r2"), table.part_names(THIRD))
    assert events_of(journal)[1:-1] == [
        {"event": "copies_removed", "shard_path": table.path, "partition": FIRST}
    ]


def test_nothing_comes_back_that_gates_keep(pair: Pair, table: Table) -> None:
    make_cold(pair, table)
    wanted = partitions_of(table, FIRST)
    before = pair.trees_below(table.path)
    unvouched, silent, nowhere = pair.call_all(
        pair.task("part_move", state="hot", partitions=wanted),
        pair.task(
            "part_move",
            state="hot",
            partitions=wanted,
            clickhouse={"endpoints": {"r1": "127.0.0.1:9", "r2": "127.0.0.1:9"}},
        ),
        pair.task("part_move", partitions=partitions_of(table, "20190199"), **BACK),
    )
    assert unvouched["failed"]
    assert silent["failed"]
    assert "ClickHouse at 127.0.0.1:9 cannot be reached" in silent["msg"]
    assert nowhere["deferred"][0]["gate"] == "partition_exists"
    assert pair.trees_below(table.path) == before


def test_replica_that_is_not_active_keeps_everything_as_it_is(pair: Pair, table: Table) -> None:
    make_cold(pair, table)
    pair.hot.delete(f"{table.path}/replicas/r2/is_active")
    before = pair.trees_below(table.path)
    result = pair.call("part_move", shard_paths=[table.path], **BACK)
    assert {row["gate"] for row in result["deferred"]} == {"replicas_healthy"}
    assert result["deferred"][0]["reason"] == "replica r2 is not active"
    assert (result["changed"], result["counts"]["deferred"]) == (False, 3)
    assert pair.trees_below(table.path) == before


def test_another_coordination_root_is_refused_by_name(pair: Pair, table: Table) -> None:
    make_cold(pair, table)
    before = pair.trees_below(table.path)
    other = f"{pair.base}-other"
    root = pair.options["coordination_root"]
    moved, found = pair.call_all(
        pair.task("part_move", partitions=partitions_of(table), coordination_root=other, **BACK),
        pair.task("part_move", shard_paths=[table.path], coordination_root=other, **BACK),
    )
    reason = f"Runs on {table.path} meet at {root} of the hot ensemble, and this one would at {other}"
    assert {row["gate"] for row in moved["deferred"]} == {"bound_here"}
    assert moved["deferred"][0]["reason"].startswith(reason)
    assert found["failed"]
    assert found["msg"].startswith(reason)
    assert pair.trees_below(table.path) == before
