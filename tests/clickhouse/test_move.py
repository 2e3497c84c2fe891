# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves of quiet tables of real servers: what is moved, what stays, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, Multi
from support.memory.tables import read_tree
from support.servers.moving import Mover, switches
from support.servers.registered import data_of, parts_in
from support.servers.replicated import (
    BY_DAY,
    BY_STRING,
    BY_YEAR_AND_MONTH,
    OLD_STYLE,
    UNPARTITIONED,
    Definition,
    ReplicatedTable,
    TableMaker,
    wait_for,
)
from support.servers.watch import Watch

Tree = Mapping[str, tuple[object, ...]]

DATA = slice(0, 3)
"""Of what read_tree tells of a znode: data and the transactions that created and last set it."""


class Kind(NamedTuple):
    """A kind of table.

    single: rows by partition id, of partitions that get one part.
    several: first and second row by partition id, of partitions that get two parts.
    """

    definition: Definition
    single: Mapping[str, str]
    several: Mapping[str, tuple[str, str]]


KINDS = {
    "days": Kind(
        BY_DAY,
        {"20191201": "('2019-12-01', 1)", "20191202": "('2019-12-02', 2)", "20191204": "('2019-12-04', 3)"},
        {"20191203": ("('2019-12-03', 4)", "('2019-12-03', 5)")},
    ),
    "old-style months": Kind(
        OLD_STYLE,
        {"201911": "('2019-11-05', 1), ('2019-11-25', 1)", "201912": "('2019-12-01', 2)"},
        {"201910": ("('2019-10-01', 3)", "('2019-10-31', 4)")},
    ),
    "one partition": Kind(UNPARTITIONED, {"all": "('2019-12-01', 1), ('2020-12-01', 2)"}, {}),
    "one partition of two parts": Kind(
        UNPARTITIONED, {}, {"all": ("('2019-12-01', 1)", "('2020-12-01', 2)")}
    ),
    "hashes": Kind(
        BY_STRING,
        {"eca933882d3b9fbcd0f8eea25a0984e1": "('eins', 1)"},
        {"204f05b44939758718daf5a77f8e90eb": ("('zwei', 1)", "('zwei', 2)")},
    ),
    "several columns": Kind(
        BY_YEAR_AND_MONTH,
        {"2019-1": "('2019-01-05', 1)", "2019-2": "('2019-02-05', 1)", "2020-12": "('2020-12-05', 1)"},
        {
            "2019-12": ("('2019-12-05', 1)", "('2019-12-05', 2)"),
            "2020-1": ("('2020-01-05', 1)", "('2020-01-05', 2)"),
        },
    ),
}


