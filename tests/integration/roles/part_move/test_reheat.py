# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role part_move with the state hot: what it brings back, and how it waits for the copies."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.ansible.role_runs import changed, run_role, summary
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import Table, days, register

FIRST, SECOND, THIRD = days(3)


def bring_back(pair: Pair, table: Table, *options: str, **variables: Any) -> PlaybookRun:
    """Run the role for all that is not only in hot, without waiting unless a variable says so."""
    given = {"state": "hot", "shard_paths": [table.path], "wait_for_copies": False, **variables}
    return run_role(pair, *options, **given)


def make_cold(pair: Pair, table: Table, *partitions: str) -> None:
    made = pair.call("part_move", partitions=partitions_of(table, *partitions), **ASSUMED)
    assert made["counts"]["moved"] == len(partitions), made


def drop(pair: Pair, table: Table, partition: str) -> None:
    """Drop a cold partition as servers do, which leaves State as it is."""
    for replica, parts in table.registered(pair.cold, partition).items():
        for part in parts:
            pair.cold.delete(f"{table.parts_path(replica)}/{part}")


def test_check_run_and_second_run_of_the_way_back(pair: Pair, table: Table) -> None:
    make_cold(pair, table, FIRST, SECOND, THIRD)
    drop(pair, table, THIRD)
    result = pair.folder / "result.json"
    size = 4 * len(MINIMALISTIC)
    told = [
        f"in hot again: 2 partitions, 4 parts, 4 znodes, {size} bytes.",
        f"  {table.path} {FIRST}: 2 parts, 2 znodes",
        f"  {table.path} {SECOND}: 2 parts, 2 znodes",
    ]
    remedy = (
        "Run again with the option clickhouse, so that the servers are asked. If they cannot be asked:"
        " where system.parts of every replica has no part of the partition, set State to HOT with"
        " partition_state; where a replica has one, do not restart its server and run part_audit_info."
    )
    why = (
        "State is COLD and neither ensemble registers a part of the partition: either the partition was"
        " dropped while it was cold, or cold has lost its part znodes. Only the servers know which"
    )
    rest = [
        "In hot only already: 0 partitions.",
        "Deferred: 1 partition, left unchanged.",
        f"  1 by registered. {remedy}",
        f"  {table.path} {THIRD} by registered: {why}",
        "Failed: 0 partitions.",
    ]
    before = pair.trees()

    checked = bring_back(pair, table, "--check", "--diff", wait_for_copies=True)
    assert changed(checked) == 1
    assert summary(checked) == [f"Would be registered {told[0]}", *told[1:], *rest]
    assert f"+{table.path} {FIRST}: State HOT, 2 parts in hot and in cold" in checked.output
    assert pair.trees() == before

    done = bring_back(pair, table, result_dest=str(result))
    assert changed(done) == 1
    assert summary(done) == [
        f"Registered {told[0]}",
        *told[1:],
        (
            "Copies still in cold: those of 2 partitions that are hot again."
            " Run again in 10 minutes; the copies are removed then."
        ),
        *rest,
    ]
    for each in (FIRST, SECOND):
        assert table.state(each) == b"HOT"
        assert table.registered(pair.hot, each) == table.registered(pair.cold, each)
    assert "later" not in json.loads(result.read_text())

    again = bring_back(pair, table)
    assert changed(again) == 0
    lines = summary(again)
    assert lines[0] == "Registered in hot again: 0 partitions, 0 parts, 0 znodes, 0 bytes."
    assert lines[1].startswith(
        "Copies still in cold: those of 2 partitions that are hot again. Run again in "
    )
    assert lines[2].startswith(f"  {table.path} {FIRST}: ")
    assert lines[4:] == rest


def test_copies_of_what_never_was_cold_are_removed_without_waiting(pair: Pair, table: Table) -> None:
    # The move of another partition tells the cold ensemble whose copies it has.
    make_cold(pair, table, SECOND)
    register(pair.cold, table, "r1", [FIRST])
    wanted = {"shard_paths": None, "partitions": partitions_of(table, FIRST), "wait_for_copies": True}
    done = bring_back(pair, table, **wanted)
    assert changed(done) == 1
    assert summary(done)[:3] == [
        "Registered in hot again: 0 partitions, 0 parts, 0 znodes, 0 bytes.",
        "Copies removed from cold: those of 1 partition.",
        f"  {table.path} {FIRST}",
    ]
    assert table.registered(pair.cold, FIRST) == {"r1": [], "r2": []}
    assert "waiting" not in done.output
    assert done.output.count("(item=nothing to wait for)") == 1
    again = bring_back(pair, table, **wanted)
    assert changed(again) == 0
    assert summary(again)[1] == "In hot only already: 1 partition."


def test_it_waits_until_the_copies_can_be_removed(
    pair: Pair, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cold(pair, table, FIRST, SECOND)
    result, log = pair.folder / "result.json", pair.folder / "ansible.log"
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(log))

    def let_it_end() -> None:
        """Make a State that tells of no cold time, once a look has found that the copies are needed."""
        while "(item=waiting, about 10 min left: " not in (log.read_text() if log.exists() else ""):
            assert not ended.wait(0.1)
        for each in (FIRST, SECOND):
            pair.hot.delete(table.state_path(each))
            pair.hot.create(table.state_path(each), b"HOT")

    ended = Event()
    with ThreadPoolExecutor() as pool:
        helper = pool.submit(let_it_end)
        try:
            run = bring_back(
                pair,
                table,
                "-e",
                '{"part_move__check_delay": 1, "part_move__checks": 300}',
                wait_for_copies=True,
                result_dest=str(result),
            )
        finally:
            ended.set()
        helper.result()
    assert changed(run) == 2
    assert "RETRYING" not in run.output
    assert "(item=no server needs the copies any more)" in run.output
    assert summary(run)[0].startswith("Registered in hot again: 2 partitions, 4 parts")
    assert summary(run)[3:6] == [
        "Copies removed from cold: those of 2 partitions.",
        f"  {table.path} {FIRST}",
        f"  {table.path} {SECOND}",
    ]
    told = json.loads(result.read_text())
    both = [{"shard_path": table.path, "partition": each} for each in (FIRST, SECOND)]
    assert told["counts"]["moved"] == 2
    assert told["later"]["copies_removed"] == both
    for each in (FIRST, SECOND):
        assert table.registered(pair.cold, each) == {"r1": [], "r2": []}
    assert changed(bring_back(pair, table, wait_for_copies=True)) == 0


def test_copies_that_are_needed_after_the_last_look_are_told(pair: Pair, table: Table) -> None:
    make_cold(pair, table, FIRST)
    few_looks = '{"part_move__check_delay": 1, "part_move__checks": 1}'
    run = bring_back(pair, table, "-e", few_looks, wait_for_copies=True)
    assert changed(run) == 1
    assert summary(run)[0].startswith("Registered in hot again: 1 partition, 2 parts")
    assert summary(run)[2].startswith("Copies still in cold: those of 1 partition that is hot again. ")
