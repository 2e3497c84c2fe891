# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divides the partitions of a run into those that are worked on together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

MOST_PARTITIONS = 16_384
"""That one run has in mind. What more a shard path has is for runs after it, each under its own lease."""


def memory_batches(partition_ids: Collection[str]) -> Iterator[list[str]]:
    """Give the partitions sorted, each once, so few at a time that what is read of them fits into memory."""
    ordered = sorted(set(partition_ids))
    for begin in range(0, len(ordered), MOST_PARTITIONS):
        yield ordered[begin : begin + MOST_PARTITIONS]


def paced_batches(
    partition_ids: Sequence[str], parts: Mapping[str, int], most: int
) -> Iterator[tuple[list[str], int]]:
    """Give the partitions in their order, together as long as they have so many parts at most.

    A partition is never divided. parts: how many each has; one that is no key, or has none, counts as one.
    With each portion comes how many parts that makes.
    """
    portion: list[str] = []
    total = 0
    for each in partition_ids:
        count = max(1, parts.get(each, 1))
        if portion and total + count > most:
            yield portion, total
            portion, total = [], 0
        portion.append(each)
        total += count
    if portion:
        yield portion, total
