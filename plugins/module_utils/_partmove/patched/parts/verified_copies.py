# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes copies equal to their originals on every member of the cold ensemble."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from ...formats.names import PartName
from ...run.batches import paced_batches
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts
from .compare import Comparison, CopyComparison
from .copies import ColdCopies
from .leased_shard import LeasedShard

PARTS_AT_ONCE = 4096
"""Parts written while the batch before them is compared."""


def make_verified_copies(
    leased: LeasedShard,
    shard: ShardFacts,
    partitions: Mapping[str, PartitionFacts],
    own: dict[str, PartName],
) -> Comparison:
    """Copy the partitions and compare each copy, after its multi was applied, on each member.

    ``own`` is as in `ColdCopies`. Raises as `ColdCopies.make` and `CopyComparison` do.
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
    compared: deque[Future[None]] = deque()
    made: list[RegisteredPart] = []
    with ThreadPoolExecutor(1) as pool:
        for batch, _parts in paced_batches(sorted(partitions), sizes, lambda: PARTS_AT_ONCE):
            if made:
                compared.append(pool.submit(comparison.add, made))
            while len(compared) > 1:
                compared.popleft().result()
            copies.make(shard, [partitions[each] for each in batch])
            made = _parts_of(partitions, batch)
        for each in compared:
            each.result()
    return comparison.finish(made)


def _parts_of(partitions: Mapping[str, PartitionFacts], partition_ids: Sequence[str]) -> list[RegisteredPart]:
    return [part for each in partition_ids for part in partitions[each].hot_parts]
