# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tables have a server that can be asked, and how often servers are asked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_search import (
    HttpReplicaSearch,
    ReplicaHost,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_table import ReplicaClients
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import (
    VersionRefused,
    require_auxiliary_tables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError

HITS, VISITS = "/ch/hits", "/ch/visits"
Servers = Mapping[str, "list[list[str]] | PartMoveError"]


def host(server: str) -> str:
    return f"host: {server}\nport: 9009\ntcp_port: 9000\ndatabase: default\ntable: t\n"


REPLICAS = [ReplicaHost("r1", host("ch1")), ReplicaHost("r2", host("ch2"))]


@pytest.fixture
def asked() -> list[str]:
    """The servers in the order in which they were asked."""
    return []


def search(monkeypatch: pytest.MonkeyPatch, asked: list[str], servers: Servers) -> HttpReplicaSearch:
    def rows(client: ClickHouseClient, _sql: str) -> list[list[str]]:
        name = client.label.removeprefix("ClickHouse at ").removesuffix(":8123")
        asked.append(name)
        answer = servers[name]
        if isinstance(answer, PartMoveError):
            raise answer
        return answer

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    return HttpReplicaSearch(ReplicaClients(ClickHouseOptions()), at_once=2)


def test_each_server_is_asked_once_for_all_of_its_tables(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    servers = {f"ch{n}": [[HITS, f"r{n}"], [VISITS, f"r{n}"]] for n in (1, 2)}
    found = search(monkeypatch, asked, servers).problems({HITS: REPLICAS, VISITS: REPLICAS})
    assert (found, sorted(asked)) == ({}, ["ch1", "ch2"])


def test_one_server_that_answers_is_enough(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    servers: Servers = {"ch1": PartMoveError("down"), "ch2": [[HITS, "r2"]]}
    found = search(monkeypatch, asked, servers).problems({HITS: REPLICAS, VISITS: REPLICAS})
    # No server shows the other table.
    assert {path: error.message for path, error in found.items()} == {VISITS: "down"}


def test_a_table_that_no_server_shows_cannot_be_asked_about(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """The user may not see it, or the endpoints are those of other servers."""
    found = search(monkeypatch, asked, {"ch1": [[VISITS, "r1"], [HITS, "r2"]]}).problems({HITS: REPLICAS[:1]})
    assert found[HITS].message == f"ClickHouse at ch1:8123 shows no table that is replica r1 of {HITS}"


def test_an_unknown_address_is_no_server(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    found = search(monkeypatch, asked, {}).problems({HITS: [ReplicaHost("r1", "junk")]})
    assert f"{HITS}/replicas/r1/host" in found[HITS].message
    assert asked == []


def test_a_table_without_replicas_is_no_problem(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    assert search(monkeypatch, asked, {}).problems({HITS: []}) == {}


def test_one_server_of_an_unfit_version_is_a_problem_of_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its other replicas do not help: a twin is on every replica. Tables of other shards are no problem."""
    versions = {"ch1": "24.8.4.1", "ch2": "20.12.3.3", "ch3": "21.1.2.15"}

    def rows(client: ClickHouseClient, sql: str) -> list[list[str]]:
        name = client.label.removeprefix("ClickHouse at ").removesuffix(":8123")
        if sql == "SELECT version()":
            return [[versions[name]]]
        return [[HITS, "r1"], [HITS, "r2"], [VISITS, "r1"], [VISITS, "r3"]]

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    tables = {HITS: REPLICAS, VISITS: [REPLICAS[0], ReplicaHost("r3", host("ch3"))]}
    clients = ReplicaClients(ClickHouseOptions())
    assert HttpReplicaSearch(clients).problems(tables) == {}
    (problem,) = HttpReplicaSearch(clients, 2, require_auxiliary_tables).problems(tables).items()
    assert (problem[0], type(problem[1])) == (HITS, VersionRefused)
    assert "ClickHouse at ch2:8123 runs ClickHouse 20.12.3.3" in problem[1].message
