# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes copies of part znodes to the cold ensemble, and removes them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...errors import EnsembleError
from ...formats.names import PartName
from ...gates.gate import Refusal
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from ...shard.location import was_brought_back
from ...shard.parts import read_parts
from ...text import first_few
from ...tree.znodes import Op
from .hot_members import refuse_behind
from .leased_shard import LeasedShard
from .operations import creation, removal
from .unneeded_copies import unneeded_copies

_ATTEMPTS = 5


class Removal(NamedTuple):
    """What became of the copies of partitions."""

    gone: set[str]
    """Ids of those that had any and have none left."""
    behind: Mapping[str, Refusal]
    """Partition id → which member of hot keeps its copies in cold."""
    removed: Mapping[str, set[str]]
    """Partition id → paths of the copies that were removed; one without is no key."""


class ColdCopies:
    """The copies of one shard path, written under one lease.

    ``own`` has the copies that nobody else relies on, by path, such as those that this run created under
    whatever lease; what is created is added to it.
    """

    def __init__(self, leased: LeasedShard, own: dict[str, PartName]) -> None:
        self._leased = leased
        self._cold = leased.cold
        self._layout = leased.layout
        self._own = own

    def make(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> None:
        """Bring the copies of the partitions to what hot registers; hot is authoritative.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        folders = [self._layout.replica(each.name).parts for each in shard.replicas]
        if not self._cold.had(folders):
            self._cold.ensure(folders)
        wanted = {part.znode.path: part for each in partitions for part in each.hot_parts}
        existing = {part.znode.path: part for each in partitions for part in each.cold_parts}
        names = {path: part.name for path, part in (*wanted.items(), *existing.items())}
        # Before they are written: some may be there even where the answer never comes.
        self._own.update({path: names[path] for path in wanted.keys() - existing.keys()})
        for _attempt in range(_ATTEMPTS):
            if self._cold.commit(_differences(wanted, existing)).is_whole():
                return
            self._cold.ensure(folders)
            existing = self._read(names)
        raise EnsembleError(
            f"The copies under {self._layout.path} did not stay as written in the cold ensemble",
            remedy="See what else writes there, then run again",
        )

    def remove_unneeded(self, partition_ids: Collection[str]) -> Removal:
        """Remove the copies of the partitions that are needed no more, until they are gone for sure.

        Those of a partition that was brought back stay while a member of hot does not know that it was: a
        server that reads from that member finds the parts in cold alone. Raises LeaseLost, EnsembleError,
        AccessDenied.
        """
        ids = sorted(partition_ids)
        removed: dict[str, set[str]] = {}
        asked: set[str] = set()
        behind: dict[str, Refusal] = {}
        if not ids:
            return Removal(set(), behind, removed)
        for _attempt in range(_ATTEMPTS):
            shard, found = self._leased.look(ids)
            now = self._leased.taken_at
            unneeded = {each: unneeded_copies(shard, found[each], now, own=self._own) for each in ids}
            returned = [each for each in ids if unneeded[each] and was_brought_back(found[each].state)]
            if not asked.issuperset(returned):
                # And then another look, so that the removal goes by what was so after all had answered.
                behind.update(refuse_behind(self._leased.hot.store, self._layout, returned))
                asked.update(returned)
                continue
            unneeded = {each: [] if each in behind else parts for each, parts in unneeded.items()}
            for each, parts in unneeded.items():
                if parts:
                    removed.setdefault(each, set()).update(part.znode.path for part in parts)
            groups = [(each, removal(part)) for each, parts in unneeded.items() for part in parts]
            if self._cold.commit(groups).is_whole():
                gone = {each for each in removed if len(unneeded[each]) == len(found[each].cold_parts)}
                return Removal(gone, behind, removed)
        raise EnsembleError(
            f"Copies of partitions {first_few(ids)} of {self._layout.path} could not be removed from cold",
            remedy="They do no harm while the partitions stay in hot; run again to remove them",
        )

    def remove_own(self, partition_ids: Collection[str]) -> None:
        """Remove what this run created of partitions that never were cold, whatever else is there.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        names = {path: name for path, name in self._own.items() if name.partition_id in partition_ids}
        for _attempt in range(_ATTEMPTS):
            existing = self._read(names)
            if self._cold.commit([(path, removal(part)) for path, part in existing.items()]).is_whole():
                return
        raise EnsembleError(
            f"Copies under {self._layout.path} that this run made could not be removed from cold",
            remedy="They do no harm while their partitions stay in hot; run again to remove them",
        )

    def _read(self, names: Mapping[str, PartName]) -> dict[str, RegisteredPart]:
        self._cold.store.sync(self._layout.path)
        return {part.znode.path: part for part in read_parts(self._cold.store, sorted(names.items()))}


def _differences(
    wanted: Mapping[str, RegisteredPart], existing: Mapping[str, RegisteredPart]
) -> Iterator[tuple[str, list[Op]]]:
    """Path of each part whose copy is not as wanted, and the operations that make it so."""
    for path in sorted(existing.keys() - wanted.keys()):
        yield path, removal(existing[path])
    for path in sorted(wanted):
        part, copy = wanted[path], existing.get(path)
        if copy is None:
            yield path, creation(part)
        elif not copy.registers_as(part):
            yield path, [*removal(copy), *creation(part)]
