# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program as a user starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import build_package
from support.classify.hidden import hiding

SCRIPT = build_package.HERE / "classify.py"


def test_missing_packages_are_named(tmp_path: Path) -> None:
    """-S leaves out the installed packages of this Python."""
    run = subprocess.run(
        [sys.executable, "-S", str(SCRIPT)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.returncode == 1
    assert re.fullmatch(
        r"partition_classify failed: \S+ has no Python packages pyspark, py4j, pyarrow, pandas, kazoo, yaml\."
        r" Install [^\n]+\n",
        run.stderr,
    )


@pytest.mark.parametrize("package", ["pyarrow", "pandas"])
def test_packages_of_workers_are_checked_too(tmp_path: Path, package: str) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | hiding(tmp_path, package),
    )
    assert run.returncode == 1
    assert run.stderr.startswith(
        f"partition_classify failed: {sys.executable} has no Python package {package}. Install "
    )
