# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of part znodes in the cold ensemble: made, put right, and taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf

from ..aligned import aligned
from ..errors import EnsembleError
from ..formats.layout import ShardLayout
from ..formats.names import PartName
from ..gates.partition import is_registered_or_replaced
from ..lease.lease import Lease, raise_if_lease_lost
from ..shard.facts import COLD, HOT, PartitionFacts, RegisteredPart, ShardFacts
from ..shard.parts import read_parts
from ..shard.reader import ShardReader
from ..text import few
from ..tree.batches import Batch, pack
from ..tree.paths import ensure_path, refuse_unwritable
from ..tree.ports import ZnodeStore
from ..tree.znodes import Committed, Create, Delete, Op, Rejected, SetData, Znode

_ATTEMPTS = 5
_STARTING_SECONDS = 600
"""More than a session of a server that is gone may last."""


class ColdCopies:
    """The copies of one shard path, written under one lease.

    ``created`` has the copies that this run created, by path, under whatever lease; it is added to.
    """

    def __init__(
        self, cold: ZnodeStore, layout: ShardLayout, lease: Lease, created: dict[str, PartName]
    ) -> None:
        self._cold = cold
        self._layout = layout
        self._lease = lease
        self._created = created

    def make(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> None:
        """Bring the copies of the partitions to what hot registers; hot is authoritative.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        self._prepare_parents(shard)
        wanted = {part.znode.path: part for each in partitions for part in each.hot_parts}
        existing = {part.znode.path: part for each in partitions for part in each.cold_parts}
        names = {path: part.name for path, part in (*wanted.items(), *existing.items())}
        # Before they are written: some may be there even where the answer never comes.
        self._created.update({path: names[path] for path in wanted.keys() - existing.keys()})
        for _attempt in range(_ATTEMPTS):
            groups = list(_differences(wanted, existing))
            if self._commit(groups):
                return
            existing = self._read(names)
        raise EnsembleError(
            f"The copies under {self._layout.path} did not stay as written in the cold ensemble",
            remedy="See what else writes there, then run again",
        )

    def take_back(
        self, shard: ShardFacts, partitions: Iterable[PartitionFacts], now: float
    ) -> tuple[set[str], bool]:
        """Remove copies of partitions that are not switched; all was read just now.

        Only what hot still registers, or has replaced, or what this run created itself. Returns the ids
        of the partitions that had such copies, and whether these are gone for sure; if not, all has to
        be read again. Raises LeaseLost, EnsembleError, AccessDenied.
        """
        groups: list[tuple[str, Sequence[Op]]] = [
            (partition.partition_id, _removal(part))
            for partition in partitions
            for part in self._not_needed(shard, partition, now)
        ]
        return {partition_id for partition_id, _ops in groups}, self._commit(groups)

    def _not_needed(self, shard: ShardFacts, partition: PartitionFacts, now: float) -> list[RegisteredPart]:
        if partition.is_cold:
            return []
        return [
            part
            for replica, parts in partition.cold.items()
            for part in parts
            if (
                not seconds_needed(shard, partition.state, now)
                if is_registered_or_replaced(part, partition.hot[replica])
                else part.znode.path in self._created
            )
        ]

    def take_back_all(
        self, hot: ZnodeStore, reader: ShardReader, partition_ids: Collection[str], now: float
    ) -> set[str]:
        """Remove the copies of the partitions as `take_back` does, until they are gone for sure.

        Returns the ids of those that had any and have none left. Raises LeaseLost, EnsembleError,
        AccessDenied.
        """
        ids = sorted(partition_ids)
        had_copies: set[str] = set()
        if not ids:
            return had_copies
        for _attempt in range(_ATTEMPTS):
            hot.sync(self._layout.path)
            self._cold.sync(self._layout.path)
            shard = reader.shard()
            found = reader.partitions(shard, ids)
            copied, gone = self.take_back(shard, found.values(), now)
            had_copies |= copied
            if gone:
                return {each for each in had_copies if self._has_no_other(shard, found[each], now)}
        raise EnsembleError(
            f"Copies of partitions {few(ids)} of {self._layout.path} could not be removed from cold",
            remedy="They do no harm while the partitions stay in hot; run again to remove them",
        )

    def _has_no_other(self, shard: ShardFacts, partition: PartitionFacts, now: float) -> bool:
        """Whether all copies of the partition were such that they are removed."""
        return len(self._not_needed(shard, partition, now)) == len(partition.cold_parts)

    def withdraw(self, partition_ids: Collection[str]) -> None:
        """Remove what this run created of partitions that never were cold, whatever else is there.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        names = {path: name for path, name in self._created.items() if name.partition_id in partition_ids}
        for _attempt in range(_ATTEMPTS):
            existing = self._read(names)
            if self._commit([(path, _removal(part)) for path, part in existing.items()]):
                return
        raise EnsembleError(
            f"Copies under {self._layout.path} that this run made could not be removed from cold",
            remedy="They do no harm while their partitions stay in hot; run again to remove them",
        )

    @property
    def created_partitions(self) -> list[str]:
        """Ids of the partitions that this run created copies of, sorted."""
        return sorted({name.partition_id for name in self._created.values()})

    def _read(self, names: Mapping[str, PartName]) -> dict[str, RegisteredPart]:
        self._cold.sync(self._layout.path)
        return {part.znode.path: part for part in read_parts(self._cold, sorted(names.items()))}

    def _commit(self, groups: Sequence[tuple[str, Sequence[Op]]]) -> bool:
        """Whether everything was applied; if not, the copies have to be looked at again."""
        checks = self._lease.cold_checks
        batches: list[Batch] = pack(checks, groups)
        outcomes = self._cold.commit([batch.multi for batch in batches])
        for batch, outcome in aligned(batches, outcomes):
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(checks), self._layout.path)
                refuse_unwritable(self._cold, batch.multi[outcome.op_index].path, outcome)
        return all(isinstance(outcome, Committed) for outcome in outcomes)

    def _prepare_parents(self, shard: ShardFacts) -> None:
        for replica in shard.replicas:
            ensure_path(self._cold, self._layout.replica(replica.name).parts)
        marker = shard.marker
        for _attempt in range(_ATTEMPTS):
            znode = self._cold.read([self._layout.path])[0]
            if znode is not None and znode.data == marker:
                return
            version = 0 if znode is None else znode.stat.version
            self._commit([(self._layout.path, [SetData(self._layout.path, marker, version)])])
        raise EnsembleError(
            f"{self._layout.path} in the cold ensemble could not be marked",
            remedy="See what else writes there, then run again",
        )


