# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A large table is divided into slices: together they give every row once, as the undivided table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files import part_ranges as module
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.part_ranges import PartRange, SplitPoints, split_range
from support.classify.members import COMPRESSIONS, TOP, TREE, generated, rows_of
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.snapshot_files import write_generated

GIANT = replace(TREE, shard_paths=1, parts=60, partitions=5, cold=2, legacy=True)
PARTS = {name: f"{GIANT.paths[0]}/replicas/{name}/parts" for name in ("r1", "r2")}


def change_parts(data_dir: Path) -> None:
    """Write a log that changes parts all over the table, adds some, and a replica."""
    writer = LogWriter(1001)
    for number in range(0, 30, 7):
        part = f"{PARTS['r1']}/2019010{number % 5 + 1}_{number}_{number}_0"
        writer.add(log.DELETE, log.delete(f"{part}/checksums"))
        writer.add(log.CREATE, log.create(f"{part}/more", b"1234"))
        writer.add(log.SET_DATA, log.set_data(part, b"changed", 1))
        gone = f"{PARTS['r2']}/2019010{number % 5 + 1}_{number}_{number}_0"
        for name in ("/checksums", "/columns", ""):
            writer.add(log.DELETE, log.delete(f"{gone}{name}"))
        if number % 2:
            # A later part of the same name.
            writer.add(log.CREATE, log.create(gone, b"again"))
            writer.add(log.CREATE, log.create(f"{gone}/columns", b"123"))
    for path in (f"{PARTS['r1']}/20190109_1_1_0", f"{PARTS['r1']}/20190109_1_1_0/columns"):
        writer.add(log.CREATE, log.create(path, b"new"))
    third = f"{GIANT.paths[0]}/replicas/r3"
    for path in (third, f"{third}/parts", f"{third}/parts/20190109_1_1_0"):
        writer.add(log.CREATE, log.create(path, b"of r3"))
    writer.write(data_dir)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("tasks", [3, 100])
def test_slices_cover_the_table_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, tasks: int
) -> None:
    for name, parts in (("hot", 60), ("cold", 40)):
        write_generated(tmp_path / name, replace(GIANT, parts=parts), zxid=1000, compression=compression)
    write_generated(
        tmp_path / "cold", replace(GIANT, parts=40), zxid=1000, first_zxid=5, compression=compression
    )
    change_parts(tmp_path / "hot")
    hot, cold = ((DataFolder(name, str(tmp_path / name)),) for name in ("hot", "cold"))
    whole = SnapshotReader(TOP, hot, cold)
    assert len(whole.partitions()) == 1
    monkeypatch.setattr(module, "_EVERY_BYTES", 1)
    divided = SnapshotReader(TOP, hot, cold, tasks=tasks, bytes_per_task=500)
    monkeypatch.setattr("partition_classify.sources.snapshot._overhead_per_task", lambda _member: 0)
    assert len(divided.partitions()) == min(tasks, len(divided.partitions())) > 2

    rows = rows_of(divided)

    assert sorted(rows) == sorted(rows_of(whole))
    assert len(rows) == len(set(rows)) > 80
    assert {row.replica for row in rows} == {"r1", "r2", "r3"}


def test_tasks_do_not_read_more_of_the_log_than_of_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EVERY_BYTES", 1)
    reader = SnapshotReader(TOP, (generated(tmp_path, GIANT),), bytes_per_task=500)
    without = len(reader.partitions())
    change_parts(tmp_path)
    assert 1 <= len(reader.partitions()) < without


def test_split_points_keep_the_minimum_distance() -> None:
    splits = SplitPoints(every=100)
    for offset, path in [
        (0, b"/a/hits/replicas/r1"),
        (50, b"/a/hits/replicas/r1/parts"),
        (60, b"/a/hits/replicas/r1/parts/1_1_1_0"),
        (159, b"/a/hits/replicas/r1/parts/2_2_2_0"),
        (160, b"/a/hits/replicas/r1/parts/2_2_2_0/columns"),
        (200, b"/a/hits/replicas/r2/parts/1_1_1_0"),
        (300, b"/a/other/replicas/r1/parts/1_1_1_0"),
    ]:
        if offset >= splits.next:
            splits.note(offset, path)
    assert splits.within(b"/a/hits/replicas", 0, 300) == (60, 200)
    assert splits.within(b"/a/hits/replicas", 60, 200) == ()
    assert splits.within(b"/a/other/replicas", 0, 400) == (300,)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (
            1,
            [
                PartRange(0, 10, True),
                PartRange(10, 25, False),
                PartRange(25, 40, False),
                PartRange(40, 50, False),
            ],
        ),
        (20, [PartRange(0, 25, True), PartRange(25, 50, False)]),
        (100, [PartRange(0, 50, True)]),
    ],
)
def test_split_range_makes_ranges_of_the_requested_size(size: int, expected: list[PartRange]) -> None:
    assert split_range(PartRange(0, 50), (10, 25, 40), size) == expected
