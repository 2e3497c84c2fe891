# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Selection of the source by the arguments; errors of connections before Spark starts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from olap_partmove._partmove.errors import PartMoveError
from partition_classify.sources.choice import (
    InventorySource,
    LiveSource,
    SnapshotSourceFiles,
    servers_of,
    source_of,
)
from partition_classify.sources.distributed_read import DistributedRead
from partition_classify.sources.ensemble_size import size_of_files
from partition_classify.sources.part_groups import GROUP_SCHEMA, PartGroup
from support.classify.members import TOP, TREE, generated
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper

HOT = {"hosts": ["zk1:2181", "zk2"], "chroot": "/ch"}


@pytest.fixture
def arguments(tmp_path: Path) -> argparse.Namespace:
    """Arguments for running ensembles, without the connections."""
    return argparse.Namespace(
        source="zookeeper",
        connections=tmp_path / "connections.json",
        root=TOP,
        older_snapshot=False,
        sessions=32,
        znodes_per_second=0.0,
        latency_target=0.005,
    )


def write(arguments: argparse.Namespace, **connections: Any) -> argparse.Namespace:
    arguments.connections.write_text(json.dumps(connections))
    return arguments


def check(arguments: argparse.Namespace) -> None:
    """Check the connections as the job does before Spark starts."""
    source_of(arguments)
    servers_of(arguments)


def test_running_ensembles_are_described_without_credentials(arguments: argparse.Namespace) -> None:
    auth = {"scheme": "digest", "credential": "mover:hunter2"}
    source = source_of(write(arguments, hot=HOT | {"auth": auth}, cold={"hosts": ["coldzk1"]}))
    assert isinstance(source, LiveSource)
    assert source.description == f"zookeeper hot=zk1:2181,zk2/ch cold=coldzk1 root={TOP}"


def test_running_ensembles_need_no_preparation(arguments: argparse.Namespace) -> None:
    source = source_of(write(arguments, hot=HOT))
    with source.opened() as opened:
        assert opened is source


def test_files_are_described_by_their_folders(arguments: argparse.Namespace) -> None:
    arguments.source = "zookeeper_snapshot"
    folders = {"hot": [{"data_dir": "/a"}, {"data_dir": "/b", "chroot": "/ch"}], "cold": {"data_dir": "/c"}}
    source = source_of(write(arguments, **folders))
    assert isinstance(source, SnapshotSourceFiles)
    assert source.description == f"zookeeper_snapshot hot=/a hot=/b:/ch cold=/c root={TOP}"


def parts_in(rows: DataFrame) -> int:
    """Number of parts in the groups."""
    return sum(row.parts for row in rows.collect())


def test_number_of_tasks_depends_on_the_amount_of_work(
    spark: SparkSession, arguments: argparse.Namespace, tmp_path: Path
) -> None:
    arguments.source = "zookeeper_snapshot"
    folder = generated(tmp_path / "hot")
    source = source_of(write(arguments, hot={"data_dir": folder.data_dir}, cold=None))
    rows = DistributedRead(source.reader(2), GROUP_SCHEMA).rows(spark)
    assert rows.schema == GROUP_SCHEMA
    # There are three shard paths, and two tasks could run at once.
    assert spark.sparkContext.defaultParallelism == 2
    assert rows.rdd.getNumPartitions() == 1
    assert parts_in(rows) == TREE.parts
    assert source.size_of_hot() == size_of_files([folder])


def test_older_snapshots_are_read_on_request(
    spark: SparkSession, arguments: argparse.Namespace, tmp_path: Path
) -> None:
    arguments.source = "zookeeper_snapshot"
    folder = generated(tmp_path / "hot")
    size = size_of_files([folder])
    (tmp_path / "hot" / "version-2" / "snapshot.3e8.gz").write_bytes(b"no snapshot")
    arguments.older_snapshot = True
    source = source_of(write(arguments, hot={"data_dir": folder.data_dir}))
    assert parts_in(DistributedRead(source.reader(2), GROUP_SCHEMA).rows(spark)) == TREE.parts
    assert source.size_of_hot() == size


