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
    """The result of a removal of copies."""

    gone: set[str]
    """Ids of the partitions whose last copy is gone."""
    behind: Mapping[str, Refusal]
    """Partition id → refusal, if a member of hot has not caught up; the copies stay in cold."""
    removed: Mapping[str, set[str]]
    """Partition id → paths of the removed copies; a partition without removed copies is no key."""


class ColdCopies:
    """The copies of one shard path, written under one lease.

    ``own``: path → name of copies on which no other run relies, for example copies created by this run under
    this lease or an earlier lease. `make` adds the copies it creates.
    """

    def __init__(self, leased: LeasedShard, own: dict[str, PartName]) -> None:
        self._leased = leased
        self._cold = leased.cold
        self._layout = leased.layout
        self._own = own

    def make(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> None:
        """Make the copies of the partitions equal to the part znodes in hot; hot is authoritative.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        folders = [self._layout.replica(each.name).parts for each in shard.replicas]
        if not self._cold.had(folders):
            self._cold.ensure(folders)
        originals = {part.znode.path: part for each in partitions for part in each.hot_parts}
        existing = {part.znode.path: part for each in partitions for part in each.cold_parts}
        names = {path: part.name for path, part in (*originals.items(), *existing.items())}
        # Before the write: some copies may exist even if the answer never comes.
        self._own.update({path: names[path] for path in originals.keys() - existing.keys()})
        for _attempt in range(_ATTEMPTS):
            if self._cold.commit(_differences(originals, existing)).is_whole():
                return
            self._cold.ensure(folders)
            existing = self._read(names)
        raise EnsembleError(
            f"The copies under {self._layout.path} did not stay as written in the cold ensemble",
            remedy="Find out which other program writes there, stop it, and run again",
        )

    def remove_unneeded(self, partition_ids: Collection[str]) -> Removal:
        """Remove the unneeded copies of the partitions, and retry until they are certainly gone.

        The copies of a partition that was brought back stay while a member of hot has not applied its return:
        a server that reads from this member finds the parts in cold alone. Raises LeaseLost, EnsembleError,
        AccessDenied.
        """
        ids = sorted(partition_ids)
        removed: dict[str, set[str]] = {}
        asked: set[str] = set()
        behind: dict[str, Refusal] = {}
        if not ids:
            return Removal(set(), behind, removed)
        for _attempt in range(_ATTEMPTS):
            shard, partitions = self._leased.read(ids)
            now = self._leased.taken_at
            unneeded = {each: unneeded_copies(shard, partitions[each], now, own=self._own) for each in ids}
            returned = [each for each in ids if unneeded[each] and was_brought_back(partitions[each].state)]
            if not asked.issuperset(returned):
                # Read again afterwards: the removal must rest on facts newer than the members' answers.
                behind.update(refuse_behind(self._leased.hot.store, self._layout, returned))
                asked.update(returned)
                continue
            unneeded = {each: [] if each in behind else parts for each, parts in unneeded.items()}
            for each, parts in unneeded.items():
                if parts:
                    removed.setdefault(each, set()).update(part.znode.path for part in parts)
            groups = [(each, removal(part)) for each, parts in unneeded.items() for part in parts]
            if self._cold.commit(groups).is_whole():
                gone = {each for each in removed if len(unneeded[each]) == len(partitions[each].cold_parts)}
                return Removal(gone, behind, removed)
        raise EnsembleError(
            f"Copies of partitions {first_few(ids)} of {self._layout.path} could not be removed from cold",
            remedy="Run again to remove them; the copies do no harm while the partitions stay in hot",
        )

    def remove_own(self, partition_ids: Collection[str]) -> None:
        """Remove the copies created by this run, for partitions that never were cold, without other reads.

        Raises LeaseLost, EnsembleError, AccessDenied.
        """
        names = {path: name for path, name in self._own.items() if name.partition_id in partition_ids}
        for _attempt in range(_ATTEMPTS):
            existing = self._read(names)
            if self._cold.commit([(path, removal(part)) for path, part in existing.items()]).is_whole():
                return
        raise EnsembleError(
            f"Copies under {self._layout.path} that this run made could not be removed from cold",
            remedy="Run again to remove them; the copies do no harm while their partitions stay in hot",
        )

    def _read(self, names: Mapping[str, PartName]) -> dict[str, RegisteredPart]:
        self._cold.store.sync(self._layout.path)
        return {part.znode.path: part for part in read_parts(self._cold.store, sorted(names.items()))}


def _differences(
    originals: Mapping[str, RegisteredPart], existing: Mapping[str, RegisteredPart]
) -> Iterator[tuple[str, list[Op]]]:
    """Yield the path of each missing, surplus or different copy, with the operations to correct it."""
    for path in sorted(existing.keys() - originals.keys()):
        yield path, removal(existing[path])
    for path in sorted(originals):
        part, copy = originals[path], existing.get(path)
        if copy is None:
            yield path, creation(part)
        elif not copy.registers_as(part):
            yield path, [*removal(copy), *creation(part)]
