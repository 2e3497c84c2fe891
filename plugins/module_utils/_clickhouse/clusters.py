# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the clusters that a server knows, from <remote_servers> of its configuration or ``system.clusters``.

The users and passwords in <remote_servers> are never read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .._partmove.errors import FormatError
from .._partmove.text import first_few
from .client import ClickHouseClient
from .config.files import Config
from .config.xml_document import XmlFile
from .config.xml_scan import Element, is_true

REMOTE_SERVERS = "remote_servers"
SUBSTITUTION = "clickhouse_remote_servers"
"""The element of the substitutions file from which <remote_servers> usually takes its value."""

_PORT, _SECURE_PORT = 9000, 9440
_EXTERNAL_SOURCES = frozenset({"from_env", "from_zk"})
_INCLUDE = "include"
_MERGING = frozenset({"replace", "remove"})
_PREPROCESSED = "Give the preprocessed file of the server, in which everything is put together"
_NAME = re.compile(r"[\w.-]+")
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")


class ClusterNode(NamedTuple):
    """A replica of a shard; a field is None if the source does not contain it."""

    cluster: str
    shard: int
    """Number of the shard in the cluster, from 1. The replicas of a shard are counted from 1 as well."""
    replica: int
    host: str
    port: int
    """Port of the native protocol."""
    weight: int
    secure: bool | None = None
    internal_replication: bool | None = None
    is_local: bool | None = None
    """Whether the replica is the queried server itself."""


@dataclass
class _Node:
    """An element of the configuration, with the substitutions of ``incl`` in place.

    external: the attribute with a source outside of the files, which hides text and children; else empty.
    """

    tag: str
    where: str
    text: str = ""
    children: list[_Node] = field(default_factory=list)
    external: str = ""

    def known(self) -> _Node:
        """Return the element. Raises FormatError if its content is not in a file."""
        if self.external:
            raise FormatError(
                f"<{self.tag}> in {self.where} has the attribute {self.external}, so its value is not in a"
                " file",
                remedy=_PREPROCESSED,
            )
        return self

    def value(self, tag: str) -> str:
        """Return the text of the last child with the tag, or "". Raises FormatError as `known` does."""
        return next((child.known().text for child in reversed(self.children) if child.tag == tag), "")

    def with_prefix(self, *prefixes: str) -> list[_Node]:
        """Return the children whose tags begin with a prefix, because ClickHouse accepts any such tag.

        Raises FormatError as `known` does.
        """
        return [child.known() for child in self.children if child.tag.startswith(prefixes)]


class Substitutions(NamedTuple):
    """The file with the values of ``incl`` attributes.

    needed: whether the configuration names the file, so that a missing file is an error.
    """

    path: str
    file: XmlFile | None
    needed: bool

    def named(self, name: str) -> Element | None:
        """Return the element with this name, or None. Raises FormatError if a needed file is missing."""
        if self.file is None:
            if self.needed:
                raise FormatError(
                    f"{self.path}, which the configuration takes {name} from, does not exist",
                    remedy="Copy it from the server, and set include_from to its path",
                )
            return None
        return next(iter(self.file.named(name)), None)


def chosen_clusters(known: Iterable[str], wanted: Sequence[str] | None) -> list[str]:
    """Return the distinct names of the wanted clusters; ``wanted`` is None for all known clusters.

    Raises FormatError for an unknown cluster, and if no cluster is known.
    """
    names = list(dict.fromkeys(known))
    chosen = names if wanted is None else list(dict.fromkeys(wanted))
    missing = [name for name in chosen if name not in names]
    if missing or not names:
        there = f"there are {first_few(names, 10)}" if names else "no cluster is configured"
        what = f"There is no cluster {first_few(missing)}" if missing else "There is no cluster"
        raise FormatError(f"{what}; {there}", remedy="Give the names of existing clusters")
    return chosen


