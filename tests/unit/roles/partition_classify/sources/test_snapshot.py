# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows from members' files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import SameEnsemble
from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.folders import DataFolder, folders_of
from support.classify.members import TOP, TREE, generated, rows_of
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.snapshot_files import DAY, NOW, write_generated
from support.memory.synthetic import LEGACY, MINIMALISTIC


@pytest.mark.parametrize("compression", ["", "gz", "snappy"])
@pytest.mark.parametrize("tasks", [1, 2, 8])
@pytest.mark.parametrize("legacy", [False, True])
def test_every_part_is_a_row(tmp_path: Path, compression: str, tasks: int, legacy: bool) -> None:
    tree = replace(TREE, legacy=legacy)
    write_generated(tmp_path, tree, compression=compression)
    folders = folders_of("hot", {"data_dir": str(tmp_path)})
    reader = SnapshotReader(TOP, folders, tasks=tasks, bytes_per_task=1000)
    assert len(reader.partitions()) == min(tasks, 3)
    rows = rows_of(reader)
    days = ["20190101", "20190102", "20190103", "20190104", "20190105"]
    size = sum(map(len, LEGACY.values())) if legacy else len(MINIMALISTIC)
    assert sorted(rows) == sorted(
        InventoryRow(
            shard_path=path,
            replica=replica,
            part=f"{days[number % 5]}_{number}_{number}_0",
            partition_id=days[number % 5],
            mtime=NOW - (5 - number % 5) * DAY,
            bytes=size,
            znodes=3 if legacy else 1,
            ensemble="hot",
            state="COLD" if number % 5 < 2 else "",
        )
        for path in tree.paths
        for replica in ("r1", "r2")
        for number in range(10)
    )


def test_ensembles_of_several_clusters_come_together(tmp_path: Path) -> None:
    other = replace(TREE, root="/clickhouse/other", shard_paths=1, parts=10)
    hot = (generated(tmp_path / "one"), generated(tmp_path / "two", other))
    paths = [row.shard_path for row in rows_of(SnapshotReader(TOP, hot))]
    assert {path: paths.count(path) for path in paths} == {
        **dict.fromkeys(TREE.paths, 20),
        **dict.fromkeys(other.paths, 10),
    }


def test_cold_parts_have_the_state_of_hot(tmp_path: Path) -> None:
    cold_tree = replace(TREE, shard_paths=2, parts=20, replicas=1, partitions=3)
    write_generated(tmp_path / "cold", cold_tree, zxid=7, first_zxid=5)
    cold = (DataFolder("cold", str(tmp_path / "cold")),)
    rows = rows_of(SnapshotReader(TOP, (generated(tmp_path / "hot"),), cold))
    found = {(row.shard_path, row.partition_id, row.state) for row in rows if row.ensemble == "cold"}
    states = [("20190101", "COLD"), ("20190102", "COLD"), ("20190103", "")]
    assert found == {(path, day, state) for path in TREE.paths[:2] for day, state in states}
    assert len(rows) == 60 + 20


def test_folder_given_twice_is_refused(tmp_path: Path) -> None:
    hot = generated(tmp_path / "hot")
    with pytest.raises(SameEnsemble, match=f"The folder {tmp_path}/hot was given twice"):
        SnapshotReader(TOP, (hot,), (hot,)).partitions()


def test_log_entries_written_during_the_job_do_not_count(tmp_path: Path) -> None:
    reader = SnapshotReader(TOP, (generated(tmp_path),), tasks=1)
    (partition,) = reader.partitions()
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(f"{TREE.paths[0]}/replicas/r1/parts/20200101_0_0_0"))
    writer.write(tmp_path)
    assert sum(batch.num_rows for batch in reader.read(partition)) == 60
    assert len(rows_of(reader)) == 61
