# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the gates ask of ClickHouse servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol


class ActivePart(NamedTuple):
    """A row of ``system.parts`` of a replica, active parts only."""

    name: str
    rows: int
    hash_of_all_files: str | None
    """Lower-case hex; None where the server's version does not tell."""


class ReplicaProbe(Protocol):
    """Asks the ClickHouse server of a replica by SQL; raises PartMoveError when it cannot."""

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of each partition id asked for; an empty tuple where it has none.

        ``host`` is the data of the replica's ``host`` znode.
        """

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        """Names in the replica's ``detached`` folder; None where the server's version does not tell."""
