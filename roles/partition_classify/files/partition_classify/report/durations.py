# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Predicted durations of the moves of a plan with patched servers; the method is in docs/sizing.md."""

from __future__ import annotations

from typing import NamedTuple

from olap_partmove._partmove.run.duration import FULL_SPEED, WITH_TARGET, Work, weight_of

from .figures import DurationFigures

ROUND_TRIPS_MS = (0.5, 2.0, 5.0, 10.0, 20.0)
"""Distances that the report shows: one room, one town, one country, and farther."""


class Volume(NamedTuple):
    """What can go now with patched servers."""

    shard_paths: int
    """Number of shard paths with such partitions."""
    partitions: int
    parts: int
    znodes: int
    largest_partitions: int
    """The most partitions of a shard path."""
    largest_parts: int
    largest_znodes: int


def durations_of(volume: Volume) -> tuple[DurationFigures, ...]:
    """Return the predictions for the first move and for daily runs; none without a partition to move."""
    if not volume.partitions:
        return ()
    parts = weight_of(volume.parts, volume.znodes)
    largest = weight_of(volume.largest_parts, volume.largest_znodes)
    each = parts / volume.partitions
    first = Work(volume.shard_paths, parts, largest, volume.largest_partitions, is_first=True)
    daily = Work(volume.shard_paths, each * volume.shard_paths, each, 1, is_first=False)
    return tuple(
        DurationFigures(
            milliseconds,
            *(
                round(speed.seconds(work, milliseconds / 1000), 1)
                for work in (first, daily)
                for speed in (WITH_TARGET, FULL_SPEED)
            ),
        )
        for milliseconds in ROUND_TRIPS_MS
    )
