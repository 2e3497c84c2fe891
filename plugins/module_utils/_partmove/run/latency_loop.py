# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much a run may have in progress at a server, adapted to the latency that others get.

The control is that of LEDBAT (RFC 6817), which lets a background transfer give way to all others: what counts
is the delay above the latency without load. The size grows while the delay is below a target, and shrinks
while it is above.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_GROWTH = 0.15
_DECREASE = 0.25
_LATENCIES = 10
_USUAL_LATENCIES = 20


class Sizes(NamedTuple):
    """The size at first, the smallest, and the largest."""

    first: float
    least: float
    most: float


class LatencyLoop:
    """The size of what is in progress for a delay of ``target`` seconds; knows neither clock nor server.

    What counts is the second largest of the last ten delays, because the target is for nearly all requests of
    others: a large request delays only what comes behind it. The largest one may be a pause of a server, and
    has no effect alone.

    - Above the target, each late answer divides the size by its delay in units of the target, at most by 4.
    - Below the target, each answer multiplies the size, by 1.15 without any delay. A size that is not used
      does not grow: no delay proves nothing about it.
    """

    def __init__(self, first: Sequence[float], target: float, sizes: Sizes) -> None:
        """Start with the latencies before the run adds load.

        first, target: in seconds.
        """
        self._target = target
        self._sizes = sizes
        self._usual = median(first)
        self._recent: deque[float] = deque(first, _USUAL_LATENCIES)
        self.size = float(sizes.first)
        """How much may be in progress, in the unit of ``sizes``."""

    def add(self, latency: float, in_progress: float) -> None:
        """Adapt to a latency in seconds, with at most so much in progress since the last one."""
        self._recent.append(latency)
        # Smaller, if the run began while the server was slow.
        self._usual = min(self._usual, median(self._recent))
        delay = (latency - self._usual) / self._target
        most = (sorted([*self._recent][-_LATENCIES:])[-2] - self._usual) / self._target
        factor = 1.0
        if most > 1:
            factor = max(_DECREASE, 1 / max(1.0, delay))
        elif in_progress >= self.size / 2:
            factor += _GROWTH * min(1.0, 1 - most)
        self.size = min(float(self._sizes.most), max(float(self._sizes.least), self.size * factor))
