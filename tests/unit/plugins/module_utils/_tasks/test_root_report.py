# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a root can be read by people, whatever is in the texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.root_report import write_report

RESULT: dict[str, Any] = {
    "msg": "2 tables: 1 finished, 1 refused",
    "next": "Follow the remedy",
    "outcomes": [
        {
            "table": "db.hits",
            "state": "finished",
            "moved": 1200,
            "seconds": 62.0,
            "hot_znodes": 5,
            "gate": "",
            "reason": "",
            "remedy": "",
        },
        {
            "table": "db.views",
            "state": "refused",
            "moved": 0,
            "seconds": None,
            "hot_znodes": None,
            "gate": "twin_ready",
            "reason": "a | b\nc",
            "remedy": "wait",
        },
    ],
    "unknown_paths": [{"shard_path": "/t/01/gone", "reason": "no table", "remedy": "drop"}],
    "drops": [{"server": "ch1", "statement": "DROP TABLE db.hits_cold SYNC"}],
}


def test_each_table_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("an older one")
    write_report(str(path), "/t", RESULT)
    text = path.read_text()
    assert "| db.hits | finished | 1,200 | 1 min 2 s | 5 |  |  |  |" in text
    assert r"| db.views | refused | 0 |  | 0 | twin_ready | a \| b c | wait |" in text
    assert "- `/t/01/gone`: no table" in text
    assert "- ch1: `DROP TABLE db.hits_cold SYNC`" in text
    assert [each.name for each in tmp_path.iterdir()] == ["report.md"]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match="cannot be written"):
        write_report(str(tmp_path / "none" / "report.md"), "/t", RESULT)
