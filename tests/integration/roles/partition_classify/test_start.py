# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps Spark from starting is told with the way out, by a real spark-submit as the role runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import background
import build_package
from support.files.small_disk import small_disk
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.jvm import SMALL_SPARK

SUBMIT = Path(sys.executable).with_name("spark-submit")
TREE = GeneratedTree(shard_paths=1, parts=10)
# What a Java 11 prints of a class that was compiled for Java 17.
OLD_JAVA = """#!/bin/sh
exec >&2
echo "Error: LinkageError occurred while loading main class org.apache.spark.launcher.Main"
echo "	java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been compiled by a more\
 recent version of the Java Runtime (class file version 61.0), this version only recognizes up to 55.0"
exit 1
"""


class Submission:
    """A classification of files, run as the role runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / "plan.jsonl"

    def run(self, *options: str, **environment: str) -> tuple[list[str], str]:
        """What it says for people, and the reason why it failed; runs with more options of spark-submit."""
        folder = self.folder / "run"
        program = [str(SUBMIT), "--master=local[1]", *options, f"--py-files={self.folder}/job.zip"]
        program += [str(build_package.HERE / "classify.py"), "--source=zookeeper_snapshot"]
        program += [f"--{name}={self.folder}/{file}" for name, file in FILES.items()] + [
            f"--root={TREE.root}"
        ]
        usual = {"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": SMALL_SPARK}
        given = {**os.environ, **usual, **environment}
        # Where Spark is the program has to find out, as for users.
        del given["SPARK_HOME"]
        command = [sys.executable, background.__file__, str(folder)]
        subprocess.run([*command, "start", *program], check=True, env=given)
        news: dict[str, Any] = {"status": None, "offset": "0"}
        lines: list[str] = []
        while news["status"] is None:
            follow = [*command, "follow", news["offset"]]
            news = json.loads(subprocess.run(follow, check=True, capture_output=True).stdout)
            lines += news["lines"]
        assert news["status"] != 0
        return lines, str(news["reason"])


FILES = {"policy": "policy.yml", "connections": "connections.json", "plan": "plan.jsonl"}


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    (tmp_path / "policy.yml").write_text("version: 1\n")
    (tmp_path / "connections.json").write_text(json.dumps({"hot": {"data_dir": str(tmp_path / "hot")}}))
    build_package.build(tmp_path / "job.zip")
    write_generated(tmp_path / "hot", TREE)
    return Submission(tmp_path)


def test_no_java(submission: Submission) -> None:
    _lines, reason = submission.run(JAVA_HOME="/none")
    assert reason == f"{background._NO_JAVA} (exit status 1)"


def test_a_java_that_is_too_old(submission: Submission) -> None:
    java = submission.folder / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD_JAVA)
    java.chmod(0o755)
    _lines, reason = submission.run(JAVA_HOME=str(submission.folder / "old"))
    assert reason == f"{background._TOO_OLD} (exit status 1)"


def test_a_python_without_pyspark(submission: Submission) -> None:
    venv.create(submission.folder / "bare", symlinks=True)
    _lines, reason = submission.run(PYSPARK_PYTHON=f"{submission.folder}/bare/bin/python")
    assert reason.startswith(background._NO_SPARK)


def test_too_little_memory_for_the_driver(submission: Submission) -> None:
    lines, reason = submission.run("--driver-memory=200m")
    assert reason.startswith("Spark has too little memory: ")
    assert re.search(r"System memory \d+ must be at least \d+\. Raise spark\.driver\.memory and ", reason)
    # The driver surveys the files while Spark starts.
    surveyed = ("deciding for ", "hot=", "shard paths ")
    assert [each for each in lines if not each.startswith(surveyed)] == [reason]


def test_more_memory_for_the_driver_than_the_host_has(submission: Submission) -> None:
    lines, reason = submission.run("--driver-memory=900g")
    assert re.match(
        r"spark\.driver\.memory is 900g, but this host has [\d.]+ [GT]iB of memory in all: ", reason
    )
    assert "Lower spark.driver.memory (role: partition_classify_spark_conf)" in reason
    assert lines == [reason]


def test_a_task_that_finds_no_memory(submission: Submission) -> None:
    """On one machine, the error could end the driver without a message."""
    lines, reason = submission.run("--driver-memory=512m", "--conf=spark.shuffle.file.buffer=1500m")
    assert reason.startswith(
        "Spark has too little memory: java.lang.OutOfMemoryError: Java heap space. Raise spark.driver.memory "
    )
    assert lines[-1] == reason
    assert not submission.plan.exists()


def test_a_disk_of_spark_that_is_full(submission: Submission) -> None:
    """It has less room than the package of the job needs."""
    with small_disk(submission.folder / "small", "300k") as folder:
        _lines, reason = submission.run(f"--conf=spark.local.dir={folder}")
    assert reason.startswith("A disk with Spark's temporary files is full: ")
    assert "No space left on device. Free space in spark.local.dir and TMPDIR " in reason
    assert not submission.plan.exists()
