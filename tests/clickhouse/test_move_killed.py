# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move that is killed at any point and run again ends as one that was never interrupted."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.memory.tables import read_tree
from support.servers.killed_move import Job, run_killed
from support.servers.moving import Mover, switches
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker
from support.servers.watch import Watch
from support.servers.zookeeper import Ensemble

KILLS = 10
MOVED = {"20191201", "20191202", "20191203"}
KEPT = "20191204"

# Data of these tells times, processes and the name of the table.
_OF_THE_MOMENT = re.compile(
    r"/replicas/r[12]/(host|is_active|\w+_insert_time)|/log/log-\d+|/leader_election/.*"
)


@pytest.fixture
def make_filled(make_table: TableMaker) -> Callable[[], ReplicatedTable]:
    """Return a function that makes a table, always with the same parts."""

    def make() -> ReplicatedTable:
        table = make_table(WITHOUT_MERGES)
        table.fill(["2019-12-01", "2019-12-02", "2019-12-03", "2019-12-04"])
        table.insert("('2019-12-04', 9)")
        table.settle()
        return table

    return make


class Runs:
    """Counts the operations of moves, and notes the number of the first switch."""

    def __init__(self, mover: Mover) -> None:
        self.mover = mover
        self.operations = 0
        self.first_switch = 0
        mover.before_hot = mover.before_cold = self._count

    def _count(self, _operation: str, multis: Sequence[Multi]) -> None:
        if switches(multis) and not self.first_switch:
            self.first_switch = self.operations
        self.operations += 1


def test_killed_move_is_completed_by_the_next_one(
    make_filled: Callable[[], ReplicatedTable],
    mover: Mover,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    # The first move of all also creates what the shard paths have in common.
    mover.move(make_filled())
    reference = make_filled()
    runs = Runs(mover)
    report = mover.move(reference)
    assert report.moved.keys() == MOVED
    assert report.deferred.keys() == {KEPT}
    expected = [tree_of(client, reference) for client in (hot_client, *cold_clients)]

    # Always also right before and right after the switch.
    points = {runs.first_switch, runs.first_switch + 1}
    points |= set(random.sample(sorted(set(range(runs.operations)) - points), KILLS - len(points)))
    tables = {point: make_filled() for point in sorted(points)}

    def kill(point: int) -> list[str]:
        table = tables[point]
        partitions = sorted(table.active_parts())
        hosts = hot_ensemble.connect_string, cold_ensemble.connect_string
        with watch(table) as watched:
            run_killed(Job(*hosts, table.path, partitions, mover.endpoints_of(table), point))
        return watched.problems

    with ThreadPoolExecutor(2) as pool:
        assert dict(zip(tables, pool.map(kill, tables), strict=True)) == {point: [] for point in tables}

    for point, table in tables.items():
        with watch(table) as watched:
            again = mover.move(table)
        assert (point, watched.problems, again.failed) == (point, [], {})
        assert again.moved.keys() | again.unchanged == MOVED
        assert {each: refusal.gate for each, refusal in again.deferred.items()} == {KEPT: "one_part"}
        for client, tree in zip((hot_client, *cold_clients), expected, strict=True):
            assert (point, tree_of(client, table)) == (point, tree)
        marker = json.loads(cold_clients[0].get(table.path)[0])
        assert marker["hot_czxid"] == hot_client.exists(table.path).czxid


def tree_of(client: KazooClient, table: ReplicatedTable) -> Mapping[str, object]:
    """Path below the shard path → data, where a table that was made alike has the same data."""
    client.sync(table.path)
    tree = {path.removeprefix(table.path): znode[0] for path, znode in read_tree(client, table.path).items()}
    # The marker of the shard path in cold is another one for each table.
    return {path: b"" if not path or _OF_THE_MOMENT.fullmatch(path) else data for path, data in tree.items()}
