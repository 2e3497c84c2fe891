# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory of this process."""

from __future__ import annotations

from pathlib import Path


def memory_mb(field: str) -> float:
    """Return VmRSS, what it has now, or VmHWM, the most it ever had; in MiB.

    Not ru_maxrss of getrusage: that begins with the peak of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (size,) = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(size) / 1024
