# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the two ensembles for the replicas of one server: cold partitions, cold parts and the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from ..binding.binding import marked_cold
from ..errors import FormatError, NoSuchTable
from ..formats.layout import ShardLayout
from ..formats.names import parse_part_name, uncovered_names
from ..formats.table_metadata import parse_table_metadata
from ..patched.ledger.entry import ColdEnsemble
from ..patched.ledger.ledger import Ledger, not_ready
from ..patched.ledger.live_replica import live_replicas
from ..tree.ports import ZnodeStore
from ..zip_strict import zip_strict
from .facts import ColdFacts, Disk, ReplicaPath, ReplicaStatus, TableKey


class ColdPresence:
    """Reads both ensembles; without ``cold``, only the State of the partitions and the ledger from hot."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeStore | None, ledger: Ledger) -> None:
        self._hot = hot
        self._cold = cold
        self._ledger = ledger

    def registered(self, replicas: Sequence[ReplicaStatus]) -> Mapping[ReplicaPath, frozenset[str]]:
        """Return the names of the parts registered in cold for each replica; empty without ``cold``.

        Call it before the disk is read, and again for registered parts missing on the disk: a dropped part
        leaves the disk before it leaves cold.
        """
        if self._cold is None:
            return {}
        by_path = _listed(self._cold, replicas)
        return {path: names or frozenset() for path, names in by_path.items()}

    def facts(
        self,
        replicas: Sequence[ReplicaStatus],
        registered: Mapping[ReplicaPath, frozenset[str]],
        disk: Disk,
    ) -> list[ColdFacts]:
        """Return the facts of each replica, in order, without read-only replicas whose znodes are gone.

        Both ensembles are read after ``disk``, because a server registers a part before the part is active.
        Raises NoSuchTable if hot cannot be the ensemble of the server, FormatError, EnsembleError.
        """
        facts = []
        unregistered = self._unregistered(replicas, disk)
        for replica in replicas:
            layout = ShardLayout(replica.shard_path)
            metadata = self._hot.read([layout.metadata])[0]
            if metadata is not None:
                version = parse_table_metadata(metadata.data, layout.metadata).format_version
                names = registered.get(replica.path)
                facts.append(
                    ColdFacts(
                        key=replica.key,
                        shard_path=replica.shard_path,
                        cold_partitions=marked_cold(self._hot, layout),
                        not_ready=self._not_ready(layout, replica.replica),
                        missing=None if names is None else _missing(replica, names, version, disk),
                        unregistered=unregistered.get(replica.key),
                    )
                )
            elif not replica.read_only:
                raise NoSuchTable(
                    f"{replica.key} is a replica of {layout.path}, which is not in the hot ensemble",
                    remedy="Give as hot the ensemble that the server uses, with its <root> as chroot",
                )
        return facts

    def still_missing(self, facts: Sequence[ColdFacts], replicas: Sequence[ReplicaStatus]) -> list[ColdFacts]:
        """Return the facts without parts that left cold meanwhile, because they were dropped."""
        if not any(each.missing for each in facts):
            return list(facts)
        names = {each.key: self.registered([each])[each.path] for each in replicas}
        return [
            each._replace(missing=tuple(name for name in each.missing or () if name in names[each.key]))
            for each in facts
        ]

    def still_unregistered(
        self, facts: Sequence[ColdFacts], replicas: Sequence[ReplicaStatus], read_disk: Callable[[], Disk]
    ) -> list[ColdFacts]:
        """Return the facts without parts that were dropped, merged or registered meanwhile.

        ``read_disk`` returns the current content of the disk, and is called only if parts are unregistered.
        """
        if not any(each.unregistered for each in facts):
            return list(facts)
        again = self._unregistered(replicas, read_disk())
        return [
            each
            if each.unregistered is None
            else each._replace(
                unregistered=tuple(name for name in each.unregistered if name in again.get(each.key, ()))
            )
            for each in facts
        ]

    def _unregistered(
        self, replicas: Sequence[ReplicaStatus], disk: Disk
    ) -> Mapping[TableKey, tuple[str, ...]]:
        """Return the sorted names of the parts on disk, but in neither ensemble.

        A replica unknown to hot is no key; empty without ``cold``. Hot is read first, because a move takes
        parts from hot to cold.
        """
        if self._cold is None or not replicas:
            return {}
        self._hot.sync("/")
        definitions = self._hot.read([ShardLayout(each.shard_path).metadata for each in replicas])
        in_hot = _listed(self._hot, replicas)
        self._cold.sync("/")
        in_cold = _listed(self._cold, replicas)
        unregistered: dict[TableKey, tuple[str, ...]] = {}
        for replica, metadata in zip_strict(replicas, definitions):
            names = in_hot[replica.path]
            if metadata is not None and names is not None:
                version = parse_table_metadata(metadata.data, metadata.path).format_version
                known = names | (in_cold[replica.path] or frozenset())
                unregistered[replica.key] = _not_among(replica, known, version, disk)
        return unregistered

    def _not_ready(self, layout: ShardLayout, name: str) -> str | None:
        entry = self._ledger.read(layout.path, [name])[name]
        (replica,) = live_replicas(self._hot, [layout.replica(name)])
        if self._cold is None:
            return None if entry is not None else f"replica {name} is not in the ledger"
        return not_ready(entry, replica, ColdEnsemble.of(self._cold))


def _listed(
    reader: ZnodeStore, replicas: Sequence[ReplicaStatus]
) -> dict[ReplicaPath, frozenset[str] | None]:
    """Return the names of the parts of each replica; None if the ensemble does not have the replica."""
    paths = [ShardLayout(each.shard_path).replica(each.replica).parts for each in replicas]
    listings = reader.children(paths)
    return {
        each.path: None if names is None else frozenset(names)
        for each, names in zip_strict(replicas, listings)
    }


def _missing(
    replica: ReplicaStatus, names: Collection[str], format_version: int, disk: Disk
) -> tuple[str, ...]:
    """Return the registered names without an active part on disk; invalid part names count as well."""
    by_partition, missing = _by_partition(replica, names, format_version)
    table = disk.tables.get(replica.key)
    for partition_id, registered in by_partition.items():
        active = table.partitions.get(partition_id) if table is not None else None
        now = () if active is None else active.parts
        missing += uncovered_names(registered, now, partition_id, str(replica.key))
    return tuple(sorted(missing))


def _not_among(
    replica: ReplicaStatus, names: Collection[str], format_version: int, disk: Disk
) -> tuple[str, ...]:
    """Return the active parts that are neither registered nor covered by a registered part."""
    by_partition, _invalid = _by_partition(replica, names, format_version)
    table = disk.tables.get(replica.key)
    unregistered: list[str] = []
    for partition_id, active in (table.partitions if table is not None else {}).items():
        registered = by_partition.get(partition_id, ())
        unregistered += uncovered_names(active.parts, registered, partition_id, str(replica.key))
    return tuple(sorted(unregistered))


def _by_partition(
    replica: ReplicaStatus, names: Collection[str], format_version: int
) -> tuple[Mapping[str, list[str]], list[str]]:
    """Return partition id → part names, and the invalid names."""
    by_partition: defaultdict[str, list[str]] = defaultdict(list)
    invalid: list[str] = []
    for name in names:
        try:
            partition_id = parse_part_name(name, format_version, str(replica.path)).partition_id
        except FormatError:
            invalid.append(name)
        else:
            by_partition[partition_id].append(name)
    return by_partition, invalid
