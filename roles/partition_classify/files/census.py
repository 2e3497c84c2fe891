# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starts the census from files, with a package that build_package.py has made: ``python census.py SETTINGS``.

Where there is none, this script makes it by itself. Nothing but the standard library is needed.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().with_name("partition_classify.zip")


def main() -> int:
    """Take the census; the exit status is 0, 1 for what was refused, 2 for wrong arguments."""
    if find_spec("olap_partmove") is not None:
        return _run()
    if PACKAGE.exists():
        sys.path.insert(0, str(PACKAGE))
        return _run()
    from build_package import build  # noqa: PLC0415 - not there on the host of a play

    with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
        package = Path(folder, PACKAGE.name)
        build(package)
        sys.path.insert(0, str(package))
        return _run()


def _run() -> int:
    from partition_classify.census import main as run_census  # noqa: PLC0415 - found only now

    return run_census(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
