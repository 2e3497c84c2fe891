# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The jobs of a run that moves partitions, one for each shard path, and their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from .move_tally import PartitionTally
from .workers import Finished, look_ahead

LOOKED_AHEAD = 2
"""Groups of shard paths that are looked at ahead: one group is computed while another waits for answers."""

_MOST_SHARD_PATHS = 250
_MOST_PARTITIONS = 20_000
"""Of the jobs that are looked at together, unless a single one has more."""

_Tally = TypeVar("_Tally", bound=PartitionTally[Any])


class Job(NamedTuple):
    """A shard path to work on."""

    shard_path: str
    partitions: list[str] | None
    """None to find them; an empty list if none is to be moved."""


@dataclass
class Done(Generic[_Tally]):
    """The result of one shard path."""

    shard_path: str
    tally: _Tally
    found: int = 0
    """Number of partitions found, where a whole shard path was given."""
    unreadable: str = ""
    """Why the partitions of the shard path cannot be listed."""
    error: BaseException | None = None
    """The error that ended the work."""


def jobs_or_results(
    jobs: Iterable[Job],
    find_finished: Callable[[Mapping[str, list[str]]], Collection[str]],
    finish: Callable[[Job], Done[_Tally]],
    *,
    threads: int,
) -> Iterator[Job | Finished[Done[_Tally]]]:
    """Yield the jobs in order; in place of those with nothing to do, their results.

    find_finished: given shard path → partitions, returns the shard paths with nothing to do. Called for many
    shard paths together, ahead of their turn. threads: as in `look_ahead`.
    """

    def look(together: Sequence[Job]) -> Collection[str]:
        return find_finished({path: partitions for path, partitions in together if partitions})

    for together, finished in look_ahead(_together(jobs), look, threads=threads):
        together.reverse()
        # A local variable here would keep the partitions in memory while they are moved.
        while together:
            is_finished = together[-1].shard_path in finished
            yield Finished(finish(together.pop())) if is_finished else together.pop()


def _together(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Yield the jobs in order, as many at once as may be looked at together."""
    together: list[Job] = []
    partitions = 0
    for job in jobs:
        together.append(job)
        partitions += len(job.partitions or ())
        # The variable would keep the partitions in memory while they are moved.
        del job
        if len(together) == _MOST_SHARD_PATHS or partitions >= _MOST_PARTITIONS:
            yield together
            together, partitions = [], 0
    if together:
        yield together
