# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program as a person starts it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import build_package

SCRIPT = build_package.HERE / "classify.py"


def test_python_without_the_packages_is_told_what_is_missing(tmp_path: Path) -> None:
    """-S leaves out the installed packages of this Python."""
    run = subprocess.run(
        [sys.executable, "-S", str(SCRIPT)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.returncode == 1
    assert re.fullmatch(r"partition_classify: \S+ has no Python package \w+\. Install [^\n]+\n", run.stderr)
