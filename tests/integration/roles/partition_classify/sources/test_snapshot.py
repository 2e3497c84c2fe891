# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The source ``zookeeper_snapshot`` gives the rows of ``zookeeper``, from copies of the files of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from olap_partmove._partmove.plan.origin import topmost
from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.policy.file import read_policy
from partition_classify.policy.transforms import plan_rows
from partition_classify.sources.choice import LiveSource, SnapshotSourceFiles
from partition_classify.spark_errors import message_of
from partition_classify.zookeeper_files.folders import folders_of
from support.files.inventories import copied, files, live
from support.files.snapshot_files import NOW, GeneratedTree, write_generated
from support.memory.synthetic import SyntheticTable
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]


def rows(frame: DataFrame) -> list[InventoryRow]:
    return sorted(InventoryRow(*row) for row in frame.collect())


@pytest.fixture
def tables(hot: Ensemble, cold: Ensemble, connect: Connect, base: str) -> list[str]:
    """Shard paths of both formats, with parts of both forms, some in cold; some were changed or dropped."""
    hot_client, cold_client = connect(hot.connect_string), connect(cold.connect_string)
    events = SyntheticTable(hot_client, f"{base}/01/events").create()
    events.add_part("r1", "202611_0_4_1")
    events.add_legacy_part("r2", "202610_0_0_0_7")
    events.add_part("r2", "202609_0_0_0", data=b"")
    hot_client.create(f"{events.path}/replicas/r2/parts/202609_0_0_0/columns", b"late")
    events.set_state("202609", b"COLD")
    events.set_state("202608", b"C\xffLD")
    cold_table = SyntheticTable(cold_client, events.path)
    cold_table.add_legacy_part("r1", "202609_0_0_0")
    cold_table.add_part("gone", "202608_0_0_0")
    old = SyntheticTable(hot_client, f"{base}/02/old", format_version=0).create()
    old.add_legacy_part("r1", "20191201_20191220_0_5_2_9")
    hot_client.delete(old.add_legacy_part("r1", "20191101_20191120_0_5_2_9"), recursive=True)
    SyntheticTable(hot_client, f"{old.path}/metadata/inner").create()
    SyntheticTable(hot_client, f"{base}/empty").create()
    dropped = SyntheticTable(hot_client, f"{base}/dropped").create()
    dropped.add_part("r1", "all_0_0_0")
    hot_client.delete(f"{dropped.path}/metadata")
    return [events.path, old.path]


@pytest.mark.parametrize("chroot", [False, True])
def test_rows_are_those_of_the_live_source(
    spark: SparkSession,
    hot: Ensemble,
    cold: Ensemble,
    base: str,
    tables: list[str],
    tmp_path: Path,
    chroot: bool,
) -> None:
    top, root = (base, "/") if chroot else ("", base)
    if chroot:
        tables = [path.removeprefix(base) for path in tables]
    expected = rows(live(spark, root, hot=hot, cold=cold, chroot=top))
    assert {(row.shard_path, row.ensemble) for row in expected} == {
        (tables[0], "hot"),
        (tables[0], "cold"),
        (tables[1], "hot"),
    }

    found = files(
        spark,
        root,
        hot=copied(hot, tmp_path / "hot", top),
        cold=copied(cold, tmp_path / "cold", top),
    )

    assert rows(found) == expected


def files_source(settings: Mapping[str, str]) -> SnapshotSourceFiles:
    return SnapshotSourceFiles({"hot": folders_of("hot", settings)}, "/", older_snapshot=False)


@pytest.mark.parametrize("chroot", [False, True])
def test_files_are_of_the_cluster_that_they_were_copied_from(
    hot: Ensemble, cold: Ensemble, base: str, tables: list[str], tmp_path: Path, chroot: bool
) -> None:
    top = base if chroot else ""
    paths = sorted({topmost(path.removeprefix(top)) for path in tables})
    settings = {"hosts": hot.connect_string.split(","), "chroot": top}
    source = LiveSource({"hot": settings}, "/", sessions=1, znodes_per_second=0, latency_target=0)
    expected = source.origin(paths)
    assert [each.path for each in expected] == paths

    found = files_source(copied(hot, tmp_path / "hot", top))

    assert sorted(found.origin(paths)) == expected
    if not chroot:
        elsewhere = files_source(copied(cold, tmp_path / "cold"))
        assert {each.path for each in elsewhere.origin(paths)} == {*paths}
        assert not {*elsewhere.origin(paths)} & {*expected}


@pytest.fixture
def generated(tmp_path: Path) -> Iterator[tuple[Ensemble, GeneratedTree]]:
    """A server that has started from a snapshot of generated tables, and has gone on from there."""
    tree = GeneratedTree(shard_paths=4, parts=24_000, partitions=300, cold=20)
    folder = tmp_path / "generated"
    ensemble = Ensemble(folder)
    write_generated(ensemble.members[0].data_dir, tree)
    with ensemble:
        yield ensemble, tree


def test_plan_from_files_is_the_plan_of_the_live_source(
    spark: SparkSession, generated: tuple[Ensemble, GeneratedTree], connect: Connect, tmp_path: Path
) -> None:
    hot, tree = generated
    client = connect(hot.connect_string)
    table = SyntheticTable(client, tree.paths[1])
    for name in client.get_children(f"{table.path}/replicas/r1/parts")[:50]:
        client.delete(f"{table.path}/replicas/r1/parts/{name}")
    table.add_legacy_part("r2", "20190101_900000_900000_0")
    table.set_state("20190120", b"COLD")
    SyntheticTable(client, "/clickhouse/tables/new").create().add_part("r1", "20190101_0_0_0")
    policy_file = tmp_path / "policy.yml"
    policy_file.write_text("version: 1\ndefaults: {cold_after: 90d, keep_newest: 3}\n")
    policy = read_policy(policy_file)

    expected = plan_rows(live(spark, "/clickhouse", hot=hot, groups=True), policy, NOW).collect()
    inventory = files(spark, "/clickhouse", hot=copied(hot, tmp_path / "copy"), groups="true")
    found = plan_rows(inventory, policy, NOW).collect()

    assert len(expected) == 4 * 300 + 1
    assert {row.state for row in expected} == {"HOT", "COLD"}
    assert sorted(found) == sorted(expected)


def test_damaged_snapshot_is_refused_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    write_generated(tmp_path, GeneratedTree(shard_paths=1, parts=10))
    (path,) = (tmp_path / "version-2").glob("snapshot.*")
    path.write_bytes(path.read_bytes()[:-1])
    frame = files(spark, "/clickhouse", hot={"data_dir": str(tmp_path)})
    with pytest.raises(PySparkException) as error:
        frame.collect()
    size = path.stat().st_size
    assert message_of(error.value).startswith(f"{path}: the file is torn: its end is cut off at byte {size}")


def test_older_snapshot_is_read_when_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    write_generated(tmp_path, GeneratedTree(shard_paths=1, parts=10))
    (tmp_path / "version-2" / "snapshot.3e8.gz").write_bytes(b"no snapshot")
    found = files(spark, "/clickhouse", hot={"data_dir": str(tmp_path)}, older_snapshot="true")
    assert found.count() == 10
