# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Too little memory or disk space is reported before reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError, PartMoveError, PlanError
from partition_classify.preflight import (
    HostMemory,
    bytes_of,
    bytes_of_snapshots,
    check_memory,
    check_shared_copies,
    check_space_for_plan,
    free_bytes,
    local_folders,
    memory_of,
    warn_of_low_space,
)
from partition_classify.zookeeper_files.folders import DataFolder
from support.files.keeper_snapshots import KeeperSnapshotFile, tree_of
from support.files.snapshot_files import GeneratedTree, write_generated

GIB = 1 << 30
MEMINFO = """MemTotal:       4194304 kB
MemFree:         102400 kB
MemAvailable:   2097152 kB
SwapTotal:      1048576 kB
"""


def test_more_memory_for_java_than_the_host_has_is_refused() -> None:
    host = HostMemory(total=4 * GIB, available=3 * GIB)
    check_memory({"spark.driver.memory": "2g", "spark.master": "local[1]"}, host)
    for given in ("4g", "4096", "5g"):
        with pytest.raises(PartMoveError) as error:
            check_memory({"spark.driver.memory": given}, host)
        assert str(error.value).startswith(
            f"spark.driver.memory is {given}, but this host has 4.0 GiB of memory in all: "
        )
        assert "Lower spark.driver.memory " in str(error.value)


@pytest.mark.parametrize(
    ("master", "is_warning"),
    [("local[2]", False), ("local[40]", True), ("spark://spark1:7077", False), ("local", False)],
)
def test_little_free_memory_is_a_warning(
    master: str, is_warning: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    check_memory({"spark.master": master}, HostMemory(total=64 * GIB, available=3 * GIB))
    said = capsys.readouterr().err
    assert (
        "memory may run out: with spark.driver.memory of 1g the job takes up to 7.9 GiB" in said
    ) == is_warning
    assert bool(said) == is_warning


def test_default_memory_counts_and_invalid_memory_is_ignored() -> None:
    with pytest.raises(PartMoveError, match=r"^spark\.driver\.memory is 1g, "):
        check_memory({}, HostMemory(total=GIB, available=GIB))
    check_memory({"spark.driver.memory": "much"}, HostMemory(total=GIB, available=GIB))
    check_memory({"spark.driver.memory": "2g"}, None)
    assert [bytes_of(text) for text in ("3", "3m", "3MB", "3k", "3.5g", "")] == [
        3 << 20,
        3 << 20,
        3 << 20,
        3 << 10,
        None,
        None,
    ]


def test_memory_is_that_of_the_host_or_of_its_container(tmp_path: Path) -> None:
    assert memory_of(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO)
    assert memory_of(tmp_path) == HostMemory(total=5 * GIB, available=2 * GIB)
    limit = tmp_path / "sys/fs/cgroup/memory.max"
    limit.parent.mkdir(parents=True)
    limit.write_text("max\n")
    assert memory_of(tmp_path) == HostMemory(total=5 * GIB, available=2 * GIB)
    limit.write_text(f"{GIB}\n")
    assert memory_of(tmp_path) == HostMemory(total=GIB, available=GIB)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: much\n")
    assert memory_of(tmp_path) is None


def test_memory_of_this_host_is_known() -> None:
    memory = memory_of()
    assert memory is not None
    assert 0 < memory.available <= memory.total


def test_low_space_for_rows_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    free = free_bytes([tmp_path])
    assert free is not None
    assert free_bytes([tmp_path, tmp_path / "not" / "made"]) in range(free // 2, 2 * free)
    warn_of_low_space([tmp_path], free)
    assert capsys.readouterr().err == ""
    warn_of_low_space([tmp_path, tmp_path], 64 * free)
    log = capsys.readouterr().err
    assert f"disk space may run out: Spark sorts rows in {tmp_path}, {tmp_path}, where " in log
    assert "free some space, or configure larger folders as spark.local.dir" in log


def test_local_folders_are_those_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert local_folders({}) == [Path("/tmp")]
    assert local_folders({"spark.local.dir": "/a, /b"}) == [Path("/a"), Path("/b")]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/c")
    assert local_folders({"spark.local.dir": "/a"}) == [Path("/c")]


def test_newest_snapshots_count(tmp_path: Path) -> None:
    write_generated(tmp_path / "hot", GeneratedTree(shard_paths=1, parts=10))
    (snapshot,) = (tmp_path / "hot" / "version-2").glob("snapshot.*")
    folder = DataFolder("hot", str(tmp_path / "hot"))
    size = snapshot.stat().st_size
    assert bytes_of_snapshots([folder, folder]) == 2 * size
    snapshot.with_name("snapshot.ffffffff").write_bytes(b"12345")
    assert bytes_of_snapshots([folder]) == 5
    with pytest.raises(EnsembleError):
        bytes_of_snapshots([DataFolder("cold", str(tmp_path / "cold"))])


def test_space_for_a_plan_beside_the_existing_one(tmp_path: Path) -> None:
    plan = tmp_path / "plan.jsonl"
    check_space_for_plan(plan)
    plan.write_bytes(b"small")
    check_space_for_plan(plan)
    with plan.open("r+b") as file:
        # No disk holds that: nothing of it is written.
        file.truncate(1 << 43)
    with pytest.raises(PlanError) as error:
        check_space_for_plan(plan)
    assert str(error.value).startswith(f"{plan}: the new plan is written beside the old plan of 8.0 TiB")
    assert str(error.value).endswith("Free some space, or give a path on another disk.")


def test_newest_snapshot_of_keeper_counts(tmp_path: Path) -> None:
    for index in (8, 9):
        path = KeeperSnapshotFile(index=index).write(tmp_path, tree_of("/a"))
    path.write_bytes(b"12345")
    assert bytes_of_snapshots([DataFolder("hot", str(tmp_path))]) == 5


def test_executors_need_a_shared_copy_of_keeper(tmp_path: Path) -> None:
    keeper = DataFolder("hot", str(tmp_path / "keeper"))
    KeeperSnapshotFile().write(tmp_path / "keeper", tree_of("/a"))
    zookeeper = DataFolder("cold", str(tmp_path / "zookeeper"))
    write_generated(tmp_path / "zookeeper", GeneratedTree(shard_paths=1, parts=10))
    cluster = {"spark.master": "spark://a:7077"}
    with pytest.raises(EnsembleError, match="whose sorted copy the executors of a cluster need") as error:
        check_shared_copies([zookeeper, keeper], cluster)
    assert "sorted_dir" in error.value.remedy
    check_shared_copies([zookeeper, replace(keeper, sorted_dir="/shared")], cluster)
    for alone in ({}, {"spark.master": "local[2]"}):
        check_shared_copies([keeper], alone)
