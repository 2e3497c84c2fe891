# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the evidence of one shard path: block numbers, State, both ensembles, and the disks of all replicas.

Servers are asked before any znode is read: a part registered or merged meanwhile is then seen in its later
form. Hot is read before cold, because a move takes parts from hot to cold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ...binding.binding import Binding, read_binding_of_any_cold
from ...binding.marker import parse_marker
from ...binding.owner import Owner, owner_of
from ...concurrent import map_concurrently
from ...errors import NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout, is_shard_path
from ...formats.table_metadata import parse_table_metadata
from ...lease.lease import path_of_lock
from ...tree.ports import Clock, ZnodeReader, ZnodeStore
from ...tree.znodes import Znode
from ...zip_strict import zip_strict
from .content import read_contents
from .detached import DetachedFolder, detached_folders
from .evidence import DiskParts, Disks
from .names import EnsembleNames, NameSplitter, listed_names
from .other_writers import written_by_another
from .partitions import Partitions
from .replicas import ListedNames, ReplicaAnswer, listed_folders, registered_host


@dataclass(frozen=True)
class ShardEvidence:
    """The evidence of a shard path, with every partition registered or on disk, by id.

    lock: the holder of the shard path's lock; empty if the lock is free.
    written_by_another: the partitions that another tool wrote after the last run.
    detached: the part folders in ``detached`` of the replicas.
    silent: replica → why its server did not answer.
    hosts: replica → the registered name of its server's host; empty if unknown.
    """

    layout: ShardLayout
    binding: Binding
    owner: Owner
    partitions: Partitions
    lock: str
    written_by_another: tuple[str, ...] = ()
    detached: tuple[DetachedFolder, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)


