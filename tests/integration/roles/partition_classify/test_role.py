# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role, run by ansible-playbook on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from support.ansible.calls import run_playbook, write_playbook
from support.ansible.classify_role import CREDENTIAL, Role, left_behind, role, role_variables
from support.ansible.role_runs import changed
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.spark_cluster import standalone_cluster

__all__ = ["role"]


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


def keeper_folders(role: Role, tree: GeneratedTree, **options: str) -> dict[str, Any]:
    """Variables for snapshots of Keeper in place of the ensembles of the role."""
    folders: dict[str, Any] = {"source": "zookeeper_snapshot", "root": tree.root}
    for ensemble, first_zxid in (("hot", 1), ("cold", 2)):
        folder = role.folder / ensemble
        write_generated_keeper(folder, tree, KeeperSnapshotFile(), first_zxid=first_zxid)
        folders[f"{ensemble}_files"] = [{"data_dir": str(folder), **options}]
        del role.variables[f"partition_classify_{ensemble}"]
    return folders


def test_snapshot_of_keeper_is_read_on_this_host_and_on_a_cluster(role: Role, tmp_path: Path) -> None:
    tree = GeneratedTree(shard_paths=2, parts=24, replicas=2, partitions=3, cold=1)
    sorted_dir = tmp_path / "sorted"
    sorted_dir.mkdir()
    folders = keeper_folders(role, tree, sorted_dir=str(sorted_dir))
    run = role.run(**folders)
    assert changed(run) == 1
    assert f"sorted {role.folder}/cold/snapshot_2000.bin.zstd" in run.output
    rows = list(read_plan(role.plan).rows())
    assert [row.shard_path for row in rows] == sorted(tree.paths * tree.partitions)
    assert [row.state for row in rows] == ["COLD", "COLD", "HOT"] * tree.shard_paths
    assert not list(sorted_dir.iterdir())

    before = role.plan.read_bytes()
    with standalone_cluster(tmp_path / "cluster") as master:
        again = role.run(spark_master=master, **folders)
    assert changed(again) == 0, again.told
    assert role.plan.read_bytes() == before
    assert not list(sorted_dir.iterdir())


def test_cluster_needs_a_shared_folder_for_the_copy_of_keeper(role: Role) -> None:
    """Nobody listens at the address of the master: the job ends before it asks for executors."""
    run = role.run(spark_master="spark://127.0.0.1:1", **keeper_folders(role, GeneratedTree(1, 2, 1, 1)))
    assert run.status != 0
    assert "whose sorted copy the executors of a cluster need" in run.output
    assert not role.plan.exists()
    assert left_behind(run) == []


def test_failure_of_the_job_is_shown_and_no_secret(role: Role) -> None:
    """It asks the servers, as they are given, and here there are none."""
    run = role.run(clickhouse={"hosts": ["127.0.0.1:1"], "password": "hunter3"})
    assert run.status != 0
    (message,) = re.findall(r'"msg": "([^"]*ClickHouse[^"]*)"', run.output)
    assert re.fullmatch(r"ClickHouse at 127.0.0.1:1 cannot be reached: Connection refused. [^.]+\.", message)
    assert CREDENTIAL not in run.output
    assert "hunter3" not in run.output
    assert not role.plan.exists()
    assert left_behind(run) == []


REFUSED = {
    "root": "hits",
    "plan_dest": "plan.jsonl",
    "parquet_dest": "rows",
    "spark_conf": {"spark.submit.deployMode": "cluster"},
    "spark_deploy_mode": "cluster",
    "source": "zookeeper_snapshot",
    "hot": {"chroot": "/ch"},
    "cold": {"hosts": ["zk1"], "pasword": "x"},
    "clickhouse": {"port": 8123},
    "sessions": "many",
    # There is a cold ensemble in the others.
    "separation": "twin",
}
"""A value that cannot be, by the variable of the role."""


def test_a_driver_python_of_notebooks_does_no_harm_and_the_result_is_shown(
    role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spark-submit of pip starts this program, also for jobs that are no notebooks."""
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "jupyter")
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON_OPTS", "notebook")
    run = role.run("--check")
    assert run.status == 0, run.told
    path, result = role.facts()
    assert result["to_move"]["znodes"] == 1
    assert (
        f'"msg": "Plan {path}: 2 partitions, 1 COLD and 1 HOT. To move: 1 with 1 znode. To bring back: 0.'
        ' Busy: 0. Left alone by the policy: 0."' in run.output
    )


def test_a_check_run_that_fails_leaves_no_folder(role: Role) -> None:
    run = role.run("--check", policy={"version": 1, "defaults": {"no_such_rule": 1}})
    assert run.status == 2, run.told
    assert list(role.folder.glob("partition_classify.*")) == []


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Ansible wrote of the attempt to run the role with each of those; all are made in one run."""
    folder = tmp_path_factory.mktemp("refused")
    usual = role_variables(folder, "/hits", hot=["127.0.0.1:1"], cold=["127.0.0.1:1"])
    tasks: list[dict[str, Any]] = []
    for name, value in REFUSED.items():
        attempt = {
            "ansible.builtin.include_role": {"name": "olap.partmove.partition_classify"},
            "vars": usual | {f"partition_classify_{name}": value},
        }
        caught = {"name": "It was refused", "ansible.builtin.debug": {"var": "ansible_failed_task.name"}}
        tasks.append({"name": f"Begin with {name}", "ansible.builtin.debug": {"msg": "an attempt"}})
        tasks.append({"block": [attempt], "rescue": [caught]})
    run = run_playbook(write_playbook(folder, tasks), "--check", TMPDIR=str(folder))
    found = re.split(r"^TASK \[Begin with (\w+)\]", run.output, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_variables_that_cannot_be_are_refused_before_anything_runs(
    attempts: dict[str, str], name: str
) -> None:
    assert "TASK [It was refused]" in attempts[name]
    assert "Create the folder" not in attempts[name]
