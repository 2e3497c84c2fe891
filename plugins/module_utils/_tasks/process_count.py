# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many processes a run has, and which part of its work and of its limits each of them gets."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

from .._partmove.errors import PartMoveError

MOST_PROCESSES = 16
"""A process has up to three connections with one member, and servers allow 60 from one address by default."""

_MOST_CHOSEN = 8
_SHARD_PATH_PARTITIONS = 6
"""A shard path takes computing time of its own, as much as so many partitions."""
_PARTITIONS_EACH = 1_500
"""Work for which a process is worth its sessions: about a second."""
_PARTS_PER_SECOND_EACH = 1_000
"""One process keeps up with a limit of so many parts."""


def process_option(given: str) -> int:
    """Return the option ``processes``, 0 for ``auto``. Raises PartMoveError for another text."""
    if given == "auto":
        return 0
    number = int(given) if given.isascii() and given.isdigit() else 0
    if not 1 <= number <= MOST_PROCESSES:
        raise PartMoveError(
            f"processes is {given!r}",
            remedy=f"Give 1 to {MOST_PROCESSES}, or auto to choose by the processors and the amount of work",
        )
    return number


def processes_for(
    given: int, partitions: Sequence[int], *, workers: int, parts_per_second: int, processors: int
) -> int:
    """Return the number of processes for a run, 1 for a run without further processes.

    given: 0 to choose. partitions: number of partitions of each shard path. workers, parts_per_second: limits
    to divide, 0 for none. Raises PartMoveError for a given number with a smaller limit: each process needs
    one worker and one part per second.
    """
    most = max(1, len(partitions))
    if given:
        for name, limit in (("workers", workers), ("max_parts_per_second", parts_per_second)):
            if 0 < limit < given:
                raise PartMoveError(
                    f"processes is {given} and {name} is {limit}, which is divided among them",
                    remedy=f"Give at most {limit} processes, or the processes auto",
                )
        return min(given, most)
    work = len(partitions) * _SHARD_PATH_PARTITIONS + sum(partitions)
    limits = [most, processors, _MOST_CHOSEN, work // _PARTITIONS_EACH]
    limits += [workers] if workers else []
    limits += [-(-parts_per_second // _PARTS_PER_SECOND_EACH)] if parts_per_second else []
    return max(1, min(limits))


def divided(partitions: Sequence[int], processes: int) -> list[list[int]]:
    """Return the indices of the shard paths of each process, ascending: about equal work for each.

    The largest shard paths are given out first, each to the process with the least work.
    """
    shares: list[list[int]] = [[] for _process in range(processes)]
    loads = [(0, number) for number in range(processes)]
    heapify(loads)
    for index in sorted(range(len(partitions)), key=lambda each: -partitions[each]):
        load, number = loads[0]
        shares[number].append(index)
        heapreplace(loads, (load + _SHARD_PATH_PARTITIONS + partitions[index], number))
    return [sorted(share) for share in shares]


def part_of(total: int, number: int, processes: int) -> int:
    """Return the part of a limit for the process with this number, counted from 0; 0 if there is no limit."""
    return total // processes + (number < total % processes)
