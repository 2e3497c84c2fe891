# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides how a partition is repaired: which of its parts hold no row that only they have.

The decision never removes the only copy of a row: a table gives up parts if the other table has each of their
rows as often. Repeated after a killed run, the decision is the same, whatever the run had done.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ..move.tables import Side
from .doubtful import Doubtful
from .report import LeftAsIs
from .servers import RowCounts


class Way(Enum):
    """What a repair does with the doubtful parts of a partition."""

    NOTHING = "nothing"
    DETACH_HOT = "detach_hot"
    DETACH_COLD = "detach_cold"
    BUILD = "build"


WHAT: Mapping[Way, str] = {
    Way.NOTHING: "no row is in both tables",
    Way.DETACH_HOT: "the twin has each row of these parts of the table, which were detached",
    Way.DETACH_COLD: "the table has each row of these parts of the twin, which were detached",
    Way.BUILD: "rows that only the table had were added to the twin, and parts of the table were detached",
}
"""Way → what was done, for people."""


def way_of(doubtful: Doubtful, counts: RowCounts | None, destination: Side) -> Way:
    """Return the way for a partition. Raises LeftAsIs if rows would stay double in one of the tables.

    counts: None if one of the tables has no doubtful part. destination: the table that keeps equal rows.
    """
    if counts is not None and doubtful.most is not None and counts.both > doubtful.most:
        raise LeftAsIs(
            f"{counts.both:,} rows of the table have the values of rows in the twin, and only"
            f" {doubtful.most:,} of them can be the same rows: the others came later, and were merged",
            "Nothing was changed. Manual action: see docs/twin/repair.md",
        )
    # If no two rows of the twin are the same, no clone is there twice.
    problem = doubtful.problem if counts is None or counts.cold_repeats else ""
    if counts is None or not counts.both:
        if problem:
            raise _unexplained(problem)
        if counts is not None and doubtful.hot:
            _refuse_mutated(doubtful)
        return Way.NOTHING
    cold_is_covered = not counts.cold_only
    if destination is Side.HOT and cold_is_covered:
        return Way.DETACH_COLD
    if not counts.hot_only and not problem:
        return Way.DETACH_HOT
    if cold_is_covered or (doubtful.are_clones and not counts.cold_new):
        return Way.DETACH_COLD
    if problem:
        raise _unexplained(problem)
    _refuse_mutated(doubtful)
    return Way.BUILD


def is_proven(way: Way, doubtful: Doubtful, counts: RowCounts) -> bool:
    """Whether these counts, of another replica or after the rows were added, prove that nothing is lost."""
    if way is Way.DETACH_COLD:
        return not counts.cold_only or (doubtful.are_clones and not counts.cold_new)
    return not counts.hot_only


def _refuse_mutated(doubtful: Doubtful) -> None:
    """Raise LeftAsIs if a mutation may be the reason why rows of the two tables differ."""
    if doubtful.is_mutated:
        raise LeftAsIs(
            "a mutation has rewritten rows since the move began, so that the same rows may differ",
            "Execute the same mutation on the other table, if it was not (system.mutations), and run"
            " twin_repair again",
        )


def _unexplained(problem: str) -> LeftAsIs:
    return LeftAsIs(
        problem,
        "Find out who wrote the rows (system.part_log), and drop by name the parts that are there twice, then"
        " run twin_repair again",
    )
