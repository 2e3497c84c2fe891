# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""On how many shard paths a run works at the same time, if the user does not say."""

from __future__ import annotations

from collections.abc import Callable

MOST_WORKERS = 64
_USUAL_WORKERS = 16
_WORKERS_PER_SECOND = 5_000
"""Workers for each second that an ensemble takes to answer: so many keep the process computing. A shard path
with one partition waits for about sixteen answers, and takes 3 ms of computation."""
_PARTITIONS_AT_ONCE = 20_000
"""Limit for the partitions of all shard paths in progress."""


def worker_count(shard_paths: int, largest: int, distance: Callable[[], float], *, processes: int = 1) -> int:
    """Return the number of workers, at least one.

    largest: number of partitions of the shard path with the most, as far as known. distance: returns the
    seconds until the slowest ensemble answers; only called if the number depends on it. processes: number of
    processes with workers, which share the memory and the most workers of a run.
    """
    most = max(1, min(_PARTITIONS_AT_ONCE // processes // max(1, largest), shard_paths))
    if most <= _USUAL_WORKERS:
        return most
    limit = max(_USUAL_WORKERS, MOST_WORKERS // processes)
    return min(most, limit, max(_USUAL_WORKERS, round(distance() * _WORKERS_PER_SECOND)))
