# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queries of the gates to ClickHouse servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol


class ActivePart(NamedTuple):
    """A row of ``system.parts`` of one replica; active parts only."""

    name: str
    rows: int
    hash_of_all_files: str | None
    """Lower-case hex; None if the server's version does not show the hash."""


class ReplicaProbe(Protocol):
    """Queries the ClickHouse server of a replica by SQL. Raises PartMoveError without an answer."""

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """Return partition id → active parts for every requested partition; () where there are none.

        ``host`` is the data of the replica's ``host`` znode.
        """

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        """Return the names in the replica's ``detached`` folder; None if the server cannot list it."""
