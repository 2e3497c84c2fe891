# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two replicas on a hot ensemble, for the tests of one module."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from support.servers.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.servers.kazoo_client import connected
from support.servers.leftovers.ground import Ground, filled
from support.servers.moving import Mover, open_stores
from support.servers.operator import Operator
from support.servers.proxy import ZooKeeperProxy
from support.servers.registered import Registry
from support.servers.replicated import BY_DAY, Definition, ReplicatedTable, TableMaker
from support.servers.watch import Watch
from support.servers.zookeeper import Ensemble


@pytest.fixture(scope="module")
def gateway(hot_ensemble: Ensemble) -> Iterator[ZooKeeperProxy]:
    """What the servers reach the hot ensemble through."""
    with ZooKeeperProxy(hot_ensemble.connect_string) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def replicas(
    request: pytest.FixtureRequest,
    clickhouse: str,
    gateway: ZooKeeperProxy,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ClickHouseCluster]:
    """Servers r1 and r2 of one shard.

    They are stock servers, which a table with cold partitions keeps from starting again, unless the
    module has the mark `patched`.
    """
    options = ServerOptions(program=clickhouse)
    if request.node.get_closest_marker("patched"):
        cold = ZooKeeperSource(cold_ensemble.connect_string)
        options = ServerOptions(program=clickhouse, patched=True, cold=cold)
    folder = tmp_path_factory.mktemp("clickhouse")
    with cluster(folder, ZooKeeperSource(gateway.address), options=options) as servers:
        yield servers


@pytest.fixture
def cold_source(cold_ensemble: Ensemble) -> ZooKeeperSource:
    """The cold ensemble, for a server."""
    return ZooKeeperSource(cold_ensemble.connect_string)


@pytest.fixture
def healthy(replicas: ClickHouseCluster, cold_source: ZooKeeperSource) -> Iterator[None]:
    """The next test finds both servers of a patched module patched and without this test's tables."""
    yield
    for server in replicas.servers:
        if not (server.running and server.options.patched and server.options.cold == cold_source):
            server.restart_patched(cold_source)
        for (name,) in server.query("SELECT name FROM system.tables WHERE database = 'default'"):
            server.execute(f"DROP TABLE {name}")


@pytest.fixture
def make_table(replicas: ClickHouseCluster, base: str) -> TableMaker:
    """Return a function that creates a table of its own on both servers."""

    def make(definition: Definition = BY_DAY) -> ReplicatedTable:
        name = f"t_{uuid.uuid4().hex[:8]}"
        return ReplicatedTable(name, f"{base}/{name}", replicas.servers).create(definition)

    return make


@pytest.fixture(scope="module")
def stores(hot_ensemble: Ensemble, cold_ensemble: Ensemble) -> Iterator[tuple[ZnodeStore, ZnodeStore]]:
    """Sessions with both ensembles."""
    with open_stores(hot_ensemble.connect_string, cold_ensemble.connect_string) as pair:
        yield pair


@pytest.fixture
def mover(stores: tuple[ZnodeStore, ZnodeStore]) -> Mover:
    """Moves partitions of any table."""
    return Mover(*stores)


@pytest.fixture(scope="module")
def hot_client(hot_ensemble: Ensemble) -> Iterator[KazooClient]:
    """A kazoo client of the hot ensemble."""
    with connected(hot_ensemble.connect_string) as client:
        yield client


@pytest.fixture(scope="module")
def cold_clients(cold_ensemble: Ensemble) -> Iterator[Sequence[KazooClient]]:
    """A kazoo client of each member of the cold ensemble."""
    with ExitStack() as stack:
        yield [stack.enter_context(connected(member.address)) for member in cold_ensemble.members]


@pytest.fixture
def registry(hot_client: KazooClient, cold_clients: Sequence[KazooClient]) -> Registry:
    """Clients of both."""
    return Registry(hot_client, cold_clients[0])


@pytest.fixture
def half_cold(make_table: TableMaker, mover: Mover) -> ReplicatedTable:
    """A table with three rows in each of two partitions, the first of which is cold."""
    made = make_table()
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    assert mover.move(made, ["20191201"]).moved.keys() == {"20191201"}
    return made


@pytest.fixture
def operator(table: ReplicatedTable, hot: Ensemble, cold: Ensemble, tmp_path: Path) -> Operator:
    """Somebody who looks after the table of the module."""
    return Operator(table, hot, cold, tmp_path)


@pytest.fixture
def watch(hot_ensemble: Ensemble, cold_ensemble: Ensemble) -> Callable[[ReplicatedTable], Watch]:
    """Return a function that makes a watch of all the parts that a table has now."""

    def make(table: ReplicatedTable) -> Watch:
        parts = {name: table.active_parts(number) for number, name in enumerate(table.replicas)}
        members = [member.address for member in cold_ensemble.members]
        return Watch(hot_ensemble.connect_string, members, table.path, parts)

    return make


@pytest.fixture
def make_ground(
    make_table: TableMaker,
    stores: tuple[ZnodeStore, ZnodeStore],
    registry: Registry,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
) -> Callable[[Definition], Ground]:
    """Return a function that makes a ground for a scene."""

    def make(definition: Definition) -> Ground:
        hosts = hot_ensemble.connect_string, cold_ensemble.connect_string
        return Ground(filled(make_table(definition)), Mover(*stores), registry, hosts)

    return make
