# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job as a person starts it: ``python classify.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl

import build_package
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from partition_classify.job import main
from support.files.small_disk import grow, small_disk
from support.files.snapshot_files import GeneratedTree, write_generated
from support.memory.synthetic import LEGACY, MINIMALISTIC, SyntheticTable
from support.servers.jvm import SMALL_SPARK
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]

SCRIPT = build_package.HERE / "classify.py"
LEGACY_BYTES = sum(len(data) for data in LEGACY.values())
NOTHING = {"partitions": 0, "parts": 0, "znodes": 0, "bytes": 0}
LATER = ("--as-of=2100-01-01T00:00:00Z", "--future")


class Run(NamedTuple):
    """What a run of the job gave."""

    status: int
    summary: dict[str, Any] | None
    errors: list[str]
    """Lines on stderr that are the job's own."""


class Job:
    """The files of one classification, and the way to run it."""

    def __init__(self, folder: Path, root: str) -> None:
        self.policy = folder / "policy.yml"
        self.connections = folder / "connections.json"
        self.plan = folder / "plan.jsonl"
        self.root = root

    def run(self, *options: str) -> Run:
        """Run the job with further options, in a process and with a Spark of its own."""
        command = [sys.executable, str(SCRIPT), *self._arguments(*options)]
        environment = os.environ | {"SPARK_SUBMIT_OPTS": SMALL_SPARK}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert "\tat " not in done.stderr, "a Java stack"
        assert "Traceback" not in done.stderr
        return _run_of(done.returncode, done.stdout, done.stderr)

    def run_here(self, capsys: pytest.CaptureFixture[str], *options: str) -> Run:
        """Run the job with further options in this process, which takes far less; see `kept_spark`."""
        capsys.readouterr()
        status = main(self._arguments(*options))
        return _run_of(status, *capsys.readouterr())

    def _arguments(self, *options: str) -> list[str]:
        files = {"policy": self.policy, "connections": self.connections, "plan": self.plan, "root": self.root}
        return [*(f"--{name}={value}" for name, value in files.items()), *options]


def _run_of(status: int, stdout: str, stderr: str) -> Run:
    own = [line.split(": ", 1)[1] for line in stderr.splitlines() if line.startswith("partition_cl")]
    return Run(status, json.loads(stdout) if stdout else None, own)


@pytest.fixture
def job(tmp_path: Path, hot: Ensemble, cold: Ensemble, base: str) -> Job:
    """A job that finds everything cold after a day."""
    job = Job(tmp_path, base)
    job.policy.write_text("version: 1\n")
    connections = {
        name: {"hosts": each.connect_string.split(",")} for name, each in (("hot", hot), ("cold", cold))
    }
    job.connections.write_text(json.dumps(connections))
    return job


