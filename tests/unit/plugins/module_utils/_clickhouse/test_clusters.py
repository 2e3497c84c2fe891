# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters of a configuration in memory; the tests of the inventory task cover files on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.clusters import (
    ClusterNode,
    Substitutions,
    nodes_of_config,
    nodes_of_server,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from support.files.configs import MAIN, METRIKA, MemoryConfig

REPLICA = "<shard><replica><host>ch1</host></replica></shard>"
NOTHING = Substitutions(METRIKA, None, needed=False)


def nodes(
    text: str,
    substitutions: Substitutions = NOTHING,
    element: str | None = None,
    wanted: Sequence[str] | None = None,
) -> list[ClusterNode]:
    config = Config(MemoryConfig({MAIN: f"<yandex>{text}</yandex>".encode()}))
    return nodes_of_config(config, substitutions, element, wanted)


def metrika(text: str) -> Substitutions:
    return Substitutions(METRIKA, XmlFile(METRIKA, f"<yandex>{text}</yandex>".encode()), needed=True)


def test_a_value_from_the_environment_that_nobody_needs_is_no_reason_to_refuse() -> None:
    """As charts of Kubernetes write it: the user and the password of the replicas, and the secret."""
    credentials = '<user from_env="U"></user><password from_env="P"></password>'
    text = REPLICA.replace("</host>", f"</host>{credentials}")
    assert nodes(f"<remote_servers><c><secret from_env='S'/>{text}</c></remote_servers>") == nodes(
        f"<remote_servers><c>{REPLICA}</c></remote_servers>"
    )


@pytest.mark.parametrize(
    ("inside", "node"),
    [
        ("<host>ch1</host>", ClusterNode("c", 1, 1, "ch1", 9000, 1, False, False)),
        ("<host>ch1</host><port>9</port>", ClusterNode("c", 1, 1, "ch1", 9, 1, False, False)),
        ("<host>ch1</host><secure>YES</secure>", ClusterNode("c", 1, 1, "ch1", 9440, 1, True, False)),
        ("<host>ch1</host><host>ch2</host>", ClusterNode("c", 1, 1, "ch2", 9000, 1, False, False)),
    ],
)
def test_settings_of_a_replica(inside: str, node: ClusterNode) -> None:
    text = f"<remote_servers><c><shard><replica>{inside}</replica></shard></c></remote_servers>"
    assert nodes(text) == [node]


def test_shards_and_single_replicas_count_together() -> None:
    text = f"<c><node><host>ch3</host><weight>2</weight></node>{REPLICA}<shard2>{REPLICA[7:-8]}</shard2></c>"
    found = nodes(f"<remote_servers>{text}</remote_servers>")
    assert [(each.shard, each.replica, each.host, each.weight) for each in found] == [
        (1, 1, "ch3", 2),
        (2, 1, "ch1", 1),
        (3, 1, "ch1", 1),
    ]


def test_an_element_of_another_name_is_taken_when_it_is_named() -> None:
    text = f"<mine><c>{REPLICA}</c></mine>"
    assert [each.cluster for each in nodes(text, element="mine")] == ["c"]
    with pytest.raises(FormatError, match=f"{MAIN} has no <remote_servers> nor <clickhouse_remote_servers>"):
        nodes(text)


@pytest.mark.parametrize("optional", ["true", "1"])
def test_an_optional_cluster_without_a_value_is_no_cluster(optional: str) -> None:
    text = f"<a incl='none' optional='{optional}'>{REPLICA}</a><c>{REPLICA}</c>"
    assert [each.cluster for each in nodes(f"<remote_servers>{text}</remote_servers>", metrika(""))] == ["c"]


def test_an_include_stands_for_the_children_of_its_value() -> None:
    text = f"<remote_servers><c>{REPLICA}<include incl='more'/></c><include incl='others'/></remote_servers>"
    more, other = REPLICA.replace("ch1", "ch2"), REPLICA.replace("ch1", "ch3")
    found = nodes(text, metrika(f"<more>{more}</more><others><d>{other}</d></others>"))
    assert [(each.cluster, each.shard, each.host) for each in found] == [
        ("c", 1, "ch1"),
        ("c", 2, "ch2"),
        ("d", 1, "ch3"),
    ]


def test_an_include_of_an_unknown_value_is_refused() -> None:
    """It may stand for more shards."""
    text = f"<remote_servers><c>{REPLICA}<include incl='more'/></c></remote_servers>"
    with pytest.raises(FormatError, match="<include> in .* has the attribute from_env, so its value is not"):
        nodes(text, metrika("<more from_env='X'/>"))


