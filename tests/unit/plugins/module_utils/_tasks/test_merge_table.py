# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Locations of the partitions of a table, over ensembles in memory."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    NoSuchTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.location import Location
from ansible_collections.olap.partmove.plugins.module_utils._tasks.merge_table import MergeTable
from support.memory.bench import DAY, OTHER, PATH, Bench


def read_table(bench: Bench, path: str = PATH, root: str = "/partmove") -> MergeTable:
    return MergeTable(bench.hot_store, bench.cold_store, path, root)


def test_replicas_are_those_of_hot_with_their_hosts() -> None:
    found = read_table(Bench()).replicas
    assert [each.name for each in found] == ["r1", "r2"]
    assert all("host: " in each.host for each in found)


def test_location_is_current_and_not_the_listed_one() -> None:
    bench = Bench()
    table = read_table(bench)
    assert [table.listed_location(each) for each in (DAY, OTHER, "none")] == [
        Location.HOT,
        Location.HOT,
        Location.ABSENT,
    ]
    bench.move()
    assert table.location(DAY) is Location.COLD
    assert table.listed_location(OTHER) is Location.HOT


def test_a_new_state_counts_even_if_parts_were_listed_before() -> None:
    bench = Bench()
    table = read_table(bench)
    table.listed_location(OTHER)
    bench.move()
    assert table.listed_location(DAY) is Location.MIXED


def test_path_without_a_table_is_refused() -> None:
    with pytest.raises(NoSuchTable, match="/clickhouse/none is no table"):
        read_table(Bench(), "/clickhouse/none")


def test_other_coordination_root_than_that_of_the_moves_is_refused() -> None:
    bench = Bench()
    bench.move()
    with pytest.raises(BindingConflict):
        read_table(bench, root="/other")