def nodes_of_config(
    config: Config, substitutions: Substitutions, element: str | None, wanted: Sequence[str] | None = None
) -> list[ClusterNode]:
    """Return the replicas of the wanted clusters, or of all; what other clusters contain is not checked.

    element: another name for <remote_servers>. Without ``element`` the main file may also be a substitutions
    file. Raises FormatError for an invalid configuration.
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
    clusters: dict[str, list[_Node]] = {}
    for file, each in found:
        merging = _MERGING & set(each.attributes)
        if merging and "incl" not in each.attributes:
            raise FormatError(
                f"<{each.tag}> in {file.path} has the attribute {min(merging)}", remedy=_PREPROCESSED
            )
        expanded = _expanded(each, file.path, substitutions, wanted)
        for cluster in expanded.known().children if expanded is not None else ():
            clusters.setdefault(cluster.tag, []).append(cluster)
    return [node for name in chosen_clusters(clusters, wanted) for node in _cluster(*clusters[name])]


def nodes_of_server(client: ClickHouseClient, wanted: Sequence[str] | None = None) -> list[ClusterNode]:
    """Return the replicas of the wanted clusters, or of all, by cluster, shard and replica.

    Raises PartMoveError if the server fails, and FormatError for an unknown or invalid cluster.
    """
    rows = client.rows(
        "SELECT cluster, shard_num, replica_num, host_name, port, shard_weight, is_local FROM system.clusters"
        " ORDER BY cluster, shard_num, replica_num"
    )
    chosen = chosen_clusters((row[0] for row in rows), wanted)
    return [
        _checked(
            ClusterNode(
                cluster, int(shard), int(replica), host, int(port), int(weight), is_local=bool(int(local))
            ),
            client.label,
        )
        for cluster, shard, replica, host, port, weight, local in rows
        if cluster in chosen
    ]


def _expanded(
    element: Element, path: str, substitutions: Substitutions, wanted: Container[str] | None = None
) -> _Node | None:
    """Return the element with its substitutions; None for an optional element without a value.

    wanted: tags of the children to expand; other children stay empty. None for all children.
    """
    external = _EXTERNAL_SOURCES & set(element.attributes)
    if external:
        node = _Node(element.tag, path, external=min(external))
        # It may stand for any elements. Other elements matter only if somebody needs them.
        return node.known() if element.tag == _INCLUDE else node
    node = _Node(element.tag, path, element.text.strip())
    own: Iterable[Element] = element.children
    name = element.attributes.get("incl")
    if name is not None:
        value = substitutions.named(name)
        # Servers accept any value of this attribute.
        if value is None and "optional" in element.attributes:
            return None
        if value is not None:
            included = _expanded(value, substitutions.path, substitutions, wanted)
            if included is not None:
                node.external = included.external
                node.text += included.text
                node.children += included.children
            if "replace" in element.attributes:
                own = ()
    for child in own:
        if wanted is not None and child.tag != _INCLUDE and child.tag not in wanted:
            node.children.append(_Node(child.tag, path))
            continue
        found = _expanded(child, path, substitutions, wanted if child.tag == _INCLUDE else None)
        if found is not None:
            # An <include> stands for the children of its value.
            node.children += found.known().children if child.tag == _INCLUDE else [found]
    return node


def _cluster(cluster: _Node, *others: _Node) -> Iterator[ClusterNode]:
    """Yield the replicas. A shard is a <shard> element, or a <node> element with a single replica.

    others: further definitions of the cluster, which are refused.
    """
    if others:
        raise FormatError(
            f"The cluster {cluster.tag} is defined in {cluster.where} and again in {others[0].where}",
            remedy=_PREPROCESSED,
        )
    shards = cluster.known().with_prefix("shard", "node")
    if not shards:
        raise FormatError(
            f"The cluster {cluster.tag} in {cluster.where} has no shard",
            remedy="List its shards, or query a server for them if the servers discover them; or leave the"
            " cluster out: name the other clusters in the option clusters",
        )
    for shard, element in enumerate(shards, start=1):
        weight = _number(element, "weight", 1)
        if element.tag.startswith("node"):
            yield _replica(cluster, element, shard, 1, weight)
            continue
        internal = element.value("internal_replication")
        for replica, child in enumerate(element.with_prefix("replica"), start=1):
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
    if _NAME.fullmatch(node.cluster) is None:
        raise FormatError(
            f"{where} has the cluster {node.cluster!r}, whose name cannot be a group of an inventory",
            remedy="Leave the cluster out: name the other clusters in the option clusters",
        )
    if _HOST.fullmatch(node.host) is None:
        raise FormatError(
            f"{where} has a replica of cluster {node.cluster!r} with the host {node.host!r}, which cannot be"
            " a host of an inventory",
            remedy="Give the replica a name or an address as <host>, or leave the cluster out: name the other"
            " clusters in the option clusters",
        )
    return node
