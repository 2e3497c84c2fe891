# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts and groups of an inventory, from the clusters of a ClickHouse server or its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._clickhouse.clusters import (
    ClusterNode,
    Substitutions,
    chosen_clusters,
    nodes_of_config,
    nodes_of_server,
)
from .._clickhouse.config.files import Config
from .._clickhouse.config.local_files import ConfigFiles
from .._clickhouse.config.xml_document import LXML_IMPORT_ERROR, XmlFile
from .._partmove.errors import FormatError, PartMoveError
from .resources import client_of

__all__ = ["ClusterHost", "PartMoveError", "hosts_of", "read_clusters"]

_RESERVED = frozenset({"all", "ungrouped"})


@dataclass
class ClusterHost:
    """One host: its name in the inventory, its variables, and pairs of a cluster group and a shard group."""

    name: str
    groups: list[tuple[str, str]] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)


def read_clusters(
    config: str | None,
    include_from: str | None,
    element: str | None,
    server: Mapping[str, Any],
    clusters: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return every replica of the clusters as plain values, from the file ``config`` or else from a server.

    server: like the option ``clickhouse`` of a module that queries one server.
    clusters: None for all clusters. Raises PartMoveError.
    """
    if config is None:
        nodes = nodes_of_server(client_of(server), clusters)
    else:
        nodes = _nodes_of_files(config, include_from, element, clusters)
    return [node._asdict() for node in nodes]


def hosts_of(
    rows: Sequence[Mapping[str, Any]], clusters: Sequence[str] | None, prefix: str
) -> list[ClusterHost]:
    """Return the hosts in the order of clusters, shards and replicas; ``clusters`` is None for all clusters.

    A host in several clusters has the variables of its first occurrence. Raises FormatError for an unknown
    cluster, and if two groups would have the same name.
    """
    nodes = [ClusterNode(**row) for row in rows]
    selected = chosen_clusters((node.cluster for node in nodes), clusters)
    nodes = [node for name in selected for node in nodes if node.cluster == name]
    ports: dict[str, set[int]] = {}
    for node in nodes:
        ports.setdefault(node.host, set()).add(node.port)
    groups = _Groups(prefix)
    hosts: dict[str, ClusterHost] = {}
    for node in nodes:
        name = _host_name(node, alone=len(ports[node.host]) == 1)
        host = hosts.setdefault(name, ClusterHost(name, variables=_variables(node, name)))
        group = groups.of(node)
        if group not in host.groups:
            host.groups.append(group)
        host.variables["clickhouse_memberships"].append(
            {"cluster": node.cluster, "shard": node.shard, "replica": node.replica}
        )
    return list(hosts.values())


def _nodes_of_files(
    path: str, include_from: str | None, element: str | None, clusters: Sequence[str] | None
) -> list[ClusterNode]:
    if LXML_IMPORT_ERROR is not None:
        raise PartMoveError(
            "The Python package lxml is missing, and reading a configuration of ClickHouse needs it",
            remedy="Install lxml for the Python that runs Ansible",
        )
    source = ConfigFiles(path)
    config = Config(source)
    named = any(file.named("include_from") for file in config.merged)
    where = include_from or _include_from_of(config)
    data = source.read(where) if where else None
    file = None if data is None else XmlFile(where, data)
    needed = named or include_from is not None
    return nodes_of_config(config, Substitutions(where, file, needed), element, clusters)


def _include_from_of(config: Config) -> str:
    path, problem = config.include_from()
    if problem:
        raise FormatError(problem, remedy="Name the file with include_from")
    return path


class _Groups:
    """Names of groups, each for one cluster or one shard of a cluster."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._meaning: dict[str, str] = {}

    def of(self, node: ClusterNode) -> tuple[str, str]:
        """Return the groups of the cluster and of the shard. Raises FormatError for a name in use."""
        cluster = re.sub(r"\W", "_", f"{self._prefix}{node.cluster}", flags=re.ASCII)
        if cluster[0].isdigit():
            cluster = f"_{cluster}"
        shard = f"{cluster}_shard_{node.shard}"
        self._claim(cluster, f"cluster {node.cluster}")
        self._claim(shard, f"shard {node.shard} of cluster {node.cluster}")
        return cluster, shard

    def _claim(self, group: str, meaning: str) -> None:
        other = self._meaning.setdefault(group, meaning)
        if group in _RESERVED or other != meaning:
            taken = "is reserved by Ansible" if group in _RESERVED else f"is already the group of {other}"
            raise FormatError(
                f"The group of {meaning} would be {group}, which {taken}",
                remedy="Give a group_prefix, or only some of the clusters",
            )


def _host_name(node: ClusterNode, *, alone: bool) -> str:
    """Return the host, with the port if several servers run on the host.

    Without colons, since Ansible splits patterns at colons.
    """
    host = node.host.replace(":", "-")
    return host if alone else f"{host}-{node.port}"


def _variables(node: ClusterNode, name: str) -> dict[str, Any]:
    variables = {
        "clickhouse_cluster": node.cluster,
        "clickhouse_shard": node.shard,
        "clickhouse_replica": node.replica,
        "clickhouse_port": node.port,
        "clickhouse_weight": node.weight,
        "clickhouse_secure": node.secure,
        "clickhouse_internal_replication": node.internal_replication,
        "clickhouse_is_local": node.is_local,
        "ansible_host": None if name == node.host else node.host,
    }
    known = {key: value for key, value in variables.items() if value is not None}
    return {**known, "clickhouse_memberships": []}
