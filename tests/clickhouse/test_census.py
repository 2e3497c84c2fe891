# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A census of what real servers keep in an ensemble: nothing is unknown, and the advice is what happened."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import (
    Advice,
    AdviceKind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census, Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.judge import Limits, judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import Kind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.walk import take_census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.servers.clickhouse import ClusterMaker, ZooKeeperSource
from support.servers.moving import open_stores
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.clickhouse

DAYS = ("2019-12-01", "2019-12-02", "2019-12-03")
AT_ONCE = Limits(inactive_after=0, unused_after=0)


def taken(ensemble: Ensemble) -> Census:
    address = ensemble.connect_string
    with open_stores(address, address) as (hot, _same):
        return take_census(hot, Places(DEFAULT_ROOT))


def advice_of(census: Census, path: str) -> dict[AdviceKind, Advice]:
    found = judge(census, AT_ONCE, census.newest + 1)
    return {each.kind: each for each in found if each.path == path}


def test_what_servers_keep_and_what_is_left(start_cluster: ClusterMaker, hot: Ensemble, base: str) -> None:
    servers = start_cluster(ZooKeeperSource(hot.connect_string)).servers
    table = ReplicatedTable("hits", f"{base}/hits", servers).create(WITHOUT_MERGES)
    table.fill(DAYS)
    table.settle()
    servers[0].execute("ALTER TABLE hits DELETE WHERE id = 1")
    table.settle()
    servers[0].execute("ALTER TABLE hits DROP PARTITION 20191203")
    table.settle()

    census = taken(hot)
    found = census.tables[table.path]
    parts = sum(len(names) for names in table.active_parts().values())
    assert Kind.UNKNOWN not in found.kinds
    assert found.kinds[Kind.PART].znodes >= 2 * parts == 4
    # This version always writes legacy headers.
    assert found.kinds[Kind.PART_CHILD].znodes == 2 * found.kinds[Kind.PART].znodes
    assert found.kinds[Kind.MUTATION].znodes == 1
    assert all(replica.has_session for replica in found.replicas.values())
    assert sorted(found.replicas) == sorted(table.replicas)
    advice = advice_of(census, table.path)
    assert advice.keys() == {AdviceKind.LEGACY_HEADERS, AdviceKind.PARTITIONS_GONE}
    assert "20191203" in advice[AdviceKind.PARTITIONS_GONE].evidence

    away = servers[1].options.macros["replica"]
    servers[1].stop()
    census = taken(hot)
    assert not census.tables[table.path].replicas[away].has_session
    told = advice_of(census, table.path)[AdviceKind.REPLICA_WITHOUT_SESSION]
    assert told.replica == away
    assert told.znodes == census.tables[table.path].replicas[away].total.znodes
