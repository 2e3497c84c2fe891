# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table with partitions to merge: its replicas, and the locations of its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._partmove.binding.binding import read_binding
from .._partmove.errors import NoSuchTable
from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.table_metadata import parse_table_metadata
from .._partmove.shard.facts import RegisteredNames
from .._partmove.shard.location import Location, NamesByPartition, locate
from .._partmove.shard.parts import PartNames
from .._partmove.tree.ports import ZnodeReader, ZnodeStore
from .._partmove.zip_strict import zip_strict


class Replica(NamedTuple):
    """A replica of a shard path, and the data of its ``host`` znode."""

    name: str
    host: str


class MergeTable:
    """Reads one shard path in both ensembles. Raises FormatError for invalid znodes."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeReader, shard_path: str, root: str) -> None:
        """Read the replicas. Raises NoSuchTable if hot has no replica, and the errors of `read_binding`."""
        self._hot, self._cold = hot, cold
        self._layout = layout = ShardLayout(shard_path)
        read_binding(hot, cold, root, layout)
        names = sorted(hot.children([layout.replicas])[0] or ())
        metadata = hot.read([layout.metadata])[0]
        if metadata is None or not names:
            raise NoSuchTable(f"{shard_path} is no table with replicas in hot", remedy="Make a new report")
        version = parse_table_metadata(metadata.data, layout.metadata).format_version
        self._part_names = PartNames(layout, version)
        hosts = hot.read([layout.replica(name).host for name in names])
        self.replicas: Sequence[Replica] = [
            Replica(name, "" if host is None else host.data.decode(errors="replace"))
            for name, host in zip_strict(names, hosts)
        ]
        self._listed: tuple[NamesByPartition, NamesByPartition] | None = None

    def location(self, partition_id: str) -> Location:
        """Return the current location of the partition, as known to the leader of each ensemble."""
        self._listed = None
        for reader in (self._hot, self._cold):
            reader.sync(self._layout.path)
        return self.listed_location(partition_id)

    def listed_location(self, partition_id: str) -> Location:
        """Return the location by the last listing of parts. Lists the parts only the first time."""
        # Read State before the parts: a move writes State after the copies.
        state = self._hot.read([self._layout.state(partition_id)])[0]
        if self._listed is None:
            names = sorted(
                {each.name for each in self.replicas}
                | set(self._cold.children([self._layout.replicas])[0] or ())
            )
            in_hot, in_cold = (self._part_names.by_partition(each, names) for each in (self._hot, self._cold))
            self._listed = in_hot, in_cold
        hot, cold = (_of(partition_id, names) for names in self._listed)
        return locate(RegisteredNames(state, hot, cold))


def _of(partition_id: str, names: NamesByPartition) -> Mapping[str, list[str]]:
    return {replica: [part.text for part in parts.get(partition_id, ())] for replica, parts in names.items()}
