# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin clickhouse_shards on a server that runs, with and without its cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_shards import read_clusters
from support.ansible.inventory import run_inventory
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource

CLUSTERS = """<remote_servers>
    <main>
        <shard><weight>3</weight><internal_replication>true</internal_replication>
            <replica><host>127.0.0.1</host><port>9000</port><user>u</user><password>SECRET</password></replica>
            <replica><host>127.0.0.2</host><port>9000</port></replica></shard>
        <shard><weight>0</weight><replica><host>127.0.0.3</host><port>9440</port></replica></shard>
        <node><host>127.0.0.4</host><port>9000</port></node>
    </main>
    <another><shard><replica><host>127.0.0.1</host><port>9001</port></replica></shard></another>
</remote_servers>"""


@pytest.fixture(scope="module")
def server(clickhouse: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    folder = tmp_path_factory.mktemp("inventory")
    options = ServerOptions(program=clickhouse, extra_xml=CLUSTERS)
    with ClickHouseServer("s", folder, ZooKeeperSource("127.0.0.1:1"), options) as running:
        yield running


def source(server: ClickHouseServer, **options: Any) -> dict[str, Any]:
    common = {"plugin": "olap.partmove.clickhouse_shards", "host": "127.0.0.1", "clusters": ["main"]}
    return {**common, "port": server.http_port, **options}


def test_a_server_tells_the_same_as_its_configuration(server: ClickHouseServer) -> None:
    of_file = read_clusters(str(server.config_path), None, None, {})
    asked = read_clusters(None, None, None, {"host": "127.0.0.1", "port": server.http_port})
    fields = ("cluster", "shard", "replica", "host", "port", "weight")
    told = [sorted(tuple(row[name] for name in fields) for row in rows) for rows in (of_file, asked)]
    assert told[0] == told[1]
    assert len(told[0]) == 5


def test_the_inventory_of_a_server(server: ClickHouseServer, tmp_path: Path) -> None:
    run = run_inventory(tmp_path, source(server))
    assert run.status == 0, run.output
    assert [run.hosts(f"main_shard_{number}") for number in (1, 2, 3)] == [
        ["127.0.0.1", "127.0.0.2"],
        ["127.0.0.3"],
        ["127.0.0.4"],
    ]
    assert run.variables("127.0.0.2") == {
        "clickhouse_cluster": "main",
        "clickhouse_shard": 1,
        "clickhouse_replica": 2,
        "clickhouse_port": 9000,
        "clickhouse_weight": 3,
        "clickhouse_is_local": False,
        "clickhouse_memberships": [{"cluster": "main", "shard": 1, "replica": 2}],
    }


def test_the_cache_answers_until_it_is_flushed(clickhouse: str, tmp_path: Path) -> None:
    options = ServerOptions(program=clickhouse, extra_xml=CLUSTERS)
    server = ClickHouseServer("c", tmp_path / "server", ZooKeeperSource("127.0.0.1:1"), options)
    cached = source(
        server,
        cache=True,
        cache_plugin="ansible.builtin.jsonfile",
        cache_connection=str(tmp_path / "cache"),
        password="{{ lookup('env', 'SOME_PASSWORD') }}",
    )
    with server:
        first = run_inventory(tmp_path, cached, SOME_PASSWORD="")
        assert first.status == 0, first.output

    again = run_inventory(tmp_path, cached, SOME_PASSWORD="")
    other_cluster = run_inventory(tmp_path, {**cached, "clusters": ["another"]}, SOME_PASSWORD="")
    other_server = run_inventory(tmp_path, {**cached, "port": 1}, SOME_PASSWORD="")
    flushed = run_inventory(tmp_path, cached, "--flush-cache", SOME_PASSWORD="")

    assert again.inventory == first.inventory
    # Clusters that are not selected are not read, so each selection has answers of its own.
    for run in (other_cluster, other_server, flushed):
        assert run.status != 0
        assert "cannot be reached: Connection refused" in " ".join(run.output.split())
    files = [path.read_text() for path in (tmp_path / "cache").iterdir()]
    assert files
    assert all("SECRET" not in text for text in files)


def test_a_password_is_not_told(server: ClickHouseServer, tmp_path: Path) -> None:
    run = run_inventory(tmp_path, source(server), CLICKHOUSE_PASSWORD="SECRET-OF-MINE")
    assert run.status != 0
    assert "refuses the user default" in " ".join(run.output.split())
    assert "SECRET" not in run.output