def seconds_needed(shard: ShardFacts, state: Znode | None, now: float) -> float:
    """How much longer a server that is starting may need the copies of a hot partition; 0.0 for no longer.

    When the partition was cold, a server that read hot then, and has not read cold yet, needs the
    copies. It is not active yet, and the ephemeral znode of its former process has gone by the end of
    the time that is waited here. So they are needed for ever while a replica is not active.
    """
    if state is None or never_was_cold(state):
        return 0.0
    if any(replica.is_active is None for replica in shard.replicas):
        return inf
    return max(0.0, state.stat.mtime / 1000 + _STARTING_SECONDS - now)


def never_was_cold(state: Znode) -> bool:
    """Whether the State, which only a switch changes after it was created, tells that there was none."""
    return state.stat.version == 0 and state.data != COLD


def _differences(
    wanted: Mapping[str, RegisteredPart], existing: Mapping[str, RegisteredPart]
) -> Iterable[tuple[str, Sequence[Op]]]:
    for path in sorted(existing.keys() - wanted.keys()):
        yield path, _removal(existing[path])
    for path in sorted(wanted):
        part, copy = wanted[path], existing.get(path)
        if copy is None:
            yield path, _creation(part)
        elif copy.payload != part.payload:
            yield path, [*_removal(copy), *_creation(part)]


def restoring(parts: Iterable[RegisteredPart], state: Znode) -> list[Op]:
    """What registers the parts in hot again and makes the partition hot."""
    creations = [op for part in parts for op in _creation(part)]
    return [*creations, SetData(state.path, HOT, state.stat.version)]


def _creation(part: RegisteredPart) -> list[Op]:
    return [Create(znode.path, znode.data) for znode in (part.znode, *part.children)]


def _removal(part: RegisteredPart) -> list[Op]:
    """Children before their parent, each as it was read."""
    return [Delete(znode.path, znode.stat.version) for znode in (*part.children, part.znode)]
