# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The replicas that are asked about, and the sentence about tables of which no server can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_search import ReplicaHost
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import VersionRefused
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks import askable_servers
from ansible_collections.olap.partmove.plugins.module_utils._tasks.askable_servers import check_servers
from support.memory.bench import DAY, PATH, Bench
from support.memory.tables import TableOptions, build_table

OTHER = "/clickhouse/tables/02/hits"
GONE = "/clickhouse/tables/03/hits"


class Search:
    """Implements ReplicaSearch."""

    def __init__(self, *silent: str) -> None:
        self.silent = silent
        self.tables: Mapping[str, Sequence[ReplicaHost]] = {}

    def problems(self, tables: Mapping[str, Sequence[ReplicaHost]]) -> Mapping[str, PartMoveError]:
        """Return an error for each silent table."""
        self.tables = tables
        return {each: PartMoveError("refused", remedy="Check the password") for each in self.silent}


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    build_table(bench.hot, OTHER, TableOptions(partitions=(DAY,)))
    return bench


@pytest.mark.parametrize("at_once", [1, 500])
def test_all_replicas_of_all_tables_are_looked_for(
    bench: Bench, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(askable_servers, "_PATHS_AT_ONCE", at_once)
    search = Search()
    bench.hot.delete(f"{OTHER}/replicas/r2/host")
    assert check_servers(bench.hot_store, [PATH, GONE, OTHER], search) == ""
    assert {path: [each.name for each in replicas] for path, replicas in search.tables.items()} == {
        PATH: ["r1", "r2"],
        OTHER: ["r1", "r2"],
    }
    hosts = [each.host for replicas in search.tables.values() for each in replicas]
    assert [bool(host) for host in hosts] == [True, True, True, False]


def test_some_tables_are_named(bench: Bench) -> None:
    assert check_servers(bench.hot_store, [PATH, OTHER], Search(OTHER)) == (
        f"No ClickHouse server of {OTHER} can be asked: refused. Check the password."
    )


def test_no_server_of_any_table_is_an_error(bench: Bench) -> None:
    with pytest.raises(PartMoveError) as failure:
        check_servers(bench.hot_store, [PATH, OTHER], Search(PATH, OTHER))
    assert str(failure.value) == (
        "No ClickHouse server of any of the 2 tables can be asked: refused. Check the password."
    )


class UnfitSearch(Search):
    """Implements ReplicaSearch: the tables have a server of an unfit version, and the last none at all."""

    def problems(self, tables: Mapping[str, Sequence[ReplicaHost]]) -> Mapping[str, PartMoveError]:
        """Return an error for each table."""
        return {**super().problems(tables), self.silent[0]: VersionRefused("it is old", remedy="Upgrade it")}


def test_unfit_versions_are_named_beside_servers_that_cannot_be_asked(bench: Bench) -> None:
    paths = [PATH, OTHER]
    assert check_servers(bench.hot_store, paths, UnfitSearch(OTHER)) == (
        f"No partition of {OTHER} can be moved: it is old. Upgrade it."
    )
    with pytest.raises(VersionRefused, match=r"^it is old\. Upgrade it\.$"):
        check_servers(bench.hot_store, paths, UnfitSearch(OTHER, PATH))
    build_table(bench.hot, GONE, TableOptions(partitions=(DAY,)))
    assert check_servers(bench.hot_store, [*paths, GONE], UnfitSearch(OTHER, GONE)) == (
        f"No partition of {OTHER} can be moved: it is old. Upgrade it."
        f" No ClickHouse server of {GONE} can be asked: refused. Check the password."
    )


def test_without_tables_nothing_is_asked(bench: Bench) -> None:
    assert check_servers(bench.hot_store, [GONE], Search()) == ""
    assert check_servers(bench.hot_store, [], Search()) == ""