def test_a_value_comes_from_the_substitutions() -> None:
    text = "<remote_servers><c incl='mine'/></remote_servers>"
    assert nodes(text, metrika(f"<mine>{REPLICA}</mine>")) == [
        ClusterNode("c", 1, 1, "ch1", 9000, 1, secure=False, internal_replication=False)
    ]
    with pytest.raises(FormatError, match=f"^{METRIKA}, which the configuration takes mine from"):
        nodes(text, Substitutions(METRIKA, None, needed=True))


def test_a_missing_name_has_no_value() -> None:
    assert metrika("<a/>").named("b") is None
    assert NOTHING.named("b") is None
    found = metrika("<a/><a x='1'/>").named("a")
    assert found is not None
    assert found.attributes == {}


UNUSABLE = (
    "<c/>",
    f"<c>{REPLICA}</c><c>{REPLICA}</c>",
    "<c from_env='X'/>",
    "<c><include from_zk='/x'/></c>",
    "<c><include incl='x'/></c>",
    "<c><shard><replica><host from_env='X'/></replica></shard></c>",
    "<c><node><host>a b</host></node></c>",
)


@pytest.mark.parametrize("unusable", UNUSABLE)
def test_clusters_that_are_not_wanted_may_be_unusable(unusable: str) -> None:
    missing = Substitutions(METRIKA, None, needed=True)
    text = f"<remote_servers>{unusable}<d>{REPLICA}</d></remote_servers>"
    (found,) = nodes(text, missing, wanted=["d"])
    assert (found.cluster, found.host) == ("d", "ch1")
    for wanted in (["c"], None):
        with pytest.raises(FormatError) as refusal:
            nodes(text, missing, wanted=wanted)
        assert refusal.value.remedy


def test_wanted_clusters_of_an_include_are_found() -> None:
    text = "<remote_servers><include incl='others'/></remote_servers>"
    others = metrika(f"<others><c/><d>{REPLICA}</d></others>")
    assert [each.cluster for each in nodes(text, others, wanted=["d"])] == ["d"]
    text = "<remote_servers incl='others'/>"
    assert [each.cluster for each in nodes(text, others, wanted=["d"])] == ["d"]


def test_an_unknown_cluster_is_refused_with_the_names_of_all() -> None:
    text = f"<remote_servers><c/><d>{REPLICA}</d></remote_servers>"
    with pytest.raises(FormatError, match="There is no cluster x; there are c, d"):
        nodes(text, wanted=["x"])


class Server(ClickHouseClient):
    """A server with the clusters main and "my db"."""

    def __init__(self) -> None:
        super().__init__("ch1", 8123, ClickHouseOptions())

    def rows(self, sql: str, **settings: int) -> list[list[Any]]:
        return [["main", 1, 1, "ch1", 9000, 1, 1], ["my db", 1, 1, "ch2", 9000, 1, 0]]


def test_clusters_of_a_server_that_are_not_wanted_may_have_any_name() -> None:
    assert [each.host for each in nodes_of_server(Server(), ["main"])] == ["ch1"]
    for wanted in (["my db"], None):
        with pytest.raises(FormatError, match="ClickHouse at ch1:8123 has the cluster 'my db'") as refusal:
            nodes_of_server(Server(), wanted)
        assert refusal.value.remedy == "Leave the cluster out: name the other clusters in the option clusters"
    with pytest.raises(FormatError, match="There is no cluster x; there are main, my db"):
        nodes_of_server(Server(), ["x"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"<c>{REPLICA}</c><c>{REPLICA}</c>", f"The cluster c is defined in {MAIN} and again in {MAIN}"),
        ("<c/>", f"The cluster c in {MAIN} has no shard"),
        ("<c><node><host>a b</host></node></c>", "a replica of cluster 'c' with the host 'a b'"),
        ("<c><node><host>a</host><port>-1</port></node></c>", "has port '-1' in a <node>"),
        ("<c from_env='X'/>", "<c> in .* has the attribute from_env, so its value is"),
        (
            "<c><shard><replica><host from_env='X'/></replica></shard></c>",
            "<host> in .* has the attribute from",
        ),
        ("<c><shard><include from_zk='/x'/></shard></c>", "<include> in .* has the attribute from_zk"),
        ("<c><node from_env='X'/></c>", "<node> in .* has the attribute from_env, so its value is"),
    ],
)
def test_unknown_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as refusal:
        nodes(f"<remote_servers>{text}</remote_servers>")
    assert refusal.value.remedy
