# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The znodes of a replica: the server of the last activation, and whether the replica is active."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.live_replica import (
    LiveReplica,
    ReplicaAddress,
    ServerName,
    live_replicas,
    parse_address,
    read_live_replicas,
    table_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.bench import PATH, Bench

WHOLE = b"host: Ch1.example\nport: 9009\ntcp_port: 9000\ndatabase: my\\nshop\ntable: hits\nscheme: http\n"
SHORT = b"host: ch1.example\nport: 9009\n"


def host(data: bytes) -> Znode:
    return Znode("/t/replicas/r1/host", data, Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))


def replica(data: bytes | None) -> LiveReplica:
    return LiveReplica("r1", None if data is None else host(data), None)


@pytest.mark.parametrize(
    ("data", "address"),
    [
        (WHOLE, ReplicaAddress("Ch1.example", 9009, "my\nshop.hits")),
        (SHORT, ReplicaAddress("ch1.example", 9009, None)),
        (b"host: ch1\n", ReplicaAddress("ch1", None, None)),
        (b"host: ch1\nport: 1\ntcp_port: 2\ndatabase: d\n", ReplicaAddress("ch1", 1, None)),
    ],
)
def test_an_address_is_read(data: bytes, address: ReplicaAddress) -> None:
    assert parse_address(host(data)) == address
    assert replica(data).address == address


@pytest.mark.parametrize("data", [b"ch1.example", b"port: 9009\n", b"host: ch1\nport: none\n", b"\xff"])
def test_what_is_no_address_is_refused_with_its_path(data: bytes) -> None:
    with pytest.raises(FormatError, match="^/t/replicas/r1/host"):
        parse_address(host(data))


@pytest.mark.parametrize("data", [None, b""])
def test_a_replica_that_was_never_active_has_no_address(data: bytes | None) -> None:
    assert replica(data).address is None
    assert not ServerName("ch1.example", None).is_of(replica(data))


@pytest.mark.parametrize(
    ("server", "is_of"),
    [
        (ServerName("CH1.example", None), True),
        (ServerName("ch1.example", 9009), True),
        (ServerName("ch1.example", 9010), False),
        (ServerName("ch1", None), False),
    ],
)
def test_the_name_of_a_server_is_the_one_it_registers_under(server: ServerName, is_of: bool) -> None:
    assert server.is_of(replica(WHOLE)) is is_of
    assert server.is_of(replica(SHORT)) is is_of


def test_a_server_without_replicas_is_named() -> None:
    assert str(ServerName("ch1", None)) == "ch1"
    error = ServerName("ch1", 9010).unknown("below /tables")
    assert isinstance(error, NoSuchReplica)
    assert error.message == "No replica below /tables in hot is registered by ch1:9010"
    assert error.remedy


def test_replicas_of_a_shard_path_are_read_in_order() -> None:
    bench = Bench()
    bench.servers.stop("r1")
    found = read_live_replicas(bench.hot_store, ShardLayout(PATH))
    assert [(each.name, each.is_active is not None) for each in found] == [("r1", False), ("r2", True)]
    assert [each.address and each.address.host for each in found] == ["r1.example", "r2.example"]
    assert read_live_replicas(bench.hot_store, ShardLayout("/none")) == ()


def test_replicas_that_are_not_there_have_no_znodes() -> None:
    bench = Bench()
    layouts = [ShardLayout(PATH).replica(name) for name in ("r9", "r2")]
    found = live_replicas(bench.hot_store, layouts)
    assert found[0] == LiveReplica("r9", None, None)
    assert found[1].name == "r2"
    assert found[1].host is not None
    assert live_replicas(bench.hot_store, []) == []


@pytest.mark.parametrize(
    ("hosts", "table"),
    [([], ""), ([None, b"", SHORT], ""), ([None, SHORT, WHOLE], "my\nshop.hits")],
)
def test_the_table_has_the_name_of_the_first_replica_with_one(hosts: list[bytes | None], table: str) -> None:
    assert table_of(map(replica, hosts)) == table


def test_a_table_without_a_database_has_no_name() -> None:
    assert parse_address(host(b"host: ch1.example\nport: 9009\ntable: hits\n")) == ReplicaAddress(
        "ch1.example", 9009, None
    )
