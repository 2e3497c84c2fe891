# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""merges.sql as a report writes the file and as people edit it."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.merges_file import Merge, merges_in


def line(partition: str, path: str = "/ch/01/hits", table: str = "default.hits", **about: object) -> str:
    fields = {
        "shard_path": path,
        "partition": partition,
        "znodes": 4,
        "parts": 2,
        "bytes_on_disk": None,
    }
    return f"OPTIMIZE TABLE {table} PARTITION ID '{partition}' FINAL; -- {json.dumps({**fields, **about})}\n"


def test_lines_keep_their_order_and_comments_are_skipped() -> None:
    lines = [
        "-- made by a report\n",
        line("2", table="…"),
        "\n",
        f"--{line('3')}",
        line("1", "/ch/'x; -- {}"),
    ]
    assert list(merges_in(lines, "merges.sql")) == [Merge("/ch/01/hits", "2"), Merge("/ch/'x; -- {}", "1")]


@pytest.mark.parametrize(
    "bad",
    [
        "DROP TABLE hits;",
        "OPTIMIZE TABLE hits PARTITION ID '1' FINAL;",
        line("1").replace("{", "{{"),
        line("1").replace('"1"', '"2"'),
        line("1", path="clickhouse"),
        line("1", shard_path=7),
        line("1").replace("OPTIMIZE", "DROP TABLE x; OPTIMIZE"),
        line("1").replace("; --", "; DROP TABLE x; --"),
    ],
)
def test_other_lines_are_refused(bad: str) -> None:
    with pytest.raises(FormatError):
        list(merges_in([line("0"), bad], "merges.sql"))


def test_refusal_says_where() -> None:
    with pytest.raises(FormatError, match=r"merges.sql, line 2: this is not a statement"):
        list(merges_in([line("0"), "OPTIMIZE TABLE hits"], "merges.sql"))
