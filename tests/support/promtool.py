# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program with which Prometheus checks rules and metrics."""

from __future__ import annotations

import shutil
import subprocess

import pytest

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="there is no promtool here, which is in Debian's prometheus"
)
"""For tests that run it."""


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program. text: its standard input."""
    return subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False)
