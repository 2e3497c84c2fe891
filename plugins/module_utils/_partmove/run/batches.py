# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Splits the partitions of a run into memory batches and paced batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

MOST_PARTITIONS = 16_384
"""The partitions of a memory batch. Every memory batch of a shard path has a lease of its own."""

FIRST_PARTS = 10_000
LEAST_PARTS = 500
"""The fewest parts of a paced batch, as each one begins with about twenty requests."""
BATCH_SECONDS = 2.0


def memory_batches(partition_ids: Collection[str]) -> Iterator[list[str]]:
    """Yield the partition ids sorted and without duplicates, in batches whose data fits into memory."""
    ordered = sorted(set(partition_ids))
    for begin in range(0, len(ordered), MOST_PARTITIONS):
        yield ordered[begin : begin + MOST_PARTITIONS]


class BatchLimit:
    """The most parts of the next paced batch, so that a batch takes about ``BATCH_SECONDS``.

    A run can pause only between paced batches, and copies wait for the switch until all of their batch are
    verified.
    """

    def __init__(self, most: int) -> None:
        """``most``: the limit, however fast the run is."""
        self._most = most
        self._parts = min(most, FIRST_PARTS)

    def parts(self) -> int:
        """Return the most parts of the next batch."""
        return self._parts

    def took(self, parts: int, seconds: float) -> None:
        """Adapt to the duration of a batch."""
        if seconds > 0:
            self._parts = min(self._most, max(LEAST_PARTS, int(parts * BATCH_SECONDS / seconds)))


def paced_batches(
    partition_ids: Sequence[str], parts: Mapping[str, int], most: Callable[[], int]
) -> Iterator[tuple[list[str], int]]:
    """Yield the partition ids in order, in batches, with the parts of each batch.

    most: returns the most parts of the next batch. A partition is never split, so a single partition may
    exceed it.

    parts: partition id → number of parts. A missing partition, or a partition without parts, counts as one
    part.
    """
    batch: list[str] = []
    total = 0
    for each in partition_ids:
        count = max(1, parts.get(each, 1))
        if batch and total + count > most():
            yield batch, total
            batch, total = [], 0
        batch.append(each)
        total += count
    if batch:
        yield batch, total
