# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file merges.sql: statements for a client, with their partitions."""

from __future__ import annotations

import json

from partition_classify.report.figures import MergeFigures
from partition_classify.report.merges import sql_lines


def test_each_statement_is_one_line_with_its_partition() -> None:
    merges = [
        MergeFigures("/ch/01/a", "201912", "OPTIMIZE TABLE db.a PARTITION ID '201912' FINAL", 4, 2, 1 << 40),
        MergeFigures("/ch/--/\n'b", "all", "OPTIMIZE TABLE `d\nb`.b PARTITION ID 'all' FINAL", 3, 5, None),
    ]
    lines = "".join(sql_lines(merges)).splitlines()
    statements = [line for line in lines if not line.startswith("-- ")]
    assert len(statements) == 2
    for line, merge in zip(statements, merges, strict=True):
        statement, _, about = line.partition("; -- ")
        assert statement == merge.statement.replace("\n", "\\n")
        assert json.loads(about) == {
            "shard_path": merge.shard_path,
            "partition": merge.partition,
            "znodes": merge.znodes,
            "parts": merge.parts,
            "bytes_on_disk": merge.bytes_on_disk,
        }


def test_without_merges_there_is_only_the_head() -> None:
    assert all(line.startswith("-- ") for line in "".join(sql_lines([])).splitlines())
