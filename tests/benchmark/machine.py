# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine that a benchmark runs on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

ADDITIONS = 10_000_000


def this_machine() -> str:
    """One line that figures are printed with: the machine, the speed of a core, and the load of others."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, Python {platform.python_version()}, load"
        f" average {os.getloadavg()[0]:.2f}; servers and clients share them."
        f" {ADDITIONS:,} additions in Python take {addition_seconds():.2f} CPU seconds."
    )


def addition_seconds() -> float:
    """CPU seconds of a loop, to compare figures of several machines, or of one that is not always as fast."""
    begin, total = time.process_time(), 0
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - begin


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