def filled(kind: Kind, make_table: TableMaker) -> ReplicatedTable:
    """A table of the kind that has nothing to do any more."""
    table = make_table(kind.definition)
    for server in table.servers:
        server.execute(f"SYSTEM STOP MERGES {table.name}")
    table.insert(*kind.single.values(), *(first for first, _second in kind.several.values()))
    if kind.several:
        table.insert(*(second for _first, second in kind.several.values()))
    table.settle()
    return table


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_partitions_of_one_part_are_moved_and_nothing_else_changes(
    kind: Kind,
    make_table: TableMaker,
    mover: Mover,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    table = filled(kind, make_table)
    before = read_tree(hot_client, table.path)
    parts = [table.active_parts(number) for number in (0, 1)]
    rows = [table.rows(number) for number in (0, 1)]

    with watch(table) as watched:
        wait_for(lambda: watched.rounds > 0)
        report = mover.move(table, [*kind.single, *kind.several])

    assert watched.problems == []
    assert watched.rounds > 3
    assert {
        each: (moved.state_before, moved.state_after) for each, moved in report.moved.items()
    } == dict.fromkeys(kind.single, ("", "COLD"))
    assert {each: refusal.gate for each, refusal in report.deferred.items()} == dict.fromkeys(
        kind.several, "one_part"
    )
    assert (report.unchanged, report.failed) == (set(), {})

    moved = registration(before, table, kind.single)
    after = read_tree(hot_client, table.path)
    markers = {f"{table.path}/block_numbers/{each}/State": b"COLD" for each in kind.single}
    kept = before.keys() - moved.keys()
    assert len(moved) == 6 * len(kind.single)
    assert after.keys() == kept | markers.keys()
    assert {path: after[path][DATA] for path in kept} == {path: before[path][DATA] for path in kept}
    assert {path: data_of(after[path]) for path in markers} == markers
    for client in cold_clients:
        client.sync(table.path)
        assert parts_in(client, table) == moved

    assert [table.active_parts(number) for number in (0, 1)] == parts
    assert [table.rows(number) for number in (0, 1)] == rows


def test_report_counts_what_was_moved(make_table: TableMaker, mover: Mover, hot_client: KazooClient) -> None:
    table = filled(KINDS["days"], make_table)
    tree = read_tree(hot_client, table.path)
    report = mover.move(table)
    for each, moved in report.moved.items():
        data = registration(tree, table, [each])
        assert (moved.partition, moved.parts, moved.znodes) == (each, 2, len(data))
        assert moved.data_bytes == sum(map(len, data.values()))


@pytest.mark.parametrize("name", ["days", "several columns"])
def test_second_run_changes_nothing(
    name: str,
    make_table: TableMaker,
    mover: Mover,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
) -> None:
    kind = KINDS[name]
    table = filled(kind, make_table)
    first = mover.move(table, list(kind.single))
    paths = [(client, path) for client in (hot_client, cold_clients[0]) for path in (table.path, "/partmove")]
    trees = [read_tree(client, path) for client, path in paths]

    second = mover.move(table, list(kind.single))

    assert second.unchanged == first.moved.keys() == kind.single.keys()
    assert (second.moved, second.deferred, second.failed) == ({}, {}, {})
    assert [read_tree(client, path) for client, path in paths] == trees


def test_partitions_that_were_left_out_can_be_moved_later(
    make_table: TableMaker, mover: Mover, cold_clients: Sequence[KazooClient]
) -> None:
    table = filled(KINDS["several columns"], make_table)
    assert mover.move(table, ["2019-1"]).moved.keys() == {"2019-1"}
    # 2019-12 has two parts, and its id begins with that of a partition that is cold already.
    for server in table.servers:
        server.execute(f"SYSTEM START MERGES {table.name}")
    table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION (2019, 12) FINAL")
    table.settle()

    report = mover.move(table, ["2019-1", "2019-12", "2019-2"])

    assert report.moved.keys() == {"2019-12", "2019-2"}
    assert report.unchanged == {"2019-1"}
    names = {path.partition("/parts/")[2].split("/")[0] for path in parts_in(cold_clients[0], table)}
    assert names == {"2019-1_0_0_0", "2019-2_0_0_0", "2019-12_0_1_1"}


def test_every_member_of_cold_has_the_copies_before_hot_gives_them_up(
    make_table: TableMaker, mover: Mover, hot_client: KazooClient, cold_clients: Sequence[KazooClient]
) -> None:
    table = filled(KINDS["days"], make_table)
    registered = registration(read_tree(hot_client, table.path), table, KINDS["days"].single)
    seen: list[bool] = []

    def compare(_operation: str, multis: Sequence[Multi]) -> None:
        if switches(multis):
            deleted = {op.path for multi in multis for op in multi if isinstance(op, Delete)}
            # No sync: it is the state of each member at this moment that counts.
            seen.extend(
                deleted == registered.keys() and parts_in(client, table) == registered
                for client in cold_clients
            )

    mover.before_hot = compare
    mover.move(table)

    assert seen == [True] * len(cold_clients)


def test_lock_is_gone_and_epochs_stay(
    make_table: TableMaker, mover: Mover, hot_client: KazooClient, cold_clients: Sequence[KazooClient]
) -> None:
    table = filled(KINDS["days"], make_table)
    name = quote(table.path, safe="")
    mover.move(table)
    assert hot_client.exists(f"/partmove/locks/{name}") is None
    assert hot_client.exists(f"/partmove/epochs/{name}")
    assert cold_clients[0].exists(f"/partmove/epochs/{name}")
    assert cold_clients[0].exists("/partmove/locks") is None


def registration(tree: Tree, table: ReplicatedTable, partitions: Collection[str]) -> dict[str, bytes]:
    """Path → data of every znode that registers a part of the partitions, by the names the server has."""
    active = table.active_parts()
    names = {name for partition in partitions for name in active[partition]}
    return {
        path: data_of(znode)
        for path, znode in tree.items()
        if path.partition("/parts/")[2].split("/")[0] in names
    }
