# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the patched server takes from its configuration, what it shows, and what it does without cold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from support.memory.tables import read_tree
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource
from support.servers.process import ServerError
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import ReplicatedTable
from support.servers.zookeeper import Ensemble

SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"
SESSION = "SELECT value FROM system.build_options WHERE name = 'COLD_ZOOKEEPER_SESSION'"
PARTITION = "20191201"
PART = f"{PARTITION}_0_0_0"

pytestmark = pytest.mark.clickhouse


@pytest.fixture
def server(clickhouse: str, hot: Ensemble, tmp_path: Path) -> Iterator[ClickHouseServer]:
    """A stock server that runs; a test makes a patched one of it."""
    options = ServerOptions(macros={"replica": "r1"}, program=clickhouse)
    with ClickHouseServer("r1", tmp_path / "r1", ZooKeeperSource(hot.connect_string), options) as running:
        yield running


@pytest.fixture
def table(server: ClickHouseServer, base: str) -> ReplicatedTable:
    """A table with three rows in one part."""
    made = ReplicatedTable("t", f"{base}/t", [server]).create()
    made.fill(["2019-12-01"])
    made.settle()
    return made


@pytest.fixture
def hot_client(hot: Ensemble, connect: Callable[[str], KazooClient]) -> KazooClient:
    return connect(hot.connect_string)


@pytest.fixture
def cold_client(cold: Ensemble, connect: Callable[[str], KazooClient]) -> KazooClient:
    return connect(cold.connect_string)


@pytest.fixture
def cold_source(cold: Ensemble) -> ZooKeeperSource:
    return ZooKeeperSource(cold.connect_string)


def registered(client: KazooClient, table: ReplicatedTable) -> list[str]:
    client.sync("/")
    path = f"{table.path}/replicas/r1/parts"
    return sorted(client.get_children(path)) if client.exists(path) else []


def copy_to_cold(hot: KazooClient, cold: KazooClient, table: ReplicatedTable) -> None:
    path = f"{table.path}/replicas/r1/parts/{PART}"
    for each, (data, *_rest) in read_tree(hot, path).items():
        cold.create(each, data, makepath=True)


def make_cold(hot: KazooClient, cold: KazooClient, table: ReplicatedTable) -> None:
    copy_to_cold(hot, cold, table)
    hot.delete(f"{table.path}/replicas/r1/parts/{PART}", recursive=True)
    hot.create(f"{table.path}/block_numbers/{PARTITION}/State", b"COLD")


def log_has(server: ClickHouseServer, text: str) -> bool:
    return text in (server.folder / "clickhouse-server.log").read_text()


def test_the_sign(server: ClickHouseServer, table: ReplicatedTable, cold_source: ZooKeeperSource) -> None:
    assert server.query(SIGN) == [(0,)]

    server.restart_patched(None)
    assert server.query(SIGN) == [(1,)]
    assert server.query(SESSION) == [("none",)]

    server.restart_patched(cold_source)
    assert server.query(SIGN) == [(1,)]
    assert server.query(SESSION) == [("open",)]

    server.restart_stock(cold_source)
    assert server.query(SIGN) == [(0,)]
    assert table.rows()


def test_the_rest_of_the_build_options_stays(server: ClickHouseServer) -> None:
    stock = server.query("SELECT name, value FROM system.build_options")

    server.restart_patched(None)

    assert server.query("SELECT name, value FROM system.build_options") == [
        *stock,
        ("COLD_ZOOKEEPER", "1"),
        ("COLD_ZOOKEEPER_SESSION", "none"),
    ]


def test_without_a_cold_ensemble_it_refuses_like_the_stock_server(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot_client: KazooClient,
    cold_client: KazooClient,
) -> None:
    make_cold(hot_client, cold_client, table)

    with pytest.raises(ServerError, match="doesn't look like the set of parts in ZooKeeper"):
        server.restart_patched(None)


@pytest.mark.parametrize("servers", ["cold-zookeeper-servers", "not-there"])
def test_the_cold_ensemble_may_be_written_in_the_file_of_substitutions(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot: Ensemble,
    cold_source: ZooKeeperSource,
    tmp_path: Path,
    servers: str,
) -> None:
    substitutions = tmp_path / "metrika.xml"
    substitutions.write_text(f"<yandex>{cold_source.xml('cold-zookeeper-servers')}</yandex>")
    server.become(patched=True)
    element = f'<cold_zookeeper incl="{servers}" optional="true"/>'
    server.write_config(
        ZooKeeperSource(hot.connect_string), f"<include_from>{substitutions}</include_from>{element}"
    )

    server.start()

    assert server.value(SESSION) == ("none" if servers == "not-there" else "open")
    assert len(table.rows()) == 3


