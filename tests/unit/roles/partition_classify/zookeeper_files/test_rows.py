# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the parts in a snapshot and its log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import FormatError
from partition_classify.sources.snapshot import SnapshotReader
from support.classify.members import TOP, TREE, generated, rows_of
from support.files import log_files as log
from support.files.log_files import TIME, LogWriter
from support.files.snapshot_files import DAY, NOW
from support.memory.synthetic import LEGACY


def test_invalid_part_name_is_refused_with_its_path(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    path = f"{TREE.paths[0]}/replicas/r1/parts/tmp_insert"
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(path))
    writer.write(tmp_path)
    with pytest.raises(FormatError, match=f"^{path}: 'tmp_insert' is not the name of a part"):
        rows_of(SnapshotReader(TOP, (folder,)))


def test_name_without_utf_8_is_refused(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    writer = LogWriter(1001)
    body = log.create(f"{TREE.paths[0]}/replicas/r1/parts/20190101_7_7_0")
    writer.add(log.CREATE, body.replace(b"20190101_7", b"2019010\xb2_7"))
    writer.write(tmp_path)
    with pytest.raises(
        FormatError, match=rf"The name b'2019010\\xb2_7_7_0' of a znode below {TREE.paths[0]} is not UTF-8"
    ):
        rows_of(SnapshotReader(TOP, (folder,)))


def test_rows_reflect_log_changes(tmp_path: Path) -> None:
    """Two replicas with two parts each, of three znodes; the log changes, deletes and adds some."""
    tree = replace(TREE, shard_paths=1, parts=4, partitions=2, cold=0, legacy=True)
    folder, (path,) = generated(tmp_path, tree), tree.paths
    parts = {name: f"{path}/replicas/{name}/parts" for name in ("r1", "r2")}
    first, second, added = "20190101_0_0_0", "20190102_1_1_0", "20190103_2_2_0"
    writer = LogWriter(1001)
    writer.add(log.DELETE, log.delete(f"{parts['r1']}/{first}/checksums"))
    writer.add(log.SET_DATA, log.set_data(f"{parts['r1']}/{second}", b"new", 1))
    # Nothing is known of znodes below those of a part: they are not counted.
    writer.add(log.CREATE, log.create(f"{parts['r1']}/{second}/columns/below", b"not counted"))
    for name in ("/checksums", "/columns", ""):
        writer.add(log.DELETE, log.delete(f"{parts['r2']}/{first}{name}"))
    for name in ("", "/columns"):
        writer.add(log.CREATE, log.create(f"{parts['r2']}/{added}{name}", b"12345"))
    for name in ("", "/State"):
        writer.add(log.CREATE, log.create(f"{path}/block_numbers/20190103{name}", b"COLD"))
    writer.write(tmp_path)

    rows = rows_of(SnapshotReader(TOP, (folder,)))

    columns, checksums = len(LEGACY["columns"]), len(LEGACY["checksums"])
    known = {(row.replica, row.part): (row.mtime, row.bytes, row.znodes, row.state) for row in rows}
    assert known == {
        ("r1", first): (NOW - 2 * DAY, columns, 2, ""),
        ("r1", second): (TIME + 1000 * 1002, 3 + columns + checksums, 3, ""),
        ("r2", second): (NOW - DAY, columns + checksums, 3, ""),
        ("r2", added): (TIME + 1000 * 1007, 10, 2, "COLD"),
    }
    assert len(rows) == len(known)
