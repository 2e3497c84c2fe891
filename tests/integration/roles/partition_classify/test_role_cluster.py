# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role with a driver that runs somewhere in a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from support.ansible.classify_role import CREDENTIAL, Role, left_behind, role, role_variables
from support.ansible.role_runs import changed
from support.servers import warm_spark

__all__ = ["role"]


STAND_IN = """#!{python}
# Runs the driver in a folder that has the files of --files, and fetches as the true program does.
import json, pathlib, shutil, subprocess, sys

argv = sys.argv[1:]
true = {spark!r}
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


def test_driver_in_a_cluster_hands_the_plan_over(role: Role, tmp_path: Path) -> None:
    """There is no YARN here: a program in place of spark-submit runs the driver as YARN would."""
    driver = tmp_path / "driver"
    program = tmp_path / "spark-submit"
    program.write_text(
        STAND_IN.format(python=sys.executable, spark=str(warm_spark.program()), folder=str(driver))
    )
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
    assert "olap.partmove.partition_classify: Spark reports RUNNING" in run.output
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


def test_a_folder_that_the_plan_cannot_be_fetched_to_is_refused_first(role: Role) -> None:
    run = role.run(
        spark_submit="/none/spark-submit",
        spark_master="yarn",
        spark_deploy_mode="cluster",
        shared_folder="hdfs:///partmove",
        plan_dest="/none/plan.jsonl",
    )
    assert run.status != 0
    assert (
        "/none/plan.jsonl: the plan cannot be written, this user cannot write to /none. Make the"
        in run.output
    )
    assert "Create the folder with the job]" not in run.output


def test_places_that_are_written_to_at_the_end_are_looked_at_first(tmp_path: Path) -> None:
    """What is below a file can be no folder, not even for root."""
    (tmp_path / "file").touch()
    below = f"{tmp_path}/file/below"
    role = Role(tmp_path, role_variables(tmp_path, "/hits", hot=["127.0.0.1:1"], cold=["127.0.0.1:1"]))
    cluster = {
        "spark_submit": "/none/spark-submit",
        "spark_master": "yarn",
        "spark_deploy_mode": "cluster",
        "shared_folder": "hdfs:///partmove",
    }

    run = role.run(**cluster, report_dest=below)
    assert run.status != 0
    assert f"{below}: the report cannot be written there: " in run.output
    assert "Give a folder that this user can write to on the host of the play" in run.output
    assert "Create the folder with the job]" not in run.output

    run = role.run(controller_dest=f"{below}/plan.jsonl")
    assert run.status != 0
    assert f"{below} on the controller: the plan or the report cannot be copied there: " in run.output
    assert "Not a directory" in run.output.partition("cannot be copied")[2].partition("Give folders")[0]
    assert "Create the folder with the job]" not in run.output

    # In check mode the plan is not copied, and the report is.
    run = role.run(
        "--check", controller_dest=f"{below}/plan.jsonl", report_dest=below, report_controller_dest=below
    )
    assert run.status != 0
    assert f"{below} on the controller: the plan or the report cannot be copied" in run.output
