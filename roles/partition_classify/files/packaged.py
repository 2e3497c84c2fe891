# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a standard-library-only program of the package partition_classify.

Uses the zip of build_package.py; builds a temporary one if missing.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().with_name("partition_classify.zip")


def run(module: str) -> int:
    """Call ``main`` of a module of the package with the command line; return the exit status."""
    if find_spec("olap_partmove") is not None:
        return _run(module)
    if PACKAGE.exists():
        sys.path.insert(0, str(PACKAGE))
        return _run(module)
    from build_package import build  # noqa: PLC0415 - missing on the host of a play

    with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
        package = Path(folder, PACKAGE.name)
        build(package)
        sys.path.insert(0, str(package))
        return _run(module)


def _run(module: str) -> int:
    status: int = import_module(f"partition_classify.{module}").main(sys.argv[1:])
    return status
