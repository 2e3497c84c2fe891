# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role writes a plan once, also on a cluster, and leaves it alone in check mode; so with its archive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from partition_classify.report.files import REPORT_FILES
from support.ansible.classify_role import CREDENTIAL, Role, left_behind, role
from support.ansible.role_runs import changed
from support.plans import summary_of
from support.servers import warm_spark
from support.servers.class_archives import wait_for_archive
from support.servers.jvm import ARCHIVES, ARCHIVING_SPARK_CONF, SPARK
from support.servers.spark_cluster import standalone_cluster

__all__ = ["role"]


# Makes the archive that it is asked for, as Java does. With one that is there Java has to start, whatever it
# is, and to be silent on the standard output.
STAND_IN = """#!/bin/sh -e
case $SPARK_SUBMIT_OPTS in
    *-XX:SharedArchiveFile=*) [ -z "$("${{JAVA_HOME:+$JAVA_HOME/bin/}}java" $SPARK_SUBMIT_OPTS -version)" ] ;;
esac
for option in $SPARK_SUBMIT_OPTS; do
    case $option in -XX:ArchiveClassesAtExit=*) echo made > "${{option#*=}}" && touch {made} ;; esac
done
echo '{summary}'
"""


def archive_of_tests(folder: Path) -> Path:
    """Link to the one that the role had Java make before the tests (support.servers.class_archives), if any.

    Where there is none, the role has Java make it in that place.
    """
    archive = folder / "classes.jsa"
    if (made := ARCHIVES / SPARK).exists():
        archive.symlink_to(made)
    return archive


def test_plan_and_archive_are_written_once_and_check_mode_leaves_them_alone(
    role: Role, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = archive_of_tests(tmp_path)
    with monkeypatch.context() as patch:
        # As users have it.
        patch.delenv("SPARK_HOME")
        first = role.run(class_archive=str(archive), spark_conf=ARCHIVING_SPARK_CONF)
    assert changed(first) == 1
    wait_for_archive(archive)
    assert archive.stat().st_size > 1 << 20
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
        options = {
            "class_archive": str(archive),
            "spark_conf": ARCHIVING_SPARK_CONF,
            "controller_dest": str(copy),
        }
        again = role.run(spark_master=master, **options, **reports)
        assert changed(again) == 2
        assert left_behind(again) == []
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
    warm = {"spark_submit": str(warm_spark.program())}
    checked = role.run("--check", policy={"version": 1}, compare_policy="other.yml", **warm, **seen)
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


def test_archive_is_made_once_in_check_mode_too(role: Role, tmp_path: Path) -> None:
    """A program in place of spark-submit does in no time what counts."""
    archive, made, program = tmp_path / "classes.jsa", tmp_path / "made", tmp_path / "spark-submit"
    summary = json.dumps(summary_of([]) | {"plan": str(role.plan), "changed": False})
    program.write_text(STAND_IN.format(made=made, summary=summary))
    program.chmod(0o755)
    # The driver of other tests has an archive, so that the role would make none.
    options = {
        "class_archive": str(archive),
        "spark_conf": ARCHIVING_SPARK_CONF,
        "spark_submit": str(program),
    }
    checked = role.run("--check", **options)
    assert changed(checked) == 0
    wait_for_archive(archive)
    assert archive.read_text() == "made\n"
    made.unlink()
    # What was made is no archive, as Java finds it after it was upgraded.
    assert changed(role.run(**options)) == 0
    assert not made.exists()
    assert archive.read_text() == "made\n"
