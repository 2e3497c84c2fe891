# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Predicts how long a run of part_move takes.

A run has a start, and then works on several shard paths at a time. Three limits hold for this work, and the
largest of them is the prediction:

- what all shard paths share adds up: only one thread of a process computes at a time, and the operations in
  flight to an ensemble are limited for the whole run;
- waiting: each shard path waits for answers one after another, and each worker waits for one shard path;
- the largest shard path, whose steps come one after another.

``make bench WHAT=growth`` measures moves, fits the constants, and checks the predictions. A prediction
excludes answers of ClickHouse servers, locks of other runs, pauses, and the limit ``max_parts_per_second``.
"""

from __future__ import annotations

from typing import NamedTuple

from .worker_count import worker_count


class Work(NamedTuple):
    """The content of a run: partitions to move, on one or more shard paths."""

    shard_paths: int
    """Number of shard paths with a partition to move."""
    parts: float
    """Parts to move, over all replicas, as `weight_of` counts them."""
    largest: float
    """Of ``parts``: those of the shard path with the most."""
    largest_partitions: int
    """Partitions to move of the shard path with the most."""
    is_first: bool
    """Whether no run has moved partitions of these shard paths before."""


class Speed(NamedTuple):
    """The constants of the model: seconds of work, and round trips to the ensembles for which it waits."""

    start: float
    start_round_trips: float
    shard_path: float
    shard_path_round_trips: float
    binding: float
    """Further seconds for a shard path of which no partition was moved before."""
    binding_round_trips: float
    part: float
    part_round_trips: float
    """Less than one, as a request has many parts and many requests are in flight."""

    def seconds(self, work: Work, round_trip: float) -> float:
        """Return the predicted duration; 0.0 without work.

        round_trip: seconds from a request to its answer, by the network alone, to the farther ensemble.
        """
        if not work.shard_paths:
            return 0.0
        path, path_waits = self.shard_path, self.shard_path_round_trips
        if work.is_first:
            path, path_waits = path + self.binding, path_waits + self.binding_round_trips
        part, part_waits = self.part, self.part_round_trips
        part += round_trip * part_waits
        shared = work.shard_paths * path + work.parts * part
        waiting = shared + round_trip * work.shard_paths * path_waits
        largest = path + work.largest * part + round_trip * path_waits
        start = self.start + round_trip * self.start_round_trips
        workers = worker_count(work.shard_paths, work.largest_partitions, lambda: round_trip)
        return start + max(shared, waiting / workers, largest)


FULL_SPEED = Speed(0.237, 86.0, 0.0162, 0.0186, 0.012, 8.44, 0.000169, 0.00225)
"""With ``latency_target`` 0."""
WITH_TARGET = Speed(0.136, 98.9, 0.0219, 0.0967, 0.0047, 14.8, 0.000246, 0.04)
"""With the default ``latency_target`` of 5 ms."""


def weight_of(parts: int, znodes: int) -> float:
    """Return how many parts of one znode cost as much as these parts with all of their znodes.

    Legacy parts have three znodes each, and cost twice as much as a part of one znode.

    >>> weight_of(1000, 1000), weight_of(1000, 3000)
    (1000.0, 2000.0)
    """
    return parts + max(0, znodes - parts) / 2
