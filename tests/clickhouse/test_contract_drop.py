# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What patched servers remove where, when a partition is dropped or detached."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.servers.moving import Mover
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker, wait_for

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"
BOTH = {"r1": [PART], "r2": [PART]}
ROWS = [("2019-12-02", number) for number in range(3)]
"""Those of the partition that is not dropped."""

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched]


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with one part in each of two partitions."""
    made = make_table(WITHOUT_MERGES)
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    return made


@pytest.fixture
def cold_table(table: ReplicatedTable, mover: Mover, registry: Registry) -> ReplicatedTable:
    """The same, with both partitions in cold."""
    assert mover.move(table).moved.keys() == {DAY, OTHER}
    assert registry.of(table, DAY) == ({}, BOTH)
    return table


def drop(table: ReplicatedTable, verb: str = "DROP", sync: int = 2) -> None:
    """Drop the partition on the first server; with sync 2 wait for the other one as well."""
    table.servers[0].execute(
        f"ALTER TABLE {table.name} {verb} PARTITION {DAY}", replication_alter_partitions_sync=sync
    )


@pytest.mark.parametrize("state", [b"HOT", None], ids=["HOT", "no State"])
def test_drop_of_a_hot_partition(table: ReplicatedTable, registry: Registry, state: bytes | None) -> None:
    registry.set_state(table, DAY, state)

    drop(table)

    assert [table.rows(number) for number in (0, 1)] == [ROWS, ROWS]
    assert registry.of(table, DAY) == ({}, {})
    assert registry.of(table, OTHER).hot.keys() == BOTH.keys()


def test_drop_of_a_cold_partition(cold_table: ReplicatedTable, registry: Registry) -> None:
    drop(cold_table)

    assert [cold_table.rows(number) for number in (0, 1)] == [ROWS, ROWS]
    assert registry.of(cold_table, DAY) == ({}, {})
    assert registry.of(cold_table, OTHER).cold.keys() == BOTH.keys()


@pytest.mark.parametrize("state", [b"COLD\n", b"cold", b"", None], ids=["line end", "case", "empty", "none"])
def test_drop_of_a_cold_partition_whose_state_is_not_exactly_cold_leaves_copies(
    cold_table: ReplicatedTable, mover: Mover, registry: Registry, state: bytes | None
) -> None:
    registry.set_state(cold_table, DAY, state)

    drop(cold_table)

    assert [cold_table.rows(number) for number in (0, 1)] == [ROWS, ROWS]
    assert registry.of(cold_table, DAY) == ({}, BOTH)
    assert DAY in {
        each.partition
        for each in DowngradeGuard(mover.hot, mover.cold, DEFAULT_ROOT).cold_partitions(cold_table.path)
    }
    assert mover.move(cold_table, [DAY]).deferred.keys() == {DAY}


def test_detach_of_a_cold_partition_and_back(cold_table: ReplicatedTable, registry: Registry) -> None:
    rows = cold_table.rows()

    drop(cold_table, "DETACH")
    assert registry.of(cold_table, DAY) == ({}, {})
    assert [cold_table.detached(number) for number in (0, 1)] == [[PART], [PART]]

    cold_table.servers[0].execute(f"ALTER TABLE {cold_table.name} ATTACH PARTITION {DAY}")
    cold_table.settle()
    assert [cold_table.rows(number) for number in (0, 1)] == [rows, rows]
    registered = registry.of(cold_table, DAY)
    assert (registered.hot.keys(), registered.cold) == (BOTH.keys(), {})


def test_drop_of_a_cold_partition_with_a_late_insert(cold_table: ReplicatedTable, registry: Registry) -> None:
    cold_table.insert("('2019-12-01', 9)")
    cold_table.settle()
    assert registry.of(cold_table, DAY).hot.keys() == BOTH.keys()

    drop(cold_table)

    assert [cold_table.rows(number) for number in (0, 1)] == [ROWS, ROWS]
    assert registry.of(cold_table, DAY).cold == {}
    # The drop removes cold znodes only; those in hot go when the part is cleaned up.
    wait_for(lambda: registry.of(cold_table, DAY).hot == {})


def test_replica_that_is_down_removes_its_own_when_it_is_back(
    cold_table: ReplicatedTable, registry: Registry
) -> None:
    _first, second = cold_table.servers
    second.stop()
    try:
        drop(cold_table, sync=1)
        assert cold_table.rows(0) == ROWS
        assert registry.of(cold_table, DAY) == ({}, {"r2": [PART]})
    finally:
        second.start()

    wait_for(lambda: cold_table.rows(1) == ROWS)
    wait_for(lambda: registry.of(cold_table, DAY).cold == {})
    cold_table.settle()
    assert cold_table.detached(1) == []
