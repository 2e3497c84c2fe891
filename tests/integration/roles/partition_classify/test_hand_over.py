# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a driver leaves on shared storage, and who takes it, with the file systems of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import PlanError
from partition_classify.hand_over import HandOver

pytestmark = pytest.mark.usefixtures("spark")


def test_what_was_put_is_taken_until_it_is_removed(tmp_path: Path) -> None:
    folder, plan = tmp_path / "shared" / "run", tmp_path / "plan.jsonl"
    plan.write_bytes(b"the plan\n")
    there = HandOver(f"file://{folder}")
    there.put_plan(plan)
    there.put_summary({"plan": "é"})

    here = HandOver(there.url)
    assert here.take_summary(tmp_path, "") == {"plan": "é"}
    here.take_plan(tmp_path / "taken.jsonl")
    assert (tmp_path / "taken.jsonl").read_bytes() == b"the plan\n"
    assert plan.exists()
    here.remove()
    assert not folder.exists()
    with pytest.raises(PlanError, match=f"no outcome to file://{folder}; last message of spark-submit"):
        here.take_summary(tmp_path, "bad luck")


def test_outcome_that_is_an_error_is_raised(tmp_path: Path) -> None:
    there = HandOver(f"file://{tmp_path}/shared")
    there.put_error("There is no table. Give another root.")
    with pytest.raises(PlanError, match=r"^There is no table\. Give another root\.$"):
        there.take_summary(tmp_path, "")


def test_plan_that_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/shared"
    with pytest.raises(PlanError, match=f"^{url}: the shared storage cannot be used: "):
        HandOver(url).take_plan(tmp_path / "plan.jsonl")


def test_storage_that_spark_does_not_know_is_refused_in_a_sentence() -> None:
    with pytest.raises(PlanError, match=r'^nope:///x: the shared storage cannot be used: .*"nope"'):
        HandOver("nope:///x")
