# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role, run by ansible-playbook on this machine."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from support.ansible.calls import PlaybookRun, run_playbook, write_playbook
from support.files.snapshot_files import GeneratedTree, write_generated
from support.memory.synthetic import SyntheticTable
from support.servers.jvm import SMALL_SPARK
from support.servers.spark_cluster import standalone_cluster
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]

CREDENTIAL = "mover:hunter2"
LATER = "2100-01-01T00:00:00Z"


STAND_IN = """#!{python}
# Runs the driver in a folder that has the files of --files, and fetches as the true program does.
import json, pathlib, shutil, subprocess, sys

argv = sys.argv[1:]
true = pathlib.Path(sys.executable).with_name("spark-submit")
if "--packages" in argv:
    place = argv.index("--packages")
    kept = argv[:place] + argv[place + 2 :]
if argv[argv.index("--deploy-mode") + 1] == "client":
    sys.exit(subprocess.run([true, *kept]).returncode)
folder = pathlib.Path({folder!r})
folder.mkdir()
folder.joinpath("argv.json").write_text(json.dumps(argv))
for name in argv[argv.index("--files") + 1].split(","):
    shutil.copy(name, folder)
sys.stderr.write("INFO Client: Application report for application_1_0001 (state: RUNNING)\\n")
sys.stderr.flush()
command = [true, "--master", "local[1]", *kept[4:]]
done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sys.exit(1 if done.returncode else 0)
"""


