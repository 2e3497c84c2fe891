# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table that `make ladder` prints."""

from __future__ import annotations

import re
from pathlib import Path

from support.servers.ladder.rungs import RUNGS
from support.servers.ladder.table import Row, files_of_the_ladder, rows_of
from support.servers.modern.server import ENGINE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "clickhouse-versions.md").read_text(encoding="utf-8")


def test_a_report_has_a_row_for_each_file(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.integration.test_b" name="1" time="1.5"/>'
        '<testcase classname="tests.integration.test_b" name="2" time="2"><failure>no</failure>'
        '<properties><property name="server_mb" value="512.4"/></properties></testcase>'
        '<testcase classname="tests.integration.test_a" name="3" time="0"><skipped/></testcase>'
        '<testcase classname="tests.integration.test_a" name="4" time="0.2"><error/></testcase>'
        "</testsuite></testsuites>"
    )
    assert rows_of("24.8", report) == [
        Row("24.8", "test_a.py", 0, 1, 1, 0.2, 0.0),
        Row("24.8", "test_b.py", 1, 1, 0, 3.5, 512.4),
    ]
    assert (
        str(Row("24.8", "test_b.py", 1, 1, 0, 3.5, 512.4)) == "| 24.8 | `test_b.py` | 1 | 1 | 0 | 4 | 512 |"
    )


def test_the_page_has_every_version_and_every_file() -> None:
    assert {f"{each.name} " for each in RUNGS} | {f"{ENGINE} "} <= set(re.findall(r"\b2\d\.\d+ ", PAGE))
    for file in files_of_the_ladder():
        assert f"`{Path(file).name}`" in PAGE
