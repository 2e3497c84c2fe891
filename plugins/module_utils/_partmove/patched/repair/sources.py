# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collects the bytes to register a part: from other replicas, and from the given registrations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...formats.names import PartName
from ...shard.parts import read_parts
from ...tree.ports import ZnodeReader
from ..audit.evidence import PartitionEvidence, ReplicaEvidence
from ..audit.kind import FindingKind
from .backup import SavedZnode
from .case import RepairCase


class Source(NamedTuple):
    """The znodes of a part of another replica, or former znodes of the part."""

    data: bytes
    children: Mapping[str, bytes]
    is_cold: bool
    """Whether cold registers the part; False for hot, and for a znode from a file."""


class Sources(NamedTuple):
    """All known znodes of some parts of a table."""

    registered: Mapping[str, list[tuple[str, Source]]]
    """Part → the replicas that have it, each with its source; replicas in hot first."""
    given: Mapping[str, list[Source]]

    def of(self, replica: str, part: str) -> Iterator[Source]:
        """Yield the sources for the part of the replica: other replicas first, then given registrations."""
        for other, source in self.registered.get(part, ()):
            if other != replica:
                yield source
        yield from self.given.get(part, ())


def read_sources(
    case: RepairCase, partitions: Iterable[PartitionEvidence], parts: Collection[str]
) -> Sources:
    """Read the sources of these parts from the replicas in hot, with one batch of reads per ensemble."""
    replicas = [each for partition in partitions for each in partition.replicas if each.is_in_hot]
    in_hot = [(each, each.hot) for each in replicas]
    sources = _registered(case.context.hot, case, in_hot, parts, is_cold=False)
    # Znodes in the wrong cold ensemble register nothing for a server.
    if case.kind is not FindingKind.COLD_UNKNOWN:
        in_cold = [(each, each.cold) for each in replicas]
        sources += _registered(case.context.cold, case, in_cold, parts, is_cold=True)
    registered: dict[str, list[tuple[str, Source]]] = {}
    for replica, part, source in sources:
        registered.setdefault(part, []).append((replica, source))
    return Sources(registered, _by_part(case))


def _registered(
    reader: ZnodeReader,
    case: RepairCase,
    listed: Iterable[tuple[ReplicaEvidence, Iterable[PartName]]],
    parts: Collection[str],
    *,
    is_cold: bool,
) -> list[tuple[str, str, Source]]:
    """Return replica, part and source of the listed parts in one ensemble."""
    paths = [
        (case.layout.replica(replica.name).part(part.text), part)
        for replica, names in listed
        for part in names
        if part.text in parts
    ]
    sources = []
    for each in read_parts(reader, paths) if paths else ():
        data, children = each.payload
        sources.append((each.replica, each.name.text, Source(data, dict(children), is_cold)))
    return sources


def _by_part(case: RepairCase) -> dict[str, list[Source]]:
    """Return part → its given znodes, of whatever replica of the table."""
    prefix = f"{case.layout.replicas}/"
    parents: list[tuple[str, SavedZnode]] = []
    children: dict[tuple[str, str], dict[str, bytes]] = {}
    for each in case.options.registrations:
        replica, _folder, below = each.path.removeprefix(prefix).partition("/parts/")
        if not each.path.startswith(prefix) or "/" in replica or not below:
            continue
        part, _slash, child = below.partition("/")
        if child:
            parent = each.path.rpartition("/")[0]
            children.setdefault((each.ensemble, parent), {})[child] = each.data
        else:
            parents.append((part, each))
    sources: dict[str, list[Source]] = {}
    for part, saved in parents:
        own = children.get((saved.ensemble, saved.path), {})
        sources.setdefault(part, []).append(Source(saved.data, own, is_cold=False))
    return sources
