# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit judges by: what both ensembles register of a partition, and what the servers have of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from ...formats.names import PartName, not_covered
from ...formats.state import is_cold
from ...tree.znodes import Znode


@dataclass(frozen=True)
class DiskParts:
    """What the server of one replica has of a table.

    active: names of its active parts → hash of all files in lower-case hex; None where it does not tell.
    detached: names in its folder ``detached``; None where it does not tell.
    """

    active: Mapping[str, str | None]
    detached: frozenset[str] | None


class Disks(Protocol):
    """Asks the servers of replicas; raises PartMoveError where one cannot tell."""

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All parts of the replica now. ``host`` is the data of the replica's ``host`` znode."""


class Owner(Enum):
    """Whose parts the cold ensemble has at a shard path, by the marker that the path's znode has there."""

    OURS = "ours"
    FORMER = "former"
    """A table that was at the path before."""
    NOBODY = "nobody"
    """There is no marker: another tool, if anybody, put parts there."""


class FirstReadMismatches(NamedTuple):
    """Names of parts of a replica that are on disk and registered nowhere, or registered and not on disk."""

    unregistered: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReplicaEvidence:
    """One partition of one replica. Names of parts are those of this partition only.

    is_in_hot: whether hot has the replica at all.
    hot, cold: what the ensembles register.
    active: what is active on disk; None where the server did not tell.
    detached: names in the folder ``detached`` of the table; None where not told.
    silence: why the server did not tell; empty where it did.
    differing: names that both ensembles register, with other bytes.
    unlike_disk: registered names that are active with another hash.
    unreadable: paths of znodes whose name no part has, or whose data is not understood.
    before: the doubts of an earlier look; None where this is the first one. Other parts came or went while
        this look was at work, and nothing is concluded from where they are not.
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
    hashes: Mapping[str, str | None] = field(default_factory=dict)
    """Name of each active part → hash of all its files; None where the server does not tell."""
    before: FirstReadMismatches | None = None

    @property
    def doubts(self) -> FirstReadMismatches:
        """What does not fit in this look alone."""
        active, registered = self.active or (), (*self.hot, *self.cold)
        return FirstReadMismatches(
            frozenset(part.text for part in not_covered(active, registered)),
            frozenset(part.text for part in not_covered(registered, active)),
        )

    def unregistered(self) -> list[PartName]:
        """Parts on disk that neither ensemble registers."""
        found = not_covered(self.active or (), (*self.hot, *self.cold))
        return [part for part in found if self.before is None or part.text in self.before.unregistered]

    def missing(self, parts: Iterable[PartName]) -> list[PartName]:
        """Those of the registered parts that are not on disk."""
        found = not_covered(parts, self.active or ())
        return [part for part in found if self.before is None or part.text in self.before.missing]


@dataclass(frozen=True)
class PartitionEvidence:
    """One partition, over all replicas that either ensemble has.

    cold_is_known: whether cold has the shard path, and is the ensemble that its parts went to.
    seconds_needed: how much longer a server that is starting may need the copies; 0.0 for no longer.
    """

    partition_id: str
    state: Znode | None
    replicas: tuple[ReplicaEvidence, ...]
    owner: Owner
    cold_is_known: bool = True
    seconds_needed: float = 0.0

    @property
    def is_cold(self) -> bool:
        """Whether a server takes the partition for cold."""
        return self.state is not None and is_cold(self.state.data)
