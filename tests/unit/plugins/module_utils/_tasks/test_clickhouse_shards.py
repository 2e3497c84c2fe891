# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts and groups made of clusters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.clusters import ClusterNode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_shards import (
    ClusterHost,
    hosts_of,
)


def node(cluster: str, shard: int, replica: int, host: str, port: int = 9000) -> ClusterNode:
    return ClusterNode(cluster, shard, replica, host, port, 1)


def make(*nodes: ClusterNode, clusters: Sequence[str] | None = None, prefix: str = "") -> list[ClusterHost]:
    return hosts_of([each._asdict() for each in nodes], clusters, prefix)


FOUR = [node("main", shard, replica, f"ch{shard}{replica}") for shard in (1, 2) for replica in (1, 2)]


def test_hosts_are_in_the_order_of_shards_and_replicas() -> None:
    hosts = make(*FOUR)
    assert [host.name for host in hosts] == ["ch11", "ch12", "ch21", "ch22"]
    assert [host.groups for host in hosts] == [[("main", f"main_shard_{shard}")] for shard in (1, 1, 2, 2)]
    assert hosts[3].variables == {
        "clickhouse_cluster": "main",
        "clickhouse_shard": 2,
        "clickhouse_replica": 2,
        "clickhouse_port": 9000,
        "clickhouse_weight": 1,
        "clickhouse_memberships": [{"cluster": "main", "shard": 2, "replica": 2}],
    }


def test_a_host_has_the_variables_of_its_server() -> None:
    first = node("a", 1, 1, "ch1")._replace(secure=True, internal_replication=False, is_local=True)
    (host,) = make(first)
    names = ("secure", "internal_replication", "is_local")
    assert [host.variables[f"clickhouse_{name}"] for name in names] == [True, False, True]


def test_a_host_of_two_clusters_has_the_variables_of_the_first_one_asked_for() -> None:
    nodes = [node("a", 1, 1, "ch1"), node("b", 2, 3, "ch1")]
    for clusters, first in ((None, ("a", 1)), (["b", "a"], ("b", 2))):
        (host,) = make(*nodes, clusters=clusters)
        assert (host.variables["clickhouse_cluster"], host.variables["clickhouse_shard"]) == first
        assert sorted(host.groups) == [("a", "a_shard_1"), ("b", "b_shard_2")]
        assert len(host.variables["clickhouse_memberships"]) == 2


def test_one_server_as_two_shards() -> None:
    (host,) = make(node("a", 1, 1, "ch1"), node("a", 2, 1, "ch1"))
    assert host.groups == [("a", "a_shard_1"), ("a", "a_shard_2")]
    assert host.variables["clickhouse_shard"] == 1


def test_two_servers_on_one_host_differ_by_their_ports() -> None:
    hosts = make(node("a", 1, 1, "ch1", 9001), node("a", 1, 2, "ch1", 9002), node("a", 1, 3, "ch2"))
    found = [(host.name, host.variables.get("ansible_host")) for host in hosts]
    assert found == [("ch1-9001", "ch1"), ("ch1-9002", "ch1"), ("ch2", None)]


def test_an_address_with_colons_is_no_pattern() -> None:
    (host,) = make(node("a", 1, 1, "fd00::1"))
    assert (host.name, host.variables["ansible_host"]) == ("fd00--1", "fd00::1")


@pytest.mark.parametrize(
    ("cluster", "prefix", "group"),
    [
        ("main-1.eu", "", "main_1_eu"),
        ("1st", "", "_1st"),
        ("1st", "ch_", "ch_1st"),
        ("all", "ch_", "ch_all"),
        ("müll", "", "m_ll"),
    ],
)
def test_names_of_groups_are_safe(cluster: str, prefix: str, group: str) -> None:
    (host,) = make(node(cluster, 1, 1, "ch1"), prefix=prefix)
    assert host.groups == [(group, f"{group}_shard_1")]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["all"], "The group of cluster all would be all, which is reserved by Ansible"),
        (["a-b", "a.b"], "The group of cluster a.b would be a_b, which is already the group of cluster a-b"),
        (["a", "a_shard_1"], "would be a_shard_1, which is already the group of shard 1 of cluster a"),
    ],
)
def test_two_groups_with_one_name_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        make(*(node(name, 1, 1, "ch1") for name in names))


def test_unknown_clusters_are_refused() -> None:
    with pytest.raises(FormatError, match="There is no cluster x, y; there are main"):
        make(*FOUR, clusters=["x", "main", "y"])
    with pytest.raises(FormatError, match="There is no cluster; no cluster is configured"):
        make()
    with pytest.raises(FormatError, match="There is no cluster x; no cluster is configured"):
        make(clusters=["x"])
