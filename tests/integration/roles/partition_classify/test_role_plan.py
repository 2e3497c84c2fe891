# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role writes a plan once, also on a cluster, and leaves it alone in check mode."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from partition_classify.report.files import REPORT_FILES
from support.ansible.classify_role import CREDENTIAL, Role, left_behind, role
from support.ansible.role_runs import changed
from support.servers.spark_cluster import standalone_cluster

__all__ = ["role"]


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
        assert "app-" in "".join(each.name for each in (tmp_path / "cluster" / "worker1").iterdir())
    assert role.plan.read_bytes() == copy.read_bytes() == before
    assert not role.facts()[1]["changed"]
    assert role.facts()[1]["report"] == str(tmp_path / "report" / "report.html")
    for name in REPORT_FILES:
        assert (copy.parent / name).read_bytes() == (tmp_path / "report" / name).read_bytes()

    # A path that does not begin with a slash is below the folder of the playbook. The report is where it was
    # asked for.
    (tmp_path / "other.yml").write_text("version: 1\ndefaults: {keep_newest: 9}\n")
    seen = {"report_dest": str(tmp_path / "seen"), "report_controller_dest": str(tmp_path / "copied")}
    checked = role.run("--check", policy={"version": 1}, compare_policy="other.yml", **seen)
    assert changed(checked) == 2
    for folder in seen.values():
        assert {each.name for each in Path(folder).iterdir()} == set(REPORT_FILES)
    assert role.plan.read_bytes() == before
    path, result = role.facts()
    assert path != str(role.plan)
    assert left_behind(checked) == [["plan.jsonl"]]
    assert {row.state for row in read_plan(path).rows()} == {"COLD"}
    assert result["comparison"]["to_move"]["less"] == result["to_move"]
    for line in result["comparison"]["text"]:
        assert f"olap.partmove.partition_classify: {line}" in checked.output
