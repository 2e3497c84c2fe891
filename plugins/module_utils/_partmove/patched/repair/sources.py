# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What bytes are known that register a part: those of other replicas, and those that were given."""

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
    """What registers a part of another replica, or once registered it."""

    data: bytes
    children: Mapping[str, bytes]
    is_cold: bool
    """Whether cold registers it; hot otherwise, and what comes from a file."""


class Sources(NamedTuple):
    """All that is known to register some parts of a table."""

    registered: Mapping[str, list[tuple[str, Source]]]
    """Part → the replicas that have it, each with what registers it; those in hot first."""
    given: Mapping[str, list[Source]]

    def of(self, replica: str, part: str) -> Iterator[Source]:
        """What may register the part for the replica: as for another one, then as was given."""
        for other, source in self.registered.get(part, ()):
            if other != replica:
                yield source
        yield from self.given.get(part, ())


def read_sources(
    case: RepairCase, partitions: Iterable[PartitionEvidence], parts: Collection[str]
) -> Sources:
    """Read what replicas in hot have of these parts of the partitions, at once from each ensemble."""
    replicas = [each for partition in partitions for each in partition.replicas if each.is_in_hot]
    found = _registered(case.context.hot, case, [(each, each.hot) for each in replicas], parts, is_cold=False)
    # What an ensemble has that is not the right one registers nothing for a server.
    if case.kind is not FindingKind.COLD_UNKNOWN:
        listed = [(each, each.cold) for each in replicas]
        found += _registered(case.context.cold, case, listed, parts, is_cold=True)
    registered: dict[str, list[tuple[str, Source]]] = {}
    for replica, part, source in found:
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
    """Replica, part and what registers it in one ensemble, of those parts that it lists for replicas."""
    wanted = [
        (case.layout.replica(replica.name).part(part.text), part)
        for replica, names in listed
        for part in names
        if part.text in parts
    ]
    found = []
    for each in read_parts(reader, wanted) if wanted else ():
        data, children = each.payload
        found.append((each.replica, each.name.text, Source(data, dict(children), is_cold)))
    return found


def _by_part(case: RepairCase) -> dict[str, list[Source]]:
    """Part → what the backup has of it, of whatever replica of the table."""
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
