# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two clusters with a table at the same path, and the cold ensemble of one of them: every row survives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.servers.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.servers.kazoo_client import connected
from support.servers.leftovers.ground import DAY, OTHER, Ground, both, filled, kinds_of
from support.servers.leftovers.patient import Repairs
from support.servers.moving import Mover, open_stores
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.clickhouse, pytest.mark.long(minutes=2)]


class Cluster(NamedTuple):
    """A hot ensemble, its servers and a table; cold is the one of the other cluster for one of them."""

    hot: Ensemble
    cold: Ensemble
    servers: ClickHouseCluster
    table: ReplicatedTable

    @contextmanager
    def ground(self) -> Iterator[Ground]:
        hosts = self.hot.connect_string, self.cold.connect_string
        with open_stores(*hosts) as stores, connected(hosts[0]) as hot, connected(hosts[1]) as cold:
            yield Ground(self.table, Mover(*stores), Registry(hot, cold), hosts)

    def restart(self) -> None:
        for server in self.servers.servers:
            server.stop()
            server.start()
        question = f"SELECT is_readonly FROM system.replicas WHERE table = '{self.table.name}'"
        wait_for(lambda: all(each.query(question) == [(0,)] for each in self.servers.servers))


@pytest.fixture
def clusters(clickhouse: str, tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """The first one is given the cold ensemble of the second one."""
    with ExitStack() as stack:
        cold = stack.enter_context(Ensemble(tmp_path / "cold"))
        made = []
        for name in ("a", "b"):
            folder = tmp_path / name
            folder.mkdir()
            hot = stack.enter_context(Ensemble(folder / "hot"))
            source = ZooKeeperSource(cold.connect_string, session_ms=5000)
            options = ServerOptions(program=clickhouse, patched=True, cold=source if name == "b" else None)
            of_hot = ZooKeeperSource(hot.connect_string, session_ms=5000)
            servers = stack.enter_context(cluster(folder, of_hot, options=options))
            table = ReplicatedTable("t", "/tables/t", servers.servers).create(WITHOUT_MERGES)
            made.append(Cluster(hot, cold, servers, filled(table)))
        yield made[0], made[1]


def test_no_tool_of_one_cluster_touches_the_parts_of_the_other(clusters: tuple[Cluster, Cluster]) -> None:
    ours, theirs = clusters
    rows = theirs.table.rows()
    with theirs.ground() as ground:
        ground.move(DAY)

    with ours.ground() as ground:
        before = ground.registry.cold.get_children(f"{ours.table.path}/replicas/r1/parts")
        report = ground.mover.move(ours.table, [DAY, OTHER])
        assert not report.moved
        assert {each.gate for each in report.deferred.values()} == {GateName.BOUND_HERE}
        assert kinds_of(ground.audit())[DAY] == both(FindingKind.OTHER_CLUSTER)
        assert kinds_of(ground.audit())[OTHER] == both(FindingKind.HOT)
        assert Repairs(ground, {}, []).carry_out() == {FindingKind.OTHER_CLUSTER}
        assert ground.registry.cold.get_children(f"{ours.table.path}/replicas/r1/parts") == before

    theirs.restart()
    assert [theirs.table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [theirs.table.detached(number) for number in (0, 1)] == [[], []]
    with theirs.ground() as ground:
        assert kinds_of(ground.audit())[DAY] == both(FindingKind.COLD)
        ground.reheat(DAY)
