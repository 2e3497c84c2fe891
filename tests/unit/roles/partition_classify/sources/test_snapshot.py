# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which folders are read together, and which are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError, FormatError, SameEnsemble
from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.folders import DataFolder, folders_of
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.snapshot_files import DAY, NOW, GeneratedTree, write_generated
from support.memory.synthetic import LEGACY, MINIMALISTIC

TREE = GeneratedTree(shard_paths=3, parts=60, partitions=5, cold=2)
ROOT = "/clickhouse"


def generated(data_dir: Path, tree: GeneratedTree = TREE, *, zxid: int = 1000) -> DataFolder:
    write_generated(data_dir, tree, zxid=zxid)
    return DataFolder("hot", str(data_dir))


def rows_of(reader: SnapshotReader) -> list[InventoryRow]:
    return [
        InventoryRow(**row)
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("compression", ["", "gz", "snappy"])
@pytest.mark.parametrize("tasks", [1, 2, 8])
@pytest.mark.parametrize("legacy", [False, True])
def test_every_part_is_a_row(tmp_path: Path, compression: str, tasks: int, legacy: bool) -> None:
    tree = replace(TREE, legacy=legacy)
    write_generated(tmp_path, tree, compression=compression)
    reader = SnapshotReader(ROOT, folders_of("hot", {"data_dir": str(tmp_path)}), tasks=tasks)
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
    paths = [row.shard_path for row in rows_of(SnapshotReader(ROOT, hot))]
    assert {path: paths.count(path) for path in paths} == {
        **dict.fromkeys(TREE.paths, 20),
        **dict.fromkeys(other.paths, 10),
    }


def test_cold_parts_have_the_state_of_hot(tmp_path: Path) -> None:
    cold_tree = replace(TREE, shard_paths=2, parts=20, replicas=1, partitions=3)
    write_generated(tmp_path / "cold", cold_tree, zxid=7, first_zxid=5)
    cold = (DataFolder("cold", str(tmp_path / "cold")),)
    rows = rows_of(SnapshotReader(ROOT, (generated(tmp_path / "hot"),), cold))
    found = {(row.shard_path, row.partition_id, row.state) for row in rows if row.ensemble == "cold"}
    states = [("20190101", "COLD"), ("20190102", "COLD"), ("20190103", "")]
    assert found == {(path, day, state) for path in TREE.paths[:2] for day, state in states}
    assert len(rows) == 60 + 20


def test_members_of_one_ensemble_are_refused(tmp_path: Path) -> None:
    hot = (generated(tmp_path / "one"), generated(tmp_path / "two"))
    with pytest.raises(EnsembleError, match="are of members of one ensemble"):
        SnapshotReader(ROOT, hot).partitions()


def test_same_shard_path_in_two_clusters_is_refused(tmp_path: Path) -> None:
    write_generated(tmp_path / "two", TREE, first_zxid=2)
    hot = (generated(tmp_path / "one"), DataFolder("hot", str(tmp_path / "two")))
    with pytest.raises(EnsembleError, match=f"The shard path {TREE.paths[0]} is in two ensembles"):
        SnapshotReader(ROOT, hot).partitions()


def test_hot_given_as_cold_is_refused(tmp_path: Path) -> None:
    hot, cold = generated(tmp_path / "hot"), generated(tmp_path / "cold")
    with pytest.raises(SameEnsemble, match="was created by the same transaction in both"):
        SnapshotReader(ROOT, (hot,), (cold,)).partitions()
    with pytest.raises(SameEnsemble, match=f"The folder {tmp_path}/hot was given twice"):
        SnapshotReader(ROOT, (hot,), (hot,)).partitions()


def test_two_members_of_cold_are_refused(tmp_path: Path) -> None:
    folders = [tmp_path / "cold1", tmp_path / "cold2"]
    for folder in folders:
        write_generated(folder, TREE, first_zxid=2)
    cold = tuple(DataFolder("cold", str(folder)) for folder in folders)
    with pytest.raises(EnsembleError, match=f"{TREE.paths[0]} is in two folders of cold"):
        SnapshotReader(ROOT, (generated(tmp_path / "hot"),), cold).partitions()


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("/nowhere", "There is no znode /nowhere in the hot ensemble"),
        ("/zookeeper", "There is no replicated table at or below /zookeeper in the hot ensemble"),
        ("/click", "There is no znode /click in the hot ensemble"),
    ],
)
def test_root_without_tables_is_refused(tmp_path: Path, root: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=re.escape(message)):
        SnapshotReader(root, (generated(tmp_path),)).partitions()


def test_log_alone_may_make_a_table_and_drop_one(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    writer = LogWriter(1001)
    made = f"{ROOT}/tables/made"
    writer.add(log.CREATE, log.create(made))
    for name in ("block_numbers", "blocks", "columns", "log", "replicas"):
        writer.add(log.CREATE, log.create(f"{made}/{name}"))
    metadata = b"metadata format version: 1\ndate column: d\nsampling expression: \nindex granularity: 8192\n"
    metadata += b"mode: 0\nsign column: \nprimary key: d\n"
    writer.add(log.CREATE, log.create(f"{made}/metadata", metadata))
    for name in ("replicas/r1", "replicas/r1/parts", "replicas/r1/parts/20190101_20190102_1_2_1"):
        writer.add(log.CREATE, log.create(f"{made}/{name}", b"data"))
    writer.add(log.DELETE, log.delete(f"{TREE.paths[1]}/metadata"))
    writer.write(tmp_path)
    rows = rows_of(SnapshotReader(ROOT, (folder,)))
    assert {row.shard_path for row in rows} == {TREE.paths[0], TREE.paths[2], made}
    (row,) = [row for row in rows if row.shard_path == made]
    assert (row.part, row.partition_id, row.bytes, row.znodes) == ("20190101_20190102_1_2_1", "201901", 4, 1)


def test_log_that_goes_on_while_the_job_runs_does_not_count(tmp_path: Path) -> None:
    reader = SnapshotReader(ROOT, (generated(tmp_path),), tasks=1)
    (partition,) = reader.partitions()
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(f"{TREE.paths[0]}/replicas/r1/parts/20200101_0_0_0"))
    writer.write(tmp_path)
    assert sum(batch.num_rows for batch in reader.read(partition)) == 60
    assert len(rows_of(reader)) == 61


def test_name_that_is_no_part_is_refused_with_its_path(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    path = f"{TREE.paths[0]}/replicas/r1/parts/tmp_insert"
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(path))
    writer.write(tmp_path)
    with pytest.raises(FormatError, match=f"^{path}: 'tmp_insert' is not the name of a part"):
        rows_of(SnapshotReader(ROOT, (folder,)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/copy", "The folder of ensemble hot is no mapping"),
        ([], "No folder was given for ensemble hot"),
        ({}, "The files of ensemble hot have no data_dir"),
        ({"data_dir": "/copy", "host": "zk1"}, "Unknown setting host of the folder of ensemble hot"),
        ({"data_dir": 7}, "Setting data_dir of the folder of ensemble hot is of type int"),
        ({"data_dir": "/copy", "chroot": "a"}, "The chroot 'a' of ensemble hot is not a path"),
    ],
)
def test_settings_that_are_not_understood_are_refused(given: object, message: str) -> None:
    with pytest.raises(EnsembleError, match=re.escape(message)):
        folders_of("hot", given)
