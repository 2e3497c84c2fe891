# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the content of parts portion by portion, and keeps only what is unusual about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...formats.names import PartName
from ...tree.ports import ZnodeReader
from .evidence import ReplicaEvidence
from .names import PartitionNames
from .payloads import ContentProblems, PayloadChecks, content_problems
from .replicas import ListedNames

_PARTS_PER_PORTION = 2000


@dataclass
class ReplicaContent:
    """What was found in the content of the parts of one replica.

    partitions: ids of partitions with a problem.
    differing, unlike_disk, damaged_copies: as in `ReplicaEvidence`, of all partitions.
    unreadable: name of each part with unreadable data → its path.
    znodes: name → number of znodes, of the parts with more than one.
    cold_mtimes: partition id → time of the newest write to its part znodes in cold, in milliseconds since
        1970.
    """

    partitions: set[str] = field(default_factory=set)
    differing: set[str] = field(default_factory=set)
    unlike_disk: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    damaged_copies: set[str] = field(default_factory=set)
    znodes: dict[str, int] = field(default_factory=dict)
    cold_mtimes: dict[str, int] = field(default_factory=dict)

    def add(self, found: ContentProblems, parts: Iterable[PartName]) -> None:
        """Add what was found in the content of a portion, with the names of its parts."""
        self.differing |= found.differing
        self.unlike_disk |= found.unlike_disk
        self.unreadable.update((_name_at(path), path) for path in found.unreadable)
        self.damaged_copies |= found.damaged_copies
        self.znodes.update(found.znodes)
        self.cold_mtimes.update(found.cold_mtimes)
        affected = {*found.differing, *found.unlike_disk, *map(_name_at, found.unreadable)}
        if affected:
            self.partitions.update(part.partition_id for part in parts if part.text in affected)


def with_content(evidence: ReplicaEvidence, content: ReplicaContent | None) -> ReplicaEvidence:
    """Add what was found in the content of the parts; nothing if no content was read."""
    if content is None:
        return evidence
    own = {part.text for part in (*evidence.hot, *evidence.cold)}
    unreadable = sorted(content.unreadable[name] for name in own if name in content.unreadable)
    return replace(
        evidence,
        differing=frozenset(name for name in own if name in content.differing),
        unlike_disk=frozenset(name for name in own if name in content.unlike_disk),
        unreadable=(*evidence.unreadable, *unreadable),
        damaged_copies=frozenset(path for path in unreadable if path in content.damaged_copies),
        znodes={name: content.znodes[name] for name in own if name in content.znodes},
        cold_mtime=content.cold_mtimes.get(evidence.cold[0].partition_id, 0) if evidence.cold else 0,
    )


def read_contents(
    hot: ZnodeReader, cold: ZnodeReader, names: ListedNames, partition_ids: Iterable[str]
) -> dict[str, ReplicaContent]:
    """Read the parts of the partitions on all replicas: replica → what their content shows."""
    contents = {name: ReplicaContent() for name in sorted({*names.replicas, *names.cold.parts})}
    for portion in _portions(names, partition_ids):
        checks = PayloadChecks()
        for replica, content in contents.items():
            known, cold_parts = names.replicas.get(replica), names.cold.parts.get(replica, {})
            # As in `replica_evidence`: a replica in cold alone is only where it has parts.
            own = portion if known is not None else [each for each in portion if each in cold_parts]
            in_hot, in_cold = _parts(names.hot.parts.get(replica, {}), own), _parts(cold_parts, own)
            disk = None if known is None else known.disk
            hashes = {} if disk is None else disk.active
            ensembles = [(hot, in_hot), (cold, in_cold)]
            found = content_problems(ensembles, names.layout, replica, hashes, checks)
            content.add(found, (*in_hot, *in_cold))
    return contents


def _name_at(path: str) -> str:
    return path.rpartition("/")[2]


def _parts(partitions: PartitionNames, portion: Iterable[str]) -> Sequence[PartName]:
    return [part for each in portion for part in partitions.get(each, ())]


def _portions(names: ListedNames, partition_ids: Iterable[str]) -> Iterator[list[str]]:
    """Yield the partitions in portions: large enough for requests, and small enough for memory.

    A replica has few more parts of a portion than the bound, in both ensembles together.
    """
    replicas = sorted({*names.replicas, *names.cold.parts})
    lists = [(names.hot.parts.get(each, {}), names.cold.parts.get(each, {})) for each in replicas]
    portion: list[str] = []
    parts = 0
    for each in partition_ids:
        portion.append(each)
        parts += max([len(hot.get(each, ())) + len(cold.get(each, ())) for hot, cold in lists], default=0)
        if parts >= _PARTS_PER_PORTION:
            yield portion
            portion, parts = [], 0
    if portion:
        yield portion
