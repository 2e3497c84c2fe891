# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A live census counts each znode of an ensemble once, whatever the shape of the tree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census import census as censuses, walk
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.outside import DDL_PATH
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.walk import take_census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create, Znode
from support.memory.bench import HookedStore
from support.memory.censuses import PLACES
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.tables import TableOptions, build_table, days

TABLES = ("/clickhouse/tables/01/hits", "/clickhouse/tables/02/hits")


def filled() -> MemoryEnsemble:
    ensemble = MemoryEnsemble("hot")
    client = MemoryClient(ensemble.open())
    for path in TABLES:
        build_table(client, path, TableOptions(partitions=days(20), legacy=path == TABLES[0]))
    client.create("/kafka/brokers/1", makepath=True)
    client.create("/clickhouse/task_queue/ddl/query-0000000001", makepath=True)
    client.create("/partmove/locks", makepath=True)
    return ensemble


class Counted(MemoryStore):
    """Records the paths read, and the number of paths in each request."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.seen: list[str] = []
        self.most = 0

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.seen += paths
        self.most = max(self.most, len(paths))
        return super().read(paths, absolute=absolute)


def test_every_znode_is_counted_once() -> None:
    ensemble = filled()
    store = Counted(ensemble)
    census = take_census(store, PLACES)
    assert sorted(store.seen) == sorted(ensemble.tree())
    assert census.total.znodes == len(store.seen)
    assert sorted(census.tables) == sorted(TABLES)
    kinds = {kind: counts.znodes for kind, counts in census.kinds.items()}
    assert (kinds[ZnodeKind.PART], kinds[ZnodeKind.PART_CHILD], kinds[ZnodeKind.BLOCK_NUMBER]) == (80, 80, 40)
    assert (kinds[ZnodeKind.DDL], kinds[ZnodeKind.COORDINATION], kinds[ZnodeKind.OTHER]) == (2, 2, 3)
    assert census.ephemerals == kinds[ZnodeKind.EPHEMERAL] == 4


def test_requests_are_limited_and_tables_are_read_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "_CHILDREN_PER_REQUEST", 25)
    store = Counted(filled())
    take_census(store, PLACES)
    assert store.most <= 25
    of_tables = [path for path in store.seen if path.startswith(tuple(f"{path}/" for path in TABLES))]
    first = [path.startswith(f"{TABLES[0]}/") for path in of_tables]
    assert first == sorted(first, reverse=True)


def test_znodes_deleted_meanwhile_are_skipped() -> None:
    ensemble = filled()

    class Deleting(Counted):
        def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
            found = super().read(paths, absolute=absolute)
            return [None if path.startswith("/kafka") else each for path, each in zip(paths, found)]

    census = take_census(Deleting(ensemble), PLACES)
    assert ZnodeKind.OTHER not in census.kinds


def test_unreadable_znodes_are_reported_and_the_others_counted() -> None:
    ensemble = filled()
    whole = take_census(ensemble.open(), PLACES)
    store = HookedStore(ensemble)
    hers = f"{TABLES[0]}/replicas/r1/parts"
    task = "/clickhouse/task_queue/ddl/query-0000000001"
    store.denied = {"/kafka/brokers", hers, f"{TABLES[0]}/log", task}
    census = take_census(store, PLACES)
    assert (census.denied, sorted(census.denied_paths)) == (4, sorted(store.denied))
    below = [
        path for path in ensemble.tree() if f"{path}/".startswith(tuple(f"{each}/" for each in store.denied))
    ]
    assert census.total.znodes == whole.total.znodes - len(below)
    assert [census.tables[path].is_whole for path in TABLES] == [False, True]
    assert not census.is_readable(DDL_PATH)
    assert census.tables[TABLES[1]].total.znodes == whole.tables[TABLES[1]].total.znodes
    assert (whole.denied, whole.is_readable(DDL_PATH), whole.tables[TABLES[0]].is_whole) == (0, True, True)


def test_tables_below_unreadable_znodes_are_unknown() -> None:
    store = HookedStore(filled())
    store.denied = {TABLES[0], "/clickhouse/task_queue"}
    census = take_census(store, PLACES)
    assert list(census.tables) == [TABLES[1]]
    assert sorted(census.denied_paths) == sorted(store.denied)
    assert ZnodeKind.DDL not in census.kinds


def test_many_unreadable_znodes_are_counted_and_some_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(censuses, "_MOST_DENIED", 7)
    ensemble = filled()
    store = HookedStore(ensemble)
    parts = f"{TABLES[1]}/replicas/r1/parts/"
    store.denied = {path for path in ensemble.tree() if path.startswith(parts)}
    census = take_census(store, PLACES)
    assert (census.denied, len(census.denied_paths)) == (20, 7)


def test_an_unreadable_root_is_refused() -> None:
    store = HookedStore(filled())
    store.denied = {"/"}
    with pytest.raises(AccessDenied, match="may not read /"):
        take_census(store, PLACES)


def test_an_empty_ensemble_has_its_root() -> None:
    store = MemoryEnsemble("hot").open()
    store.commit([(Create("/a", b"1"),)])
    census = take_census(store, PLACES)
    assert census.tables == {}
    assert {kind: counts.znodes for kind, counts in census.kinds.items()} == {
        ZnodeKind.FOLDER: 1,
        ZnodeKind.OTHER: 1,
    }
