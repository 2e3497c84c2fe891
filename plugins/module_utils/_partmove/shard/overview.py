# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Totals of each partition of a shard path in the two ensembles."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..formats.layout import ShardLayout
from ..tree.ports import ZnodeReader
from ..tree.znodes import Znode
from ..zip_strict import zip_strict
from .facts import RegisteredNames
from .inventory import COLD, HOT, InventoryRow, read_inventory
from .location import Location, locate


class Registered(NamedTuple):
    """Totals of one partition in one ensemble, over all replicas."""

    parts: int = 0
    znodes: int = 0
    data_bytes: int = 0

    def plus(self, row: InventoryRow) -> Registered:
        """Return the totals with one more part."""
        return Registered(self.parts + 1, self.znodes + row.znodes, self.data_bytes + row.bytes)


@dataclass
class PartitionOverview:
    """One partition. ``rows``: its parts, sorted by ensemble (hot first), replica and name."""

    partition_id: str
    state: Znode | None = None
    replicas: frozenset[str] = frozenset()
    """Names of the table's replicas in hot."""
    rows: list[InventoryRow] = field(default_factory=list)

    def registered(self, ensemble: str) -> Registered:
        """Return the totals of the partition in the ensemble, HOT or COLD."""
        total = Registered()
        for row in self.rows:
            if row.ensemble == ensemble:
                total = total.plus(row)
        return total

    @property
    def location(self) -> Location:
        """The location of the partition, over the replicas in hot. Valid only if both ensembles were read.

        Parts in cold of a former replica are no server's: moves do not see them either.
        """
        return locate(RegisteredNames(self.state, self._names(HOT), self._names(COLD)))

    @property
    def former_replicas(self) -> list[str]:
        """Names of the replicas with a part in cold that hot does not have, sorted."""
        return sorted({row.replica for row in self.rows} - self.replicas)

    @property
    def last_modified(self) -> int | None:
        """The time of the newest part znode, in milliseconds since 1970; None without parts.

        Parts in cold count only if hot has none, because a copy is younger than its original.
        """
        in_hot = [row.mtime for row in self.rows if row.ensemble == HOT]
        return max(in_hot or [row.mtime for row in self.rows], default=None)

    def _names(self, ensemble: str) -> dict[str, set[str]]:
        names: dict[str, set[str]] = {replica: set() for replica in self.replicas}
        for row in self.rows:
            if row.ensemble == ensemble and row.replica in names:
                names[row.replica].add(row.part)
        return names


def read_overview(
    hot: ZnodeReader, cold: ZnodeReader | None, shard_path: str, only: Collection[str] | None = None
) -> list[PartitionOverview]:
    """Return the partitions with a part in either ensemble, sorted by id.

    only: return exactly these partitions instead, even without parts.

    Raises NoSuchTable and FormatError as `read_inventory` does.
    """
    layout = ShardLayout(shard_path)
    replicas = frozenset(hot.children([layout.replicas])[0] or ())
    overviews = {each: PartitionOverview(each, replicas=replicas) for each in only or ()}
    for row in _requested(read_inventory(hot, shard_path, cold=cold), only):
        overview = overviews.setdefault(
            row.partition_id, PartitionOverview(row.partition_id, replicas=replicas)
        )
        overview.rows.append(row)
    ids = sorted(overviews)
    for each, state in zip_strict(ids, hot.read([layout.state(each) for each in ids])):
        overviews[each].state = state
    return [overviews[each] for each in ids]


def _requested(rows: Iterable[InventoryRow], only: Collection[str] | None) -> Iterable[InventoryRow]:
    return rows if only is None else (row for row in rows if row.partition_id in only)
