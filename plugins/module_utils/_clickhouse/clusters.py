# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clusters that a server knows: <remote_servers> of its configuration, or ``system.clusters``.

Users and passwords of <remote_servers> are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .._partmove.errors import FormatError
from .client import ClickHouseClient
from .config.files import Config
from .config.xml_document import XmlFile
from .config.xml_scan import Element, is_true

REMOTE_SERVERS = "remote_servers"
SUBSTITUTION = "clickhouse_remote_servers"
"""What <remote_servers> usually takes its value from."""

_PORT, _SECURE_PORT = 9000, 9440
_ELSEWHERE = frozenset({"from_env", "from_zk"})
_MERGING = frozenset({"replace", "remove"})
_PREPROCESSED = "Give the preprocessed file of the server, in which everything is put together"
_NAME = re.compile(r"[\w.-]+")
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")


class ClusterNode(NamedTuple):
    """One replica of one shard; None where it is not told."""

    cluster: str
    shard: int
    """Its number in the cluster, from 1, as are those of replicas in their shard."""
    replica: int
    host: str
    port: int
    """The port of the native protocol."""
    weight: int
    secure: bool | None = None
    internal_replication: bool | None = None
    is_local: bool | None = None
    """Whether it is the server that was asked."""


@dataclass
class _Node:
    """An element after ``incl`` was put in place."""

    tag: str
    where: str
    text: str = ""
    children: list[_Node] = field(default_factory=list)

    def value(self, tag: str) -> str:
        """The text of the last child with the name, or nothing."""
        return next((child.text for child in reversed(self.children) if child.tag == tag), "")

    def beginning(self, prefix: str) -> list[_Node]:
        """Children whose names begin so, as ClickHouse looks for them."""
        return [child for child in self.children if child.tag.startswith(prefix)]


class Substitutions(NamedTuple):
    """The file that ``incl`` takes its values from.

    needed: whether the configuration names the file, so that it cannot be done without.
    """

    path: str
    file: XmlFile | None
    needed: bool

    def named(self, name: str) -> Element | None:
        """What the file has by the name; raises FormatError when it should be there and is not."""
        if self.file is None:
            if self.needed:
                raise FormatError(
                    f"{self.path}, which the configuration takes {name} from, is not there",
                    remedy="Copy it from the server and say with include_from where it is",
                )
            return None
        return next(iter(self.file.named(name)), None)


def nodes_of_config(config: Config, substitutions: Substitutions, element: str | None) -> list[ClusterNode]:
    """The replicas in the order of the files; ``element`` is another name of <remote_servers>.

    Without ``element`` a file that has none may also be one of substitutions. Raises FormatError for
    what is not understood.
    """
    files = config.merged
    found = [(file, each) for file in files for each in file.named(element or REMOTE_SERVERS)]
    if not found and element is None:
        found = [(config.main, each) for each in config.main.named(SUBSTITUTION)]
    if not found:
        names = f"<{element}>" if element else f"<{REMOTE_SERVERS}> nor <{SUBSTITUTION}>"
        raise FormatError(
            f"{config.main.path} has no {names}", remedy="Give the file that names the clusters, or element"
        )
    clusters: dict[str, _Node] = {}
    for file, each in found:
        strange = _MERGING & set(each.attributes)
        if strange and "incl" not in each.attributes:
            raise FormatError(
                f"<{each.tag}> in {file.path} has the attribute {min(strange)}", remedy=_PREPROCESSED
            )
        expanded = _expanded(each, file.path, substitutions)
        for cluster in expanded.children if expanded is not None else ():
            if cluster.tag in clusters:
                raise FormatError(
                    f"The cluster {cluster.tag} is defined in {clusters[cluster.tag].where} and again in"
                    f" {cluster.where}",
                    remedy=_PREPROCESSED,
                )
            clusters[cluster.tag] = cluster
    return [node for cluster in clusters.values() for node in _cluster(cluster)]


def nodes_of_server(client: ClickHouseClient) -> list[ClusterNode]:
    """The replicas by cluster, shard and replica; raises PartMoveError when the server does not answer."""
    rows = client.rows(
        "SELECT cluster, shard_num, replica_num, host_name, port, shard_weight, is_local FROM system.clusters"
        " ORDER BY cluster, shard_num, replica_num"
    )
    return [
        _checked(
            ClusterNode(
                cluster, int(shard), int(replica), host, int(port), int(weight), is_local=bool(int(local))
            ),
            client.label,
        )
        for cluster, shard, replica, host, port, weight, local in rows
    ]


def _expanded(element: Element, path: str, substitutions: Substitutions) -> _Node | None:
    """The element with its substitutions; None for an optional one that there is no value for."""
    elsewhere = _ELSEWHERE & set(element.attributes)
    if elsewhere:
        raise FormatError(
            f"<{element.tag}> in {path} has the attribute {min(elsewhere)}, so its value is not in a file",
            remedy=_PREPROCESSED,
        )
    node = _Node(element.tag, path, element.text.strip())
    own: Iterable[Element] = element.children
    name = element.attributes.get("incl")
    if name is not None:
        value = substitutions.named(name)
        if value is None and element.attributes.get("optional") == "true":
            return None
        if value is not None:
            included = _expanded(value, substitutions.path, substitutions)
            if included is not None:
                node.text += included.text
                node.children += included.children
            if "replace" in element.attributes:
                own = ()
    for child in own:
        found = _expanded(child, path, substitutions)
        if found is not None:
            node.children.append(found)
    return node


def _cluster(cluster: _Node) -> Iterator[ClusterNode]:
    """Shards are <shard> elements, or <node> ones of a single replica; they count from 1 together."""
    shards = [child for child in cluster.children if child.tag.startswith(("shard", "node"))]
    if not shards:
        raise FormatError(
            f"The cluster {cluster.tag} in {cluster.where} has no shard",
            remedy="Write its shards down, or ask a server for them, if servers find them by themselves",
        )
    for shard, element in enumerate(shards, start=1):
        weight = _number(element, "weight", 1)
        if element.tag.startswith("node"):
            yield _replica(cluster, element, shard, 1, weight)
            continue
        internal = element.value("internal_replication")
        for replica, child in enumerate(element.beginning("replica"), start=1):
            node = _replica(cluster, child, shard, replica, weight)
            yield node._replace(internal_replication=is_true(internal))


def _replica(cluster: _Node, element: _Node, shard: int, replica: int, weight: int) -> ClusterNode:
    secure = is_true(element.value("secure"))
    port = _number(element, "port", _SECURE_PORT if secure else _PORT)
    node = ClusterNode(cluster.tag, shard, replica, element.value("host"), port, weight, secure=secure)
    return _checked(node, element.where)


def _number(element: _Node, tag: str, default: int) -> int:
    text = element.value(tag)
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise FormatError(
            f"{element.where} has {tag} {text!r} in a <{element.tag}>", remedy="Write a whole number"
        )
    return int(text)


def _checked(node: ClusterNode, where: str) -> ClusterNode:
    if _NAME.fullmatch(node.cluster) is None or _HOST.fullmatch(node.host) is None:
        raise FormatError(
            f"{where} has a replica of cluster {node.cluster!r} with the host {node.host!r}, which cannot be"
            " a host of an inventory",
            remedy="Give the replica a name or an address as <host>",
        )
    return node
