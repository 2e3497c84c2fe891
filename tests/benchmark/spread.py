# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One figure of several runs."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable
from typing import NamedTuple

RUNS = int(os.environ.get("RUNS") or 5)
"""How many runs a figure is the median of."""


class Spread(NamedTuple):
    """The median of what was measured, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """That of at least one value."""
        ordered = sorted(values)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])

    def __format__(self, spec: str) -> str:
        """All three, each as the format says."""
        median, lowest, highest = (format(each, spec) for each in self)
        return f"{median} ({lowest} to {highest})"
