# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How old the registered parts of an ensemble are, for the most that moves of cold partitions can gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .counts import Counts, total_of

AGES_IN_DAYS = (30, 90, 365)
_DAY = 86_400_000
"""A day in milliseconds."""


class OldParts(NamedTuple):
    """The znodes of parts that were registered at least so many calendar days (UTC) ago."""

    days: int
    counts: Counts


class PartAges:
    """Counts znodes of parts by the day of their creation. Needs memory for each day, not for each part."""

    def __init__(self) -> None:
        self._of_day: dict[int, Counts] = {}

    def add(self, ctime: int, size: int) -> None:
        """Count a znode of ``size`` bytes. ``ctime``: its creation, in milliseconds since 1970."""
        day = ctime // _DAY
        counts = self._of_day.get(day)
        if counts is None:
            counts = self._of_day[day] = Counts()
        counts.znodes += 1
        counts.bytes += size

    def at_least(self, ages: Sequence[int], now: int) -> list[OldParts]:
        """Return the sums for each age in calendar days (UTC). ``now``: in milliseconds since 1970."""
        today = now // _DAY
        return [
            OldParts(age, total_of(counts for day, counts in self._of_day.items() if today - day >= age))
            for age in ages
        ]
