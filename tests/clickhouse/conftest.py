# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two replicas on a hot ensemble, for the tests of one module."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from support.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.proxy import ZooKeeperProxy
from support.replicated import BY_DAY, Definition, ReplicatedTable, TableMaker
from support.zookeeper import Ensemble


@pytest.fixture(scope="module")
def gateway(hot_ensemble: Ensemble) -> Iterator[ZooKeeperProxy]:
    """What the servers reach the hot ensemble through."""
    with ZooKeeperProxy(hot_ensemble.connect_string) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def replicas(
    clickhouse: str, gateway: ZooKeeperProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseCluster]:
    """Servers r1 and r2 of one shard; a table with cold partitions keeps them from starting again."""
    source = ZooKeeperSource(gateway.address)
    folder = tmp_path_factory.mktemp("clickhouse")
    with cluster(folder, source, options=ServerOptions(program=clickhouse)) as servers:
        yield servers


@pytest.fixture
def make_table(replicas: ClickHouseCluster, base: str) -> TableMaker:
    """Return a function that creates a table of its own on both servers."""

    def make(definition: Definition = BY_DAY) -> ReplicatedTable:
        name = f"t_{uuid.uuid4().hex[:8]}"
        return ReplicatedTable(name, f"{base}/{name}", replicas.servers).create(definition)

    return make