@pytest.mark.parametrize("cold", [False, True])
def test_source_reads_a_sorted_copy_of_a_snapshot_of_keeper(
    arguments: argparse.Namespace, tmp_path: Path, cold: bool
) -> None:
    arguments.source = "zookeeper_snapshot"
    sorted_dir = tmp_path / "sorted"
    sorted_dir.mkdir()
    settings = {}
    for name, first_zxid in {"hot": 1, "cold": 2}.items():
        write_generated_keeper(tmp_path / name, TREE, KeeperSnapshotFile(), first_zxid=first_zxid)
        settings[name] = {"data_dir": str(tmp_path / name), "sorted_dir": str(sorted_dir)}
    if not cold:
        del settings["cold"]
    expected = {name: {"data_dir": str(tmp_path / name / "zookeeper")} for name in settings}
    members = source_of(write(arguments, **expected))
    source = source_of(write(arguments, **settings))
    places = " ".join(f"{name}={tmp_path / name}" for name in settings)
    assert source.description == f"zookeeper_snapshot {places} root={TOP}"
    with source.opened() as opened:
        assert opened.description == source.description
        assert groups_of(opened) == groups_of(members)
        assert sorted(opened.origin(["/clickhouse"])) == sorted(members.origin(["/clickhouse"]))
        size, expected_size = opened.size_of_hot(), members.size_of_hot()
        assert size is not None
        assert expected_size is not None
        assert size.znodes == expected_size.znodes
        assert len(list(sorted_dir.iterdir())) == len(settings)
    assert not list(sorted_dir.iterdir())


def test_one_ensemble_of_keeper_is_not_hot_and_cold(arguments: argparse.Namespace, tmp_path: Path) -> None:
    arguments.source = "zookeeper_snapshot"
    for member in ("one", "two"):
        write_generated_keeper(tmp_path / member, TREE, KeeperSnapshotFile())
    for cold, message in (("two", "Hot and cold are one ensemble"), ("one", "was given twice")):
        settings = {"hot": {"data_dir": str(tmp_path / "one")}, "cold": {"data_dir": str(tmp_path / cold)}}
        with (
            source_of(write(arguments, **settings)).opened() as opened,
            pytest.raises(PartMoveError, match=message),
        ):
            opened.reader(2).partitions()


def groups_of(source: InventorySource) -> list[PartGroup]:
    reader = source.reader(2)
    batches: list[pa.RecordBatch] = [batch for each in reader.partitions() for batch in reader.read(each)]
    return sorted(PartGroup(**row) for batch in batches for row in batch.to_pylist())


def test_servers_are_queried_if_configured(arguments: argparse.Namespace) -> None:
    assert servers_of(write(arguments, hot=HOT)) is None
    assert servers_of(write(arguments, hot=HOT, clickhouse=None)) is None
    given = {"hosts": ["ch1"], "user": "reader"}
    assert servers_of(write(arguments, hot=HOT, clickhouse=given)) == given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the connections are not JSON"),
        ("[]", "the connections need the key hot"),
        ('{"cold": {"hosts": ["zk1"]}}', "the connections need the key hot"),
        (
            '{"hot": {"hosts": ["zk1"]}, "warm": {}}',
            "the connections need the key hot",
        ),
        ('{"hot": {"hosts": ["zk1"], "pasword": "hunter2"}}', "Ensemble hot: pasword is not a known key"),
        ('{"hot": {"hosts": ["zk1"]}, "clickhouse": {"host": "ch1"}}', "ClickHouse: host is not a known key"),
        (
            '{"hot": {"hosts": ["zk1"]}, "clickhouse": {"hosts": []}}',
            "ClickHouse: hosts is empty",
        ),
        ('{"hot": {"hosts": ["zk1"]}, "cold": {"hosts": []}}', "Ensemble cold has no hosts"),
    ],
)
def test_wrong_connections_are_refused(arguments: argparse.Namespace, text: str, message: str) -> None:
    arguments.connections.write_text(text)
    with pytest.raises(PartMoveError, match=message) as error:
        check(arguments)
    assert "hunter2" not in str(error.value)


def test_wrong_folders_are_refused(arguments: argparse.Namespace) -> None:
    arguments.source = "zookeeper_snapshot"
    with pytest.raises(PartMoveError, match="The folder of ensemble hot: hosts is not a known key"):
        source_of(write(arguments, hot=HOT))