@pytest.mark.usefixtures("kept_spark")
def test_plan_says_what_there_is_to_do(
    job: Job, hot: Ensemble, cold: Ensemble, connect: Connect, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hot_client, cold_client = connect(hot.connect_string), connect(cold.connect_string)
    table = SyntheticTable(hot_client, f"{base}/01/hits").create()
    table.add_legacy_part("r1", "202601_0_0_0")
    table.add_legacy_part("r2", "202601_0_0_0")
    table.add_part("r1", "202603_0_0_0")
    copies = SyntheticTable(cold_client, table.path)
    for partition in ("202512", "202603"):
        table.set_state(partition, b"COLD")
        copies.add_part("r2", f"{partition}_1_1_0")

    other = job.plan.with_name("other.yml")
    other.write_text("version: 1\ndefaults: {keep_newest: 2}\n")
    outputs = (f"--parquet={job.plan.parent}/rows", f"--report={job.plan.parent}/report")
    first = job.run(*LATER, *outputs, f"--compare-policy={other}")

    assert first.status == 0, first.errors
    assert first.summary is not None
    comparison = first.summary.pop("comparison")
    assert first.summary == {
        "plan": str(job.plan),
        "report": str(job.plan.parent / "report" / "report.html"),
        "changed": True,
        "rows": 3,
        "cold": 2,
        "hot": 1,
        "to_move": {"partitions": 1, "parts": 2, "znodes": 6, "bytes": 2 * LEGACY_BYTES},
        "to_merge": NOTHING | {"statements": []},
        "to_reheat": {"partitions": 1, "parts": 1, "znodes": 1, "bytes": len(MINIMALISTIC)},
        "busy": NOTHING,
        "left_alone": NOTHING,
        "complete": True,
        "unread": {"count": 0, "first": []},
        "rules": [
            {"rule": "defaults", "table": None, "partitions": 3, "unused_pins": [], "reads_known": None}
        ],
        "history": [{"as_of": 4_102_444_800_000, "znodes_hot": 7, "znodes_cold_planned": 6}],
    }
    assert first.errors[0] == f"shard paths at or below {base}: 1, with 5 parts, to be read by 1 task"
    fewer = first.summary["to_move"]
    assert comparison["to_move"] == {"more": NOTHING, "less": fewer}
    assert comparison["to_reheat"] == {"more": NOTHING, "less": NOTHING}
    plan = read_plan(job.plan)
    assert plan.header.source == (
        f"zookeeper hot={hot.connect_string} cold={cold.connect_string} root={base}"
    )
    assert [(row.shard_path, row.partition, row.state, row.parts) for row in plan.rows()] == [
        (table.path, "202512", "COLD", 1),
        (table.path, "202601", "COLD", 2),
        (table.path, "202603", "HOT", 1),
    ]
    assert list((job.plan.parent / "rows").glob("as_of=4102444800000/*.parquet"))

    before = job.plan.read_bytes()
    second = job.run_here(capsys, *LATER)
    assert second.summary is not None
    assert second.summary["changed"] is False
    assert job.plan.read_bytes() == before


@pytest.mark.usefixtures("kept_spark")
def test_what_may_not_be_read_is_never_cold(
    job: Job, hot: Ensemble, connect: Connect, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = connect(hot.connect_string)
    table = SyntheticTable(client, f"{base}/01/hits").create()
    parts = [table.add_part(replica, f"2026{month:02}_0_0_0") for month in (1, 2) for replica in ("r1", "r2")]
    secret = SyntheticTable(client, f"{base}/01/secret").create()
    secret.add_part("r1", "202601_0_0_0")
    # Nobody may read these, and everybody may delete them.
    acl = [make_acl("world", "anyone", delete=True)]
    for path in (parts[1], f"{secret.path}/block_numbers"):
        client.set_acls(path, acl)
    job.policy.write_text("version: 1\ndefaults: {pin_cold: ['202601', '202602']}\n")

    run = job.run_here(capsys, *LATER, f"--report={job.plan.parent}/report")

    assert run.status == 0, run.errors
    assert run.summary is not None
    assert [(row.shard_path, row.partition, row.state) for row in read_plan(job.plan).rows()] == [
        (table.path, "202602", "COLD")
    ]
    assert (run.summary["cold"], run.summary["complete"]) == (1, False)
    places = [{"shard_path": table.path, "partition": "202601"}, {"shard_path": secret.path, "partition": ""}]
    assert run.summary["unread"] == {"count": 2, "first": places}
    assert (
        f"not complete: no decision for {table.path} 202601, {secret.path}, because not all of their"
        " znodes may be read"
    ) in run.errors
    report = json.loads((job.plan.parent / "report" / "report.json").read_text())
    assert report["unread"] == run.summary["unread"]
    assert report["hot"]["today"]["partitions"] == 1


@pytest.mark.usefixtures("kept_spark")
def test_second_plan_of_the_same_files_is_no_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = GeneratedTree(shard_paths=2, parts=24, replicas=2, partitions=3, cold=1)
    job = Job(tmp_path, tree.root)
    job.policy.write_text("version: 1\n")
    folders = {}
    for ensemble, first_zxid in (("hot", 1), ("cold", 2)):
        write_generated(tmp_path / ensemble, tree, first_zxid=first_zxid)
        folders[ensemble] = {"data_dir": str(tmp_path / ensemble)}
    job.connections.write_text(json.dumps(folders))

    runs = [job.run_here(capsys, "--source=zookeeper_snapshot", *LATER) for _each in range(2)]

    assert [run.summary and run.summary["changed"] for run in runs] == [True, False], runs


@pytest.mark.usefixtures("kept_spark")
def test_disk_that_is_full_while_the_plan_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(tmp_path, GeneratedTree.root)
    job.policy.write_text("version: 1\n")
    job.connections.write_text(json.dumps({"hot": {"data_dir": str(tmp_path / "hot")}}))
    files = "--source=zookeeper_snapshot"
    with small_disk(tmp_path / "small", "64k") as folder:
        job.plan = folder / "plan.jsonl"
        write_generated(tmp_path / "hot", GeneratedTree(shard_paths=1, parts=4, partitions=2))
        assert job.run_here(capsys, files, *LATER).status == 0
        before = job.plan.read_bytes()

        write_generated(tmp_path / "hot", GeneratedTree(shard_paths=1, parts=800, partitions=400))
        failed = job.run_here(capsys, files, *LATER)
        assert (failed.status, failed.summary) == (1, None)
        assert failed.errors[-1].startswith(
            f"{job.plan}: the file cannot be written: No space left on device. Check that this user can write"
            f" to {folder} and that the disk has room, or give another path; the old file is unchanged"
        )
        assert job.plan.read_bytes() == before
        assert list(folder.iterdir()) == [job.plan]

        grow(folder, "1m")
        assert job.run_here(capsys, files, *LATER).status == 0
        assert len(list(read_plan(job.plan).rows())) == 400


@pytest.mark.usefixtures("kept_spark")
def test_another_policy_is_told_of_and_writes_no_plan(
    job: Job, hot: Ensemble, connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SyntheticTable(connect(hot.connect_string), f"{job.root}/01/hits").create()
    for number in range(3):
        table.add_part("r1", f"{number}_0_0_0")
    other = job.policy.with_name("other.yml")
    other.write_text("version: 1\ndefaults: {keep_newest: 2}\nrules: [{table: /tabels/**, never: true}]\n")

    alone = job.run_here(capsys, *LATER)
    plan = job.plan.read_bytes()
    report = job.policy.with_name("report")
    both = job.run_here(capsys, *LATER, f"--compare-policy={other}", f"--report={report}")

    assert both.status == 0, both.errors
    assert job.plan.read_bytes() == plan
    assert alone.summary is not None
    assert both.summary is not None
    comparison = both.summary["comparison"]
    place = str(report / "report.html")
    assert both.summary | {"comparison": None} == alone.summary | {"changed": False, "report": place}
    assert json.loads((report / "report.json").read_text())["comparison"] == comparison
    page = (report / "report.html").read_text()
    assert "Comparison with the other policy" in page
    assert f"The other policy does not fit the tables: {comparison['misfits'][0]}." in page
    assert (comparison["to_move"]["more"]["partitions"], comparison["to_move"]["less"]["partitions"]) == (
        0,
        2,
    )
    assert [each["table"] for each in comparison["tables"]] == [f"{job.root}/*/hits"]
    assert comparison["text"][-1].startswith(
        "the other policy does not fit the tables: rules[0], /tabels/**, "
    )
    assert both.errors[-2 - len(comparison["text"]) : -2] == comparison["text"]


def test_other_policy_that_is_wrong_is_refused(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    run = job.run_here(capsys, f"--compare-policy={job.root}/none.yml")
    assert (run.status, run.summary) == (1, None)
    assert run.errors[0].startswith(f"{job.root}/none.yml: the policy cannot be read: No such file")
    assert not job.plan.exists()


def test_ensemble_that_does_not_answer_ends_the_job_with_one_sentence(job: Job) -> None:
    job.connections.write_text('{"hot": {"hosts": ["127.0.0.1:1"], "connect_timeout": 0.5}, "cold": null}')
    run = job.run()
    assert run.status == 1
    assert len(run.errors) == 1
    assert "127.0.0.1:1" in run.errors[0]
    assert not job.plan.exists()


def test_wrong_policy_is_refused(job: Job) -> None:
    job.policy.write_text("version: 1\ndefaults: {cold_after: soon}\n")
    duration = "a duration above 0 with its unit, such as 90m, 36h, 7d or 2w."
    sentences = f"{job.policy}: defaults.cold_after is 'soon'. It has to be {duration}"
    assert job.run() == (1, None, [sentences])


@pytest.mark.usefixtures("kept_spark")
def test_plan_is_written_last(
    job: Job, hot: Ensemble, connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    SyntheticTable(connect(hot.connect_string), f"{job.root}/01/hits").create().add_part("r1", "1_0_0_0")
    rows, report = job.plan.parent / "rows", job.plan.parent / "report"
    (report / "report.html").mkdir(parents=True)

    failed = job.run_here(capsys, f"--parquet={rows}", f"--report={report}")
    assert (failed.status, failed.summary) == (1, None)
    assert failed.errors[-1].startswith(f"{report}: the report cannot be written there: Is a directory. ")
    assert not job.plan.exists()

    (report / "report.html").rmdir()
    done = job.run_here(capsys, f"--parquet={rows}", f"--report={report}")
    assert done.summary is not None
    assert done.summary["changed"] is True
    assert sorted(each.name for each in job.plan.parent.iterdir() if each.name.startswith(".")) == []


@pytest.mark.parametrize("option", ["plan", "parquet", "report"])
def test_places_that_cannot_be_written_to_are_refused_before_spark_starts(
    job: Job, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    file = job.plan.parent / "file"
    file.write_text("no folder\n")
    status, summary, (error,) = job.run_here(capsys, f"--{option}={file}/below")
    assert (status, summary) == (1, None)
    assert error.startswith(f"{file}/below: the ")
    assert "cannot be written" in error


def test_moment_to_come_is_refused(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    status, summary, (error,) = job.run_here(capsys, LATER[0])
    assert (status, summary) == (1, None)
    assert error.startswith("The moment to decide for is in the future: ")
    assert not job.plan.exists()


@pytest.mark.usefixtures("kept_spark")
def test_rule_that_decides_nothing_is_told_and_refused_if_asked_for(
    job: Job, hot: Ensemble, connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    SyntheticTable(connect(hot.connect_string), f"{job.root}/01/hits").create().add_part("r1", "1_0_0_0")
    job.policy.write_text("version: 1\nrules: [{table: /tabels/**, never: true}]\n")
    misfit = "rules[0], /tabels/**, decides nothing: no shard path with parts matches this rule first"

    refused = job.run_here(capsys, "--strict")
    assert (refused.status, refused.summary) == (1, None)
    assert refused.errors[-1].startswith(f"The policy does not fit the tables: {misfit}")
    assert not job.plan.exists()

    told = job.run_here(capsys)
    assert told.status == 0
    assert [each for each in told.errors if each.startswith(f"the policy does not fit the tables: {misfit}")]


@pytest.mark.parametrize("options", [[], ["--previous=/none/plan.jsonl"]])
def test_file_that_is_no_plan_is_not_written_over(
    job: Job, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    job.plan.write_text("my notes\n")
    run = job.run_here(capsys, *options)
    assert run.status == 1
    assert run.errors[0].startswith(f"{job.plan}:1: the line is no JSON object")
    assert job.plan.read_text() == "my notes\n"


def test_plan_in_a_folder_that_is_not_there_is_refused(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.plan = job.plan.parent / "none" / "plan.jsonl"
    run = job.run_here(capsys)
    assert run.status == 1
    assert f"{job.plan}: the plan cannot be written, this user cannot write to" in run.errors[0]
