# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pythons that lack a package which the Python of the tests has."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def hiding(folder: Path, package: str) -> dict[str, str]:
    """Variables with which any Python starts without the package; the folder keeps what sees to it."""
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    path = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{path}" if path else str(folder)}


def python_without(folder: Path, package: str) -> Path:
    """A program that is this Python without the package."""
    (found,) = hiding(folder, package).items()
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{found[0]}='{found[1]}' exec '{sys.executable}' \"$@\"\n")
    program.chmod(0o755)
    return program
