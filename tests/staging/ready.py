# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Says whether hosts can be booted on this machine, and if so builds what they are made of.

It imports the standard library alone, so that it can be done while packages are installed.
"""

from __future__ import annotations

import sys

from .base import base
from .machine import StagingError, obstacle


def main() -> int:
    """Return the exit status: 1 with one sentence on standard error when something could not be done."""
    reason = obstacle()
    if reason is not None:
        print(f"staging: NOT RUN: the scenarios of extensions/molecule, because {reason}")
        return 0
    print("staging: hosts can be booted on this machine; their base is built if it is missing", flush=True)
    try:
        base()
    except StagingError as error:
        print(f"staging: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
