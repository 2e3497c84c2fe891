# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job with snapshots of ClickHouse Keeper gives the plan of the same trees of ZooKeeper."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import build_package
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.text import format_time
from partition_classify.job import main
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper
from support.files.log_files import TIME
from support.files.snapshot_files import DAY, NOW, GeneratedTree
from support.servers.jvm import SMALL_SPARK

TREE = GeneratedTree(shard_paths=4, parts=2400, partitions=30, cold=3, legacy=True)
# Some of the days of the tree are cold then, and some are not.
MOMENT = "2025-11-20T00:00:00Z"
# It is after the last transaction in the log of the generated members.
GIVEN = (f"--as-of={MOMENT}", "--future")
# The last znode of the generated trees, and the last transaction of the logs.
LAST_CHANGES = {"keeper": NOW - DAY, "zookeeper": TIME + 1000 * KeeperSnapshotFile().zxid}
POLICY = "version: 1\ndefaults: {cold_after: 15d, keep_newest: 2}\n"


class Job:
    """Trees of hot and cold, as files of Keeper and of ZooKeeper, and the job for each of them."""

    def __init__(self, folder: Path, file: KeeperSnapshotFile) -> None:
        self.folder = folder
        self.policy = folder / "policy.yml"
        self.policy.write_text(POLICY)
        self.sorted_dir = folder / "sorted"
        self.sorted_dir.mkdir()
        for name, first_zxid in {"hot": 1, "cold": 2}.items():
            write_generated_keeper(folder / name, TREE, file, first_zxid=first_zxid)

    def arguments(self, kind: str, *options: str, moment: Sequence[str] = GIVEN) -> list[str]:
        """Those for the files of a kind of server, zookeeper or keeper."""
        connections = self.folder / f"{kind}.json"
        subfolder = "zookeeper" if kind == "zookeeper" else ""
        settings = {
            name: {"data_dir": str(self.folder / name / subfolder), "sorted_dir": str(self.sorted_dir)}
            for name in ("hot", "cold")
        }
        connections.write_text(json.dumps(settings))
        return [
            f"--policy={self.policy}", f"--connections={connections}", f"--plan={self.plan(kind)}",
            f"--root={TREE.root}", "--source=zookeeper_snapshot", *moment, *options,
        ]  # fmt: skip

    def plan(self, kind: str) -> Path:
        return self.folder / f"{kind}.plan.jsonl"

    def planned(self, kind: str) -> tuple[dict[str, Any], list[Any]]:
        """The header of the plan without its source, and the rows."""
        plan = read_plan(self.plan(kind))
        header = plan.header._asdict()
        assert str(self.folder) in header.pop("source")
        return header, list(plan.rows())


@pytest.fixture(
    params=[KeeperSnapshotFile(), KeeperSnapshotFile(7, "lz4"), KeeperSnapshotFile(9, "chunked")],
    ids=["6 zstd", "7 LZ4", "9 chunked"],
)
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Job:
    """A job for snapshots of Keeper in this form."""
    return Job(tmp_path, request.param)


@pytest.mark.usefixtures("kept_spark")
def test_plan_is_that_of_the_same_tree_of_zookeeper(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    summaries = {}
    for kind in ("zookeeper", "keeper"):
        assert main(job.arguments(kind)) == 0, capsys.readouterr().err
        summaries[kind] = json.loads(capsys.readouterr().out)
        assert summaries[kind].pop("plan") == str(job.plan(kind))
    assert summaries["keeper"] == summaries["zookeeper"]
    header, rows = job.planned("keeper")
    assert (header, rows) == job.planned("zookeeper")
    assert len(rows) == TREE.shard_paths * TREE.partitions
    assert {row.state for row in rows} == {"COLD", "HOT"}
    assert not list(job.sorted_dir.iterdir())


@pytest.mark.usefixtures("kept_spark")
@pytest.mark.parametrize("kind", LAST_CHANGES)
def test_ages_end_with_the_last_change_in_the_files(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy does not know what was changed after it was made, up to the run."""
    job = Job(tmp_path, KeeperSnapshotFile())
    assert main(job.arguments(kind, f"--report={tmp_path}/report", moment=())) == 0
    shown = format_time(LAST_CHANGES[kind])
    assert f"deciding for {shown}, the last change in the files of hot" in capsys.readouterr().err
    plan = read_plan(job.plan(kind))
    assert plan.header.as_of == LAST_CHANGES[kind]
    assert plan.header.source.endswith(f" last_change={shown}")
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["as_of"] == shown
    assert report["source"] == plan.header.source
    # The newest days are hot, although all of them are old by now.
    hot = [row for row in plan.rows() if row.state == "HOT"]
    assert len(hot) >= TREE.shard_paths * 15
    assert main(job.arguments(kind, moment=(GIVEN[0],))) == 1
    assert f"is after the last change in the files of hot, {shown}" in capsys.readouterr().err


@pytest.mark.usefixtures("kept_spark")
def test_damaged_snapshot_leaves_no_plan_and_no_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(tmp_path, KeeperSnapshotFile())
    (path,) = (tmp_path / "cold").glob("snapshot_*")
    path.write_bytes(path.read_bytes()[:-10])
    assert main(job.arguments("keeper")) == 1
    failure = capsys.readouterr().err.splitlines()[-1]
    assert failure.startswith(
        f"partition_classify failed: {path}: the compressed file ends too early at byte"
    )
    assert not job.plan("keeper").exists()
    assert not list(job.sorted_dir.iterdir())


def test_job_in_a_process_of_its_own_writes_a_report(tmp_path: Path) -> None:
    job = Job(tmp_path, KeeperSnapshotFile())
    command = [sys.executable, str(build_package.HERE / "classify.py")]
    done = subprocess.run(
        [*command, *job.arguments("keeper", f"--report={tmp_path}/report")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SPARK_SUBMIT_OPTS": SMALL_SPARK},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    # All znodes of the hot tree, those of parts and others.
    assert report["ensemble"]["znodes"] > 3 * TREE.parts
    assert json.loads(done.stdout)["rows"] == TREE.shard_paths * TREE.partitions
    assert not list(job.sorted_dir.iterdir())