class Role:
    """A playbook that runs the role and keeps the facts that it sets."""

    def __init__(self, folder: Path, variables: dict[str, Any]) -> None:
        self.folder = folder
        self.variables = variables
        self.plan = folder / "plan.jsonl"

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run it with options of ansible-playbook, and variables besides its own."""
        role = {"name": "olap.partmove.partition_classify"}
        given = self.variables | {f"partition_classify_{name}": value for name, value in variables.items()}
        facts = "{{ [partition_classify_plan, partition_classify_result] | to_json }}"
        keep = {"content": facts, "dest": str(self.folder / "facts.json")}
        tasks: list[dict[str, Any]] = [
            {"ansible.builtin.include_role": role, "vars": given},
            {"ansible.builtin.copy": keep, "check_mode": False, "changed_when": False},
        ]
        # The folder that check mode leaves goes with the test.
        return run_playbook(write_playbook(self.folder, tasks), *options, TMPDIR=str(self.folder))

    def facts(self) -> tuple[str, dict[str, Any]]:
        """The path of the plan and the result of the last run."""
        path, result = json.loads((self.folder / "facts.json").read_text())
        return path, result


@pytest.fixture
def role(tmp_path: Path, hot: Ensemble, cold: Ensemble, connect: Connect, base: str) -> Role:
    """The role for one table with two partitions."""
    table = SyntheticTable(connect(hot.connect_string), f"{base}/hits").create()
    table.add_part("r1", "202610_0_0_0")
    table.add_part("r1", "202611_0_0_0")
    variables = {
        "hot": {
            "hosts": hot.connect_string.split(","),
            "auth": {"scheme": "digest", "credential": CREDENTIAL},
        },
        "cold": {"hosts": cold.connect_string.split(",")},
        "root": base,
        "policy": {"version": 1, "defaults": {"keep_newest": 1}},
        "as_of": LATER,
        "plan_dest": str(tmp_path / "plan.jsonl"),
        "spark_submit": str(Path(sys.executable).with_name("spark-submit")),
        "spark_master": "local[2]",
        "spark_conf": {
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": SMALL_SPARK,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
        },
        "python": sys.executable,
    }
    return Role(tmp_path, {f"partition_classify_{name}": value for name, value in variables.items()})


def changed(run: PlaybookRun) -> int:
    assert run.status == 0, run.output
    found = re.search(r"changed=(\d+)", run.output)
    assert found, run.output
    return int(found[1])


def left_behind(run: PlaybookRun) -> list[list[str]]:
    """The files in each folder that the run made for itself and did not remove."""
    folders = {
        Path(found) for found in re.findall(r'"path": "(/[^"]*/partition_classify\.\w{8})"', run.output)
    }
    assert len(folders) == 2, "one on the host and one on the controller"
    return [sorted(file.name for file in folder.iterdir()) for folder in folders if folder.exists()]


def test_plan_is_written_once_and_check_mode_leaves_it_alone(role: Role, tmp_path: Path) -> None:
    first = role.run()
    assert changed(first) == 1
    assert f"olap.partmove.partition_classify: wrote 2 rows to {role.plan}" in first.output
    assert CREDENTIAL not in first.output
    assert left_behind(first) == []
    path, result = role.facts()
    assert path == str(role.plan)
    assert (result["cold"], result["hot"], result["to_move"]["znodes"]) == (1, 1, 1)
    assert [(row.partition, row.state) for row in read_plan(path).rows()] == [
        ("202610", "COLD"),
        ("202611", "HOT"),
    ]

    before = role.plan.read_bytes()
    copy = tmp_path / "controller" / "plan.jsonl"
    with standalone_cluster(tmp_path / "cluster") as master:
        # The copies on the controller are the only changes.
        reports = {"report_dest": str(tmp_path / "report"), "report_controller_dest": str(copy.parent)}
        assert changed(role.run(spark_master=master, controller_dest=str(copy), **reports)) == 2
        assert "app-" in "".join(each.name for each in (tmp_path / "cluster" / "work").iterdir())
    assert role.plan.read_bytes() == copy.read_bytes() == before
    assert not role.facts()[1]["changed"]
    assert role.facts()[1]["report"] == str(tmp_path / "report" / "report.html")
    for name in ("report.html", "report.json"):
        assert (copy.parent / name).read_bytes() == (tmp_path / "report" / name).read_bytes()

    checked = role.run("--check", policy={"version": 1})
    assert changed(checked) == 1
    assert role.plan.read_bytes() == before
    path, result = role.facts()
    assert path != str(role.plan)
    assert left_behind(checked) == [["plan.jsonl"]]
    assert {row.state for row in read_plan(path).rows()} == {"COLD"}


def test_driver_in_a_cluster_hands_the_plan_over(role: Role, tmp_path: Path) -> None:
    """There is no YARN here: a program in place of spark-submit runs the driver as YARN would."""
    driver = tmp_path / "driver"
    program = tmp_path / "spark-submit"
    program.write_text(STAND_IN.format(python=sys.executable, folder=str(driver)))
    program.chmod(0o755)
    shared = f"file://{tmp_path}/shared"

    run = role.run(
        spark_submit=str(program),
        spark_master="yarn",
        spark_deploy_mode="cluster",
        spark_packages=["org.example:storage:1.0"],
        shared_folder=shared,
        report_dest=str(tmp_path / "report"),
    )

    assert changed(run) == 1
    given = json.loads((driver / "argv.json").read_text())
    assert given[:6] == ["--master", "yarn", "--deploy-mode", "cluster", "--name", "partition_classify"]
    assert "--conf=spark.yarn.submit.waitAppCompletion=true" in given
    assert "--conf=spark.kubernetes.submission.waitAppCompletion=true" in given
    assert "--conf=spark.yarn.maxAppAttempts=1" in given
    assert f"--conf=spark.pyspark.python={sys.executable}" in given
    assert given[given.index("--packages") + 1] == "org.example:storage:1.0"
    assert given[given.index("--policy") + 1] == "policy.yml"
    assert given[given.index("--hand-over") + 1].startswith(f"{shared}/partition_classify.")
    assert "olap.partmove.partition_classify: Spark says RUNNING" in run.output
    assert CREDENTIAL not in run.output
    path, result = role.facts()
    assert path == result["plan"] == str(role.plan)
    assert result["report"] == str(tmp_path / "report" / "report.html")
    assert "Hot and cold partitions" in Path(result["report"]).read_text(encoding="utf-8")
    assert [(row.partition, row.state) for row in read_plan(path).rows()] == [
        ("202610", "COLD"),
        ("202611", "HOT"),
    ]
    assert list((tmp_path / "shared").iterdir()) == []
    assert left_behind(run) == []


def test_files_of_the_ensembles_are_read_instead_of_them(role: Role, tmp_path: Path) -> None:
    tree = GeneratedTree(shard_paths=2, parts=24, replicas=2, partitions=3, cold=1)
    folders: dict[str, Any] = {}
    for ensemble, first_zxid in (("hot", 1), ("cold", 2)):
        write_generated(tmp_path / ensemble, tree, first_zxid=first_zxid)
        folders[f"{ensemble}_files"] = [{"data_dir": str(tmp_path / ensemble)}]
        del role.variables[f"partition_classify_{ensemble}"]
    run = role.run(source="zookeeper_snapshot", root=tree.root, **folders)
    assert changed(run) == 1
    assert f"{tmp_path}/cold: snapshot." in run.output
    rows = list(read_plan(role.plan).rows())
    assert [row.shard_path for row in rows] == sorted(tree.paths * tree.partitions)
    assert [row.state for row in rows] == ["COLD", "COLD", "HOT"] * tree.shard_paths
    assert changed(role.run(source="zookeeper_snapshot", root=tree.root, **folders)) == 0


def test_refusal_of_the_job_is_shown(role: Role) -> None:
    run = role.run(policy={"version": 1, "defaults": {"cold_after": "soon"}})
    assert run.status != 0
    (message,) = re.findall(r'"msg": "([^"]*soon[^"]*)"', run.output)
    assert re.fullmatch(r"\S+/policy.yml: defaults.cold_after is 'soon'. Write [^.]+\.", message)
    assert CREDENTIAL not in run.output
    assert left_behind(run) == []


def test_servers_are_asked_when_they_are_given(role: Role) -> None:
    run = role.run(clickhouse={"hosts": ["127.0.0.1:1"], "password": "hunter3"})
    assert run.status != 0
    assert "ClickHouse at 127.0.0.1:1 cannot be reached: Connection refused" in run.output
    assert "hunter3" not in run.output
    assert not role.plan.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("root", "hits"),
        ("plan_dest", "plan.jsonl"),
        ("parquet_dest", "rows"),
        ("spark_conf", {"spark.submit.deployMode": "cluster"}),
        ("spark_deploy_mode", "cluster"),
        ("source", "zookeeper_snapshot"),
        ("hot", {"chroot": "/ch"}),
        ("cold", {"hosts": ["zk1"], "pasword": "x"}),
        ("clickhouse", {"port": 8123}),
        ("sessions", "many"),
    ],
)
def test_variables_that_cannot_be_are_refused_before_anything_runs(
    role: Role, name: str, value: object
) -> None:
    run = role.run("--check", **{name: value})
    assert run.status != 0
    assert "Make the folder" not in run.output
