# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes copies that are equal to what they were made from, on every member of the cold ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..formats.names import PartName
from ..shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from ..side_by_side import side_by_side
from ..tree.portions import portions_of
from .compare import Comparison, CopyComparison
from .copies import ColdCopies
from .leased_shard import LeasedShard

PARTS_AT_ONCE = 4096
"""That are written while those before them are compared."""


def make_verified_copies(
    leased: LeasedShard,
    shard: ShardFacts,
    partitions: Mapping[str, PartitionFacts],
    own: dict[str, PartName],
) -> Comparison:
    """Copy the partitions and compare each copy, when its multi was applied, on each member.

    ``own`` is as `ColdCopies` has it. Raises as `ColdCopies.make` and `CopyComparison` do.
    """
    copies = ColdCopies(leased, own)
    comparison = CopyComparison(
        leased.cold.store.members(),
        _parts_of(partitions, sorted(partitions)),
        leased.layout,
        shard.metadata.format_version,
        leased.cold.lists,
    )
    sizes = {each: len(facts.hot_parts) for each, facts in partitions.items()}
    compare: list[Callable[[], None]] = []
    portion: Sequence[str] = ()
    for portion, _parts in portions_of(sorted(partitions), sizes, PARTS_AT_ONCE):
        make = partial(copies.make, shard, [partitions[each] for each in portion])
        steps: list[Callable[[], None]] = [make, *compare]
        side_by_side(_call, steps, 2)
        compare = [partial(comparison.add, _parts_of(partitions, portion))]
    return comparison.finish(_parts_of(partitions, portion))


def _call(what: Callable[[], None]) -> None:
    what()


def _parts_of(partitions: Mapping[str, PartitionFacts], partition_ids: Sequence[str]) -> list[RegisteredPart]:
    return [part for each in partition_ids for part in partitions[each].hot_parts]
