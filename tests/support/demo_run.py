# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the demo as a person does, and checks what it shows with servers and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.ansible.calls import COLLECTIONS, ROOT


def play(folder: Path, *options: str) -> str:
    """Run the demo, check what it always shows, and return all that it has shown."""
    logs, scratch = folder / "logs", folder / "scratch"
    scratch.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "demo.demo", *options, "--logs", str(logs)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), str(ROOT / "tests")]),
            "TMPDIR": str(scratch),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "16 moved, 1 deferred, 0 failed, 0 unchanged" in done.stdout
    assert "20191213   HOT    r1 2, r2 2  -" in done.stdout
    assert "20191214   COLD   -           r1 1, r2 1" in done.stdout
    assert "All of that held" in done.stdout
    assert (logs / "3-move.log").exists()
    report = logs / "3-move-report" / "report.html"
    assert f"\n   {report}\n" in done.stdout
    assert "jason" in report.read_text(encoding="utf-8")
    assert [path.name for path in scratch.iterdir() if path.name.startswith("partmove")] == []
    return done.stdout
