# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""while_hot.yml with the variables of the pages for operators, on patched servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from support.servers.moving import Mover
from support.servers.operator import Operator, url_of, variables_of
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, Definition, ReplicatedTable, TableMaker
from support.servers.zookeeper import Ensemble

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"
NOW: dict[str, Any] = {
    "while_hot_delay": 1,
    "part_move_min_age": "0",
    "part_move_assume_patched": True,
    "part_move_wait_for_copies": False,
}

pytestmark = [
    pytest.mark.long(minutes=3),
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.usefixtures("healthy"),
]


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with three rows in each of two partitions."""
    made = make_table(WITHOUT_MERGES)
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    return made


def insert_late(table: ReplicatedTable, mover: Mover) -> None:
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    table.insert("('2019-12-01', 9)")
    table.settle()


def move_several_parts(table: ReplicatedTable, mover: Mover) -> None:
    table.insert("('2019-12-01', 9)")
    table.settle()
    mover.options = GateOptions(min_age=0.0, max_parts=2)
    assert mover.move(table, [DAY]).moved.keys() == {DAY}


@pytest.mark.parametrize(
    ("page", "arrange"),
    [("late-insert", insert_late), ("rewrite", move_several_parts)],
    ids=["late-insert", "rewrite"],
)
def test_parts_are_merged_while_the_partition_is_hot(
    table: ReplicatedTable,
    operator: Operator,
    mover: Mover,
    registry: Registry,
    page: str,
    arrange: Callable[[ReplicatedTable, Mover], None],
) -> None:
    arrange(table, mover)
    rows = table.rows()
    assert len(rows) == 7

    done = operator.play("while_hot", "part_move", {**variables_of(page, table), **NOW})

    assert done.status == 0, done.told
    table.settle()
    (part,) = table.active_parts()[DAY]
    assert registry.of(table, DAY) == ({}, {"r1": [part], "r2": [part]})
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]


def test_a_partition_is_replaced_by_that_of_another_table(
    table: ReplicatedTable, operator: Operator, mover: Mover, registry: Registry, hot: Ensemble
) -> None:
    """Both are cold before, and after it again, once the copies are gone."""
    new = ReplicatedTable(f"{table.name}_new", f"{table.path}_new", table.servers).create(WITHOUT_MERGES)
    new.insert("('2019-12-01', 7)")
    new.settle()
    for each in (table, new):
        assert mover.move(each, [DAY]).moved.keys() == {DAY}

    done = operator.play("while_hot", "part_move", {**variables_of("copy-partitions", table), **NOW})

    assert done.status == 0, done.told
    # Those of the part that was replaced, as the playbook is told not to wait for ten minutes.
    assert f"  {table.path} {DAY} by no_stray_copies: " in done.output
    assert registry.of(new, DAY).hot == {}
    mover.seconds_ahead = 700.0
    assert mover.reheat(table, [DAY]).copies_removed == {DAY}
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    rows = [("2019-12-01", 7), *(("2019-12-02", number) for number in range(3))]
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    for each in (table, new):
        assert registry.of(each, DAY).hot == {}
        assert registry.of(each, DAY).cold.keys() == {"r1", "r2"}
    for server in table.servers:
        server.restart()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]


def test_a_replica_is_added_by_tasks_of_ones_own(
    table: ReplicatedTable, operator: Operator, mover: Mover, registry: Registry, tmp_path: Path
) -> None:
    """It has what was cold, since that is hot while it is added."""
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    third = f"{table.name}_r3"
    statements = [create_replica(third, table.path, "r3", WITHOUT_MERGES), f"SYSTEM SYNC REPLICA {third}"]
    tasks = tmp_path / "add-replica.yml"
    given = {"url": url_of(table, 0), "method": "POST", "body": "{{ item }}"}
    tasks.write_text(json.dumps([{"ansible.builtin.uri": given, "loop": statements}]))
    endpoints: dict[str, str] = operator.clickhouse["endpoints"]
    endpoints["r3"] = endpoints["r1"]

    variables = {"while_hot_shard_paths": [table.path], "while_hot_tasks": str(tasks), **NOW}
    done = operator.play("while_hot", "part_move", variables)

    assert done.status == 0, done.told
    assert registry.of(table, DAY) == ({}, {name: [PART] for name in ("r1", "r2", "r3")})
    assert table.servers[0].query(f"SELECT count() FROM {third}") == [(6,)]


def create_replica(name: str, path: str, replica: str, definition: Definition) -> str:
    """The statement that creates one more replica of a table."""
    engine = f"ReplicatedMergeTree('{path}', '{replica}')"
    return f"CREATE TABLE {name} ({definition.columns}) ENGINE = {engine} {definition.clauses}"
