# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of an audit: the part znodes of a partition in both ensembles, and its parts on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ...binding.owner import Owner
from ...formats.names import PartName, not_covered
from ...formats.state import is_cold
from ...tree.znodes import Znode


class ServerTable(NamedTuple):
    """The table of a replica on its server. ``server``: what and where the server is, for people."""

    server: str
    database: str
    name: str


@dataclass(frozen=True)
class DiskParts:
    """The parts of a table on the disk of one replica.

    active: names of its active parts → hash of all files in lower-case hex; None if the server shows no hash.
    detached: names in its folder ``detached``; None if the server cannot list them.
    table: where the parts are; None if unknown.
    """

    active: Mapping[str, str | None]
    detached: frozenset[str] | None
    table: ServerTable | None = None


class Disks(Protocol):
    """Asks the servers of replicas for their parts."""

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """Return all parts of the replica now. Raises PartMoveError if the server does not answer.

        ``host`` is the data of the replica's ``host`` znode.
        """


class FirstReadMismatches(NamedTuple):
    """Names of parts of a replica that are unregistered on disk, or registered and not on disk."""

    unregistered: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReplicaEvidence:
    """The evidence for one partition of one replica; all part names are of this partition.

    is_in_hot: whether hot has the replica at all.
    hot, cold: the parts registered in the ensembles.
    active: the active parts on disk; None if the server did not answer.
    detached: names in the folder ``detached`` of the table; None if unknown.
    silence: why the server did not answer; empty if it did.
    differing: names registered in both ensembles with different bytes.
    unlike_disk: registered names of parts active with another hash.
    unreadable: paths of znodes with an invalid part name or with unreadable data.
    damaged_copies: the unreadable paths of copies in cold of parts that hot registers with readable data.
    znodes: name of each part whose content was read → number of its znodes, its children included.
    table: the table on the server of the replica; None if unknown.
    cold_mtime: time of the newest write to a part znode in cold, in milliseconds since 1970; 0 if no content
        was read.
    before: the mismatches of the first read; None in the first read itself. A part missing or unregistered
        only in the second read came or went meanwhile, and proves nothing.
    """

    name: str
    is_in_hot: bool
    hot: tuple[PartName, ...]
    cold: tuple[PartName, ...]
    active: tuple[PartName, ...] | None
    detached: frozenset[str] | None = None
    silence: str = ""
    differing: frozenset[str] = frozenset()
    unlike_disk: frozenset[str] = frozenset()
    unreadable: tuple[str, ...] = ()
    damaged_copies: frozenset[str] = frozenset()
    znodes: Mapping[str, int] = field(default_factory=dict)
    table: ServerTable | None = None
    cold_mtime: int = 0
    hashes: Mapping[str, str | None] = field(default_factory=dict)
    """Name of each active part → hash of all its files; None if the server shows no hash."""
    before: FirstReadMismatches | None = None

    @property
    def mismatches(self) -> FirstReadMismatches:
        """The mismatches of this read alone."""
        active, registered = self.active or (), (*self.hot, *self.cold)
        return FirstReadMismatches(
            frozenset(part.text for part in not_covered(active, registered)),
            frozenset(part.text for part in not_covered(registered, active)),
        )

    def unregistered(self) -> list[PartName]:
        """Return the parts on disk but in neither ensemble, in both reads."""
        uncovered = not_covered(self.active or (), (*self.hot, *self.cold))
        return [part for part in uncovered if self.before is None or part.text in self.before.unregistered]

    def missing(self, parts: Iterable[PartName]) -> list[PartName]:
        """Return the registered parts of ``parts`` that are not on disk, in both reads."""
        uncovered = not_covered(parts, self.active or ())
        return [part for part in uncovered if self.before is None or part.text in self.before.missing]


@dataclass(frozen=True)
class PartitionEvidence:
    """The evidence for one partition, over all replicas of both ensembles.

    cold_is_known: whether cold has the shard path, and is the ensemble of the table's cold parts.
    seconds_needed: how much longer a starting server may need the copies, in seconds; 0.0 if none does.
    now: time of the read, in seconds since 1970.
    """

    partition_id: str
    state: Znode | None
    replicas: tuple[ReplicaEvidence, ...]
    owner: Owner
    cold_is_known: bool = True
    seconds_needed: float = 0.0
    now: float = 0.0

    @property
    def is_cold(self) -> bool:
        """Whether a server takes the partition for cold."""
        return self.state is not None and is_cold(self.state.data)
