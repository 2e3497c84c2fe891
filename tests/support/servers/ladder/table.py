# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the tests of the ladder with each version, and prints what came of them as a table.

Usage: python -m support.servers.ladder.table [VERSION …], such as 24.5 26.9; without any, all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from support.servers.downloads import NotToBeHad
from support.servers.ladder.rungs import RUNGS, rung
from support.servers.modern.server import ENGINE

ROOT = Path(__file__).resolve().parents[4]
REPORTS = ROOT / "build" / "ladder"
_WORKERS = "4"
_MARK = "pytest.mark.ladder"
_HEAD = "| ClickHouse | Tests | Passed | Failed | Skipped | Seconds | MB |\n|---|---|---|---|---|---|---|"
SERVER_MB = "server_mb"
"""The property of a test in a report: the most memory that a server of it has had so far, in MB."""


class Row(NamedTuple):
    """What came of the tests of a file with a version.

    The seconds are those of the tests together, the MB those of the server that had most memory.
    """

    version: str
    file: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    mb: float

    def __str__(self) -> str:
        """A row of a table in Markdown."""
        return (
            f"| {self.version} | `{self.file}` | {self.passed} | {self.failed} | {self.skipped}"
            f" | {self.seconds:.0f} | {self.mb:.0f} |"
        )


def files_of_the_ladder() -> list[str]:
    """The files whose tests run with each version, from the root of the repository."""
    found = (ROOT / "tests").rglob("test_*.py")
    return sorted(str(path.relative_to(ROOT)) for path in found if _MARK in path.read_text(encoding="utf-8"))


def rows_of(version: str, report: Path) -> list[Row]:
    """The rows of a report that pytest wrote as JUnit XML, by file."""
    counts: dict[str, Counter[str]] = {}
    seconds: dict[str, float] = {}
    peaks: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").rpartition(".")[2] + ".py"
        outcome = next((each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed")
        counts.setdefault(file, Counter())[outcome] += 1
        seconds[file] = seconds.get(file, 0.0) + float(case.get("time", 0))
        peak = (
            float(each.get("value", 0)) for each in case.iter("property") if each.get("name") == SERVER_MB
        )
        peaks[file] = max(peaks.get(file, 0.0), *peak, 0.0)
    return [
        Row(
            version,
            file,
            passed=found["passed"],
            failed=found["failure"] + found["error"],
            skipped=found["skipped"],
            seconds=seconds[file],
            mb=peaks[file],
        )
        for file, found in sorted(counts.items())
    ]


def run(version: str, files: Sequence[str]) -> list[Row]:
    """Run the files with a version; what a failure is about is printed, and stays in REPORTS."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{version}.xml"
    report.unlink(missing_ok=True)
    pytest = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", _WORKERS, "--dist", "loadfile"]
    command = [*pytest, "-m", "ladder", f"--junitxml={report}", *files]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "RUNGS": version}, check=False)
    return rows_of(version, report) if report.exists() else [Row(version, "no report", 0, 1, 0, 0, 0)]


def main() -> None:
    """Run all; exits with 1 if a test failed or a version is not to be had."""
    versions = sys.argv[1:] or [*(each.name for each in RUNGS), ENGINE]
    rows, absent = [], []
    for version in versions:
        try:
            if version != ENGINE:
                sys.stdout.write(f"{rung(version).provide()}\n")
                rung(version).library()
        except NotToBeHad as error:
            absent.append(f"| {version} | NOT RUN: {error} | | | | | |")
        else:
            rows += run(version, files_of_the_ladder())
    sys.stdout.write("\n".join(("", _HEAD, *map(str, rows), *absent, "")))
    sys.exit(1 if absent or any(row.failed for row in rows) else 0)


if __name__ == "__main__":
    main()
