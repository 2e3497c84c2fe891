# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Splits the partitions of a run into memory batches and paced batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

MOST_PARTITIONS = 16_384
"""The partitions of a memory batch. Every memory batch of a shard path has a lease of its own."""


def memory_batches(partition_ids: Collection[str]) -> Iterator[list[str]]:
    """Yield the partition ids sorted and without duplicates, in batches whose data fits into memory."""
    ordered = sorted(set(partition_ids))
    for begin in range(0, len(ordered), MOST_PARTITIONS):
        yield ordered[begin : begin + MOST_PARTITIONS]


def paced_batches(
    partition_ids: Sequence[str], parts: Mapping[str, int], most: int
) -> Iterator[tuple[list[str], int]]:
    """Yield the partition ids in order, in batches of at most ``most`` parts, with the parts of each batch.

    A partition is never split, so a single partition may exceed ``most``.

    parts: partition id → number of parts. A missing partition, or a partition without parts, counts as one
    part.
    """
    batch: list[str] = []
    total = 0
    for each in partition_ids:
        count = max(1, parts.get(each, 1))
        if batch and total + count > most:
            yield batch, total
            batch, total = [], 0
        batch.append(each)
        total += count
    if batch:
        yield batch, total
