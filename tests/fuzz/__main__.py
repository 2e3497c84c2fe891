# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The long form: ``make fuzz``, with SEED, INPUTS (for each parser), FIRST and ONLY from the environment."""

from __future__ import annotations

import os
import sys
import time

from .run import Failure, all_targets, fuzz

DEFAULT_INPUTS = 2_000


def main() -> int:
    """Print a line for each parser and the sum; returns the exit status."""
    seed = int(os.environ.get("SEED") or time.time())
    inputs = int(os.environ.get("INPUTS") or DEFAULT_INPUTS)
    first = int(os.environ.get("FIRST") or 0)
    only = os.environ.get("ONLY")
    targets = [each for each in all_targets() if only in (None, "", each.name)]
    if not targets:
        sys.exit(f"fuzz: ONLY is {only!r}, known are: {', '.join(each.name for each in all_targets())}")
    total = 0
    print(f"seed {seed}, {inputs} inputs for each of {len(targets)} parsers", flush=True)
    try:
        for count in fuzz(targets, seed, range(first, first + inputs)):
            print(count, flush=True)
            total += count.taken + count.refused
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"{total} inputs to {len(targets)} parsers, all taken or refused in a sentence")
    return 0


if __name__ == "__main__":
    sys.exit(main())