class EvidenceReader:
    """Reads shard paths of one pair of ensembles."""

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeReader,
        disks: Disks,
        clock: Clock,
        root: str,
        *,
        at_once: int = 1,
    ) -> None:
        """``root`` is the coordination root; at most ``at_once`` servers are asked at the same time."""
        self._hot = hot
        self._cold = cold
        self._disks = disks
        self._clock = clock
        self._root = root
        self._at_once = at_once
        self._splitter = NameSplitter(1)
        self._split: tuple[ShardLayout, int] | None = None

    def read(self, shard_path: str, *, content_of: Collection[str] = ()) -> ShardEvidence:
        """Return the evidence of a shard path, with the content of parts compared for the named partitions.

        Raises NoSuchTable if hot has no table there, BindingConflict if its runs use another coordination
        root or cold ensemble, FormatError for an unreadable marker or definition, EnsembleError and kin.
        """
        layout = ShardLayout(shard_path)
        self._hot.sync(layout.path)
        version = self._format_version(layout)
        splitter = self._splitter_of(layout, version)
        replicas = self._replicas(layout, splitter)
        # From here on, the reads include what the servers did since they were asked.
        self._hot.sync(layout.path)
        lock, shard = self._hot.read([path_of_lock(self._root, layout.path), layout.path])
        if shard is None:
            raise _no_table(layout)
        hot = listed_names(self._hot, layout, version, splitter)
        self._cold.sync(layout.path)
        cold = listed_names(self._cold, layout, version, splitter)
        binding = read_binding_of_any_cold(self._hot, self._cold, self._root, layout)
        names = ListedNames(layout, replicas, hot, cold, self._states(layout, [hot, cold], replicas))
        owner = owner_of(binding, shard.stat)
        partitions = self._with_content(self._partitions(names, binding, owner), content_of)
        return ShardEvidence(
            layout=layout,
            binding=binding,
            owner=owner,
            partitions=partitions,
            lock="" if lock is None else lock.data.decode(errors="replace"),
            written_by_another=written_by_another(self._hot, self._cold, self._root, partitions),
            detached=detached_folders(listed_folders(names), partitions, version),
            silent={name: each.silence for name, each in replicas.items() if each.silence},
            hosts={name: each.host for name, each in replicas.items()},
        )

    def read_anywhere(self, shard_path: str, *, content_of: Collection[str] = ()) -> ShardEvidence:
        """Return the evidence of a shard path, or of its leftovers in cold if hot does not have it.

        Raises as `read` does; NoSuchTable if neither ensemble has anything there.
        """
        try:
            return self.read(shard_path, content_of=content_of)
        except NoSuchTable:
            left = self.read_left_in_cold(shard_path)
            if left is None:
                raise
            return left

    def wait(self, seconds: float) -> None:
        """Give servers time to end an insert, fetch or drop."""
        self._clock.sleep(seconds)

    def read_left_in_cold(self, shard_path: str) -> ShardEvidence | None:
        """Return the leftovers in cold of a table missing in hot; None without leftovers of this hot.

        Leftovers with the marker of another hot do not count. A whole table in cold is no leftover, but was
        created by servers with this ensemble as an auxiliary ensemble. Raises as `read` does, except
        NoSuchTable.
        """
        layout = ShardLayout(shard_path)
        self._cold.sync(layout.path)
        if is_shard_path(self._cold.children([layout.path])[0] or ()):
            return None
        cold = listed_names(self._cold, layout, None)
        if not (cold.unreadable or any(cold.parts.values())):
            return None
        if self._is_of_another_path(layout):
            return None
        binding = read_binding_of_any_cold(self._hot, self._cold, self._root, layout)
        owner = owner_of(binding, None)
        if owner is Owner.OTHER_CLUSTER:
            return None
        states: dict[str, Znode | None] = dict.fromkeys(sorted(set[str]().union(*cold.parts.values())))
        names = ListedNames(layout, {}, EnsembleNames({}, {}), cold, states)
        partitions = self._partitions(names, binding, owner)
        return ShardEvidence(layout, binding, owner, partitions, lock="")

    def _is_of_another_path(self, layout: ShardLayout) -> bool:
        """Return whether the marker in cold assigns the shard path to another path of a hot ensemble."""
        znode = self._cold.read([layout.path])[0]
        marker = None if znode is None else parse_marker(znode)
        if marker is None or marker.side is None:
            return False
        return marker.side.path != f"{self._hot.chroot}{layout.path}"

    def _format_version(self, layout: ShardLayout) -> int:
        metadata = self._hot.read([layout.metadata])[0]
        if metadata is None:
            raise _no_table(layout)
        return parse_table_metadata(metadata.data, layout.metadata).format_version

    def _splitter_of(self, layout: ShardLayout, version: int) -> NameSplitter:
        """Return the splitter of the last read, if it was of the same table: most names are the same."""
        if self._split != (layout, version):
            self._split, self._splitter = (layout, version), NameSplitter(version)
        return self._splitter

    def _replicas(self, layout: ShardLayout, splitter: NameSplitter) -> dict[str, ReplicaAnswer]:
        layouts = [layout.replica(name) for name in self._hot.children([layout.replicas])[0] or ()]
        read = iter(self._hot.read([path for each in layouts for path in (each.host, each.is_active)]))
        znodes = [(each, next(read), next(read)) for each in layouts]
        disks = map_concurrently(
            lambda asked: self._disk(layout, asked[0].name, asked[1]), znodes, self._at_once
        )
        replicas: dict[str, ReplicaAnswer] = {}
        for (each, host, is_active), (disk, silence) in zip_strict(znodes, disks):
            # In the order of listings, for equal lists to be found.
            active, _invalid = splitter.split(() if disk is None else tuple(sorted(disk.active)))
            replicas[each.name] = ReplicaAnswer(
                is_active is not None, disk, active, silence, registered_host(host)
            )
        return replicas

    def _disk(self, layout: ShardLayout, replica: str, host: Znode | None) -> tuple[DiskParts | None, str]:
        text = "" if host is None else host.data.decode(errors="replace")
        try:
            return self._disks.parts(layout.path, replica, text), ""
        except PartMoveError as error:
            return None, str(error)

    def _states(
        self, layout: ShardLayout, ensembles: Collection[EnsembleNames], replicas: Mapping[str, ReplicaAnswer]
    ) -> dict[str, Znode | None]:
        """Return every partition registered or on disk, sorted, with its State."""
        ids = set(self._hot.children([layout.block_numbers])[0] or ())
        for names in ensembles:
            ids.update(*names.parts.values())
        for replica in replicas.values():
            ids.update(replica.active)
        ordered = sorted(ids)
        return dict(zip_strict(ordered, self._hot.read([layout.state(each) for each in ordered])))

    def _partitions(self, names: ListedNames, binding: Binding, owner: Owner) -> Partitions:
        cold_is_known = binding.cold is not None and (binding.known is None or binding.is_known)
        return Partitions(names, owner, cold_is_known, self._clock.now())

    def _with_content(self, partitions: Partitions, content_of: Collection[str]) -> Partitions:
        chosen = sorted(partitions.names.states.keys() & set(content_of))
        if not chosen:
            return partitions
        return replace(partitions, contents=read_contents(self._hot, self._cold, partitions.names, chosen))


def _no_table(layout: ShardLayout) -> NoSuchTable:
    return NoSuchTable(
        f"There is no replicated table at {layout.path} in the hot ensemble",
        remedy="Check the path; the table may have been dropped just now",
    )
