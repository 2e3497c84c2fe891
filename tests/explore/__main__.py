# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explores schedules of faults, as many as are asked for: ``make explore`` (options SEED and STEPS)."""

from __future__ import annotations

import os
import sys

from explore.explorer import explore, replay


def main() -> int:
    """Explore, or play the one schedule of SEED; returns the exit code."""
    seed, steps = os.environ.get("SEED", ""), int(os.environ.get("STEPS") or 1_000_000)
    if seed and not os.environ.get("STEPS"):
        return replay(int(seed))
    counts = explore(int(seed or 1), steps)
    print(counts)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
