# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time of processors that processes took, which depends less than seconds on what else runs."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from pathlib import Path


def cpu_seconds() -> float:
    """Of this process so far, and of its child processes that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def cpu_seconds_of(pids: Iterable[int]) -> float:
    """Of other processes so far, all of them together."""
    ticks = 0
    for pid in pids:
        # The name of the program, in brackets, may have blanks.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
