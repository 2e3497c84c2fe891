# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of each replica, from the names that ensembles list and the answers of servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...binding.owner import Owner
from ...errors import FormatError
from ...formats.layout import ShardLayout
from ...formats.znode_text import ZnodeText, unescape
from ...tree.znodes import Znode
from .evidence import DiskParts, PartitionEvidence, ReplicaEvidence
from .names import EnsembleNames, PartitionNames

NO_PARTITION = ""
"""The partition id for znodes without a valid part name."""


class ReplicaAnswer(NamedTuple):
    """A replica in hot, with the answer of its server.

    host: the name of its server's host, as registered; empty if unknown.
    """

    is_active: bool
    disk: DiskParts | None
    active: PartitionNames
    silence: str
    host: str = ""


class ListedNames(NamedTuple):
    """All facts of a shard path except payloads."""

    layout: ShardLayout
    replicas: Mapping[str, ReplicaAnswer]
    hot: EnsembleNames
    cold: EnsembleNames
    states: Mapping[str, Znode | None]


def registered_host(host: Znode | None) -> str:
    """Return the host name in a ``host`` znode, for people alone; empty without a readable one."""
    try:
        return "" if host is None else unescape(ZnodeText(host.data, host.path).field("host: "))
    except FormatError:
        return ""


def replica_evidence(names: ListedNames, partition_id: str) -> list[ReplicaEvidence]:
    """Return the partition's evidence for each replica in hot, and for replicas in cold alone; sorted."""
    evidence = []
    for name in sorted({*names.replicas, *names.cold.parts}):
        known = names.replicas.get(name)
        cold = names.cold.parts.get(name, {}).get(partition_id, ())
        if known is None and not cold:
            continue
        disk = None if known is None else known.disk
        active = () if known is None else known.active.get(partition_id, ())
        evidence.append(
            ReplicaEvidence(
                name=name,
                is_in_hot=known is not None,
                hot=names.hot.parts.get(name, {}).get(partition_id, ()),
                cold=cold,
                active=None if disk is None else active,
                detached=None if disk is None else disk.detached,
                table=None if disk is None else disk.table,
                silence="" if known is None else known.silence,
                hashes={} if disk is None else {part.text: disk.active[part.text] for part in active},
            )
        )
    return evidence


def listed_folders(names: ListedNames) -> dict[str, frozenset[str]]:
    """Return the folders in ``detached``: replica → names; none if the table has no partition at all."""
    if not names.states:
        return {}
    return {
        name: each.disk.detached or frozenset()
        for name, each in names.replicas.items()
        if each.disk is not None
    }


def invalid_names(names: ListedNames, owner: Owner) -> PartitionEvidence | None:
    """Return the evidence of znodes with an invalid part name, as one partition; None without such znodes."""
    replicas = [
        ReplicaEvidence(name, name in names.replicas, (), (), (), unreadable=tuple(sorted({*hot, *cold})))
        for name in sorted({*names.hot.unreadable, *names.cold.unreadable})
        for hot, cold in [(names.hot.unreadable.get(name, ()), names.cold.unreadable.get(name, ()))]
    ]
    return PartitionEvidence(NO_PARTITION, None, tuple(replicas), owner) if replicas else None