def test_root_and_identity_of_the_cold_ensemble(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot_client: KazooClient,
    cold: Ensemble,
    cold_client: KazooClient,
    base: str,
    connect: Callable[[str], KazooClient],
) -> None:
    cold_client.create(f"{base}-root")
    below = connect(f"{cold.connect_string}{base}-root")
    below.add_auth("digest", "cold:secret")
    below.default_acl = [make_digest_acl("cold", "secret", all=True)]
    make_cold(hot_client, below, table)

    server.restart_patched(ZooKeeperSource(cold.connect_string, f"{base}-root", "cold:secret"))
    assert len(table.rows()) == 3
    server.execute(f"ALTER TABLE t DROP PARTITION {PARTITION}", replication_alter_partitions_sync=2)

    assert registered(below, table) == []


def test_a_root_that_is_missing_in_cold_keeps_the_server_from_starting(
    server: ClickHouseServer, table: ReplicatedTable, cold: Ensemble
) -> None:
    with pytest.raises(ServerError, match="root doesn't exist"):
        server.restart_patched(ZooKeeperSource(cold.connect_string, "/not-there"))

    assert log_has(server, "<Error> Cold ZooKeeper: cannot open the session with <cold_zookeeper>")


def test_a_cold_ensemble_that_does_not_answer_keeps_the_server_from_starting(
    server: ClickHouseServer, table: ReplicatedTable, cold: Ensemble
) -> None:
    with ZooKeeperProxy(cold.members[0].address) as proxy:
        proxy.cut()
        with pytest.raises(ServerError, match="ended with exit status"):
            server.restart_patched(ZooKeeperSource(proxy.address))
        assert log_has(server, "<Error> Cold ZooKeeper: cannot open the session with <cold_zookeeper>")

        proxy.restore()
        server.start()

    assert len(table.rows()) == 3


def test_a_new_table_drops_cold_partitions_before_it_is_ever_loaded(
    server: ClickHouseServer,
    hot_client: KazooClient,
    cold_client: KazooClient,
    cold_source: ZooKeeperSource,
    base: str,
) -> None:
    server.restart_patched(cold_source)
    table = ReplicatedTable("t", f"{base}/t", [server]).create()
    table.fill(["2019-12-01", "2019-12-02"])
    table.settle()
    make_cold(hot_client, cold_client, table)

    server.execute(f"ALTER TABLE t DROP PARTITION {PARTITION}", replication_alter_partitions_sync=2)

    assert registered(cold_client, table) == []
    assert registered(hot_client, table) == ["20191202_0_0_0"]
    assert log_has(server, f"removed 1 parts of partition {PARTITION} of {table.path} from cold")


def test_an_expired_cold_session_is_not_renewed(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot_client: KazooClient,
    cold_client: KazooClient,
    cold: Ensemble,
) -> None:
    make_cold(hot_client, cold_client, table)
    with ZooKeeperProxy(cold.members[0].address) as proxy:
        server.restart_patched(ZooKeeperSource(proxy.address))
        # ClickHouse gives a session up as soon as its connection breaks.
        proxy.disconnect()

        server.execute(f"ALTER TABLE t DROP PARTITION {PARTITION}", replication_alter_partitions_sync=2)

    assert table.rows() == []
    assert log_has(server, f"could not remove 1 parts of partition {PARTITION} of {table.path} from cold")
    assert registered(cold_client, table) == [PART]


def test_a_lost_part_that_is_registered_twice_makes_the_load_fail_once(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot_client: KazooClient,
    cold_client: KazooClient,
    cold_source: ZooKeeperSource,
) -> None:
    copy_to_cold(hot_client, cold_client, table)
    server.stop()
    part = server.data_dir / "data" / "default" / "t" / PART
    part.rename(server.folder / PART)

    with pytest.raises(ServerError, match=f"part {PART} is not on disk and was registered in both"):
        server.restart_patched(cold_source)
    assert registered(hot_client, table) == []
    queued = hot_client.get_children(f"{table.path}/replicas/r1/queue")
    assert len(queued) == 1

    server.start()
    assert registered(cold_client, table) == [PART]


def test_a_part_that_a_merge_has_replaced_stays_in_cold_and_hinders_nobody(
    server: ClickHouseServer,
    table: ReplicatedTable,
    hot_client: KazooClient,
    cold_client: KazooClient,
    cold_source: ZooKeeperSource,
) -> None:
    copy_to_cold(hot_client, cold_client, table)
    table.fill(["2019-12-01"], rows=2)
    server.execute(f"OPTIMIZE TABLE t PARTITION {PARTITION} FINAL")
    table.settle()

    server.restart_patched(cold_source)

    assert table.active_parts() == {PARTITION: [f"{PARTITION}_0_1_1"]}
    assert hot_client.get_children(f"{table.path}/replicas/r1/queue") == []
    assert registered(cold_client, table) == [PART]
