# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine that a benchmark runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def this_machine() -> str:
    """One line that figures are printed with, and what load there is besides them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, Python {platform.python_version()}, load"
        f" average {os.getloadavg()[0]:.2f}; servers and clients share them."
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
