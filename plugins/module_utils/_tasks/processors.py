# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many processors this process may use: by its affinity, and by the CPU quotas of its control groups.

A container with two of 64 processors is usually limited by a quota. It sees all 64, and is stopped for the
rest of each period once the quota is used up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_ROOT = Path("/sys/fs/cgroup")


def usable_processors(groups: Path = _GROUPS, root: Path = _ROOT) -> int:
    """Return the number of processors, without fractions; 1 if the system does not tell.

    groups: lines with the control groups of this process, see cgroups(7). root: folder of all control groups.
    """
    try:
        allowed = len(os.sched_getaffinity(0))
    except (OSError, AttributeError):
        return 1
    return max(1, min([allowed, *map(int, _quotas(groups, root))]))


def _quotas(groups: Path, root: Path) -> Iterator[float]:
    """Yield the quota of each control group that limits this process, in processors."""
    for line in _lines(groups):
        rest = line.partition(":")[2]
        controllers, _colon, path = rest.partition(":")
        if not controllers:
            for folder in _above(root, path):
                yield from _quota(_words(folder / "cpu.max"))
        elif "cpu" in controllers.split(","):
            # Version 1 has one mount for each controller, under its own name or those of all of the mount.
            for mount in sorted({"cpu", controllers}):
                for folder in _above(root / mount, path):
                    period = _words(folder / "cpu.cfs_period_us")
                    yield from _quota(_words(folder / "cpu.cfs_quota_us") + period)


def _above(root: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a control group and all folders above it. Some containers have only the root."""
    folder = root / path.lstrip("/")
    yield folder
    for each in folder.parents if folder != root else ():
        yield each
        if each == root:
            break


def _quota(words: list[str]) -> Iterator[float]:
    """Yield ``[quota, period]`` in processors; nothing without a quota (``max`` or -1) or for other words."""
    if len(words) == 2 and all(each.isdigit() for each in words) and int(words[1]):
        yield int(words[0]) / int(words[1])


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
