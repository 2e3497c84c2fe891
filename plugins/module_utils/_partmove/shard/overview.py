# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is registered of each partition of a shard path in the two ensembles, added up."""

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
    """What one ensemble has, over all replicas."""

    parts: int = 0
    znodes: int = 0
    data_bytes: int = 0

    def plus(self, row: InventoryRow) -> Registered:
        """These amounts and those of one more part."""
        return Registered(self.parts + 1, self.znodes + row.znodes, self.data_bytes + row.bytes)


@dataclass
class PartitionOverview:
    """One partition. ``rows`` are its parts, sorted by ensemble (hot first), replica and name."""

    partition_id: str
    state: Znode | None = None
    replicas: frozenset[str] = frozenset()
    """Names of the replicas that the table has in hot."""
    rows: list[InventoryRow] = field(default_factory=list)

    def registered(self, ensemble: str) -> Registered:
        """What the ensemble, hot or cold, has of the partition."""
        total = Registered()
        for row in self.rows:
            if row.ensemble == ensemble:
                total = total.plus(row)
        return total

    @property
    def location(self) -> Location:
        """Where the partition is, if both ensembles were read."""
        return locate(RegisteredNames(self.state, self._names(HOT), self._names(COLD)))

    @property
    def last_modified(self) -> int | None:
        """When the newest part was registered, in milliseconds since 1970.

        That is in hot, or where hot has none in cold: a copy is younger than what it was made from.
        """
        in_hot = [row.mtime for row in self.rows if row.ensemble == HOT]
        return max(in_hot or [row.mtime for row in self.rows], default=None)

    def _names(self, ensemble: str) -> dict[str, set[str]]:
        replicas = self.replicas | {row.replica for row in self.rows}
        names: dict[str, set[str]] = {replica: set() for replica in replicas}
        for row in self.rows:
            if row.ensemble == ensemble:
                names[row.replica].add(row.part)
        return names


def read_overview(
    hot: ZnodeReader, cold: ZnodeReader | None, shard_path: str, only: Collection[str] | None = None
) -> list[PartitionOverview]:
    """The partitions that have a part in either ensemble, or just those in ``only``, sorted by id.

    Raises NoSuchTable and FormatError as `read_inventory` does.
    """
    layout = ShardLayout(shard_path)
    replicas = frozenset(hot.children([layout.replicas])[0] or ())
    found = {each: PartitionOverview(each, replicas=replicas) for each in only or ()}
    for row in _wanted(read_inventory(hot, shard_path, cold=cold), only):
        overview = found.setdefault(row.partition_id, PartitionOverview(row.partition_id, replicas=replicas))
        overview.rows.append(row)
    ids = sorted(found)
    for each, state in zip_strict(ids, hot.read([layout.state(each) for each in ids])):
        found[each].state = state
    return [found[each] for each in ids]


def _wanted(rows: Iterable[InventoryRow], only: Collection[str] | None) -> Iterable[InventoryRow]:
    return rows if only is None else (row for row in rows if row.partition_id in only)
