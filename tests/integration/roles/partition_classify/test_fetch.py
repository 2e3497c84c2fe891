# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the host of the play takes what a driver in a cluster has left, with the file systems of Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.plan.file import PlanRow, read_plan
from olap_partmove._partmove.plan.origin import OriginZnode
from olap_partmove._partmove.plan.writing import write_plan
from partition_classify import fetch
from partition_classify.hand_over import HandOver
from partition_classify.report.files import REPORT_FILES

pytestmark = pytest.mark.usefixtures("spark")

ROW = PlanRow("/t", "202611", State.COLD, "old", 0, 1, 1, 1)


def make_plan(path: Path, digest: str = "0") -> Path:
    write_plan(
        path,
        [ROW],
        policy_digest=digest * 64,
        source="test",
        origin=lambda paths: [OriginZnode(path, 17, 0) for path in paths],
        as_of=0,
    )
    return path


def run_fetch(url: str, plan: Path, *options: str) -> int:
    given = ["--hand-over", url, "--plan", str(plan), "--previous", str(plan), "--submit-message=bad luck"]
    return fetch.main([*given, *options])


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/shared/run"


def test_plan_and_summary_arrive_and_nothing_stays(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.jsonl"
    for digest, changed in (("0", True), ("0", False), ("1", True)):
        there = HandOver(url)
        there.put_plan(make_plan(tmp_path / "there.jsonl", digest))
        there.put_summary({"plan": "elsewhere", "changed": True, "rows": 1})

        assert run_fetch(url, plan) == 0

        assert json.loads(capsys.readouterr().out) == {
            "plan": str(plan),
            "report": None,
            "changed": changed,
            "rows": 1,
        }
        assert list(read_plan(plan).rows()) == [ROW]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["plan.jsonl", "shared", "there.jsonl"]
        assert list((tmp_path / "shared").iterdir()) == []


def test_report_arrives(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made, report = tmp_path / "made", tmp_path / "reports" / "newest"
    made.mkdir()
    for name in REPORT_FILES:
        made.joinpath(name).write_text(name)
    there = HandOver(url)
    there.put_plan(make_plan(tmp_path / "there.jsonl"))
    there.put_report(made)
    there.put_summary({"plan": "elsewhere", "report": "elsewhere", "changed": True, "rows": 1})
    assert run_fetch(url, tmp_path / "plan.jsonl", f"--report={report}") == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(report / "report.html")
    assert {each.name: each.read_text() for each in report.iterdir()} == {name: name for name in REPORT_FILES}


def test_sentence_of_the_driver_is_told(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    HandOver(url).put_error("There is no table. Give another root.")
    assert run_fetch(url, tmp_path / "plan.jsonl") == 1
    assert capsys.readouterr().err == "partition_classify failed: There is no table. Give another root.\n"
    assert not (tmp_path / "plan.jsonl").exists()


def test_driver_that_left_nothing_is_told_with_what_spark_submit_said(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_fetch(url, tmp_path / "plan.jsonl") == 1
    assert capsys.readouterr().err == (
        f"partition_classify failed: The driver has written no outcome to {url};"
        " last message of spark-submit: bad luck. "
        "Read the log of the driver in the cluster.\n"
    )
