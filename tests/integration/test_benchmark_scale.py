# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the benchmark of many rows measures, with a few: the plan is the same wherever Spark runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.bench_scale import ScaleRun, of_one_partition, on_a_cluster, on_one_machine, require_one_plan
from support.servers.jvm import SMALL_SPARK_CONF

ROWS = 20_003
SETTINGS = {name: value for name, value in SMALL_SPARK_CONF.items() if "memory" not in name} | {
    "spark.sql.adaptive.enabled": "true"
}
RUN = ScaleRun("local[2]", 1.0, "a", 1, 100, {"driver, Java": 900.0, "task, Python": 100.0}, 1.0, 1.0)


@pytest.mark.long(minutes=2)
def test_plan_is_the_same_from_one_thread_and_two_workers(tmp_path: Path) -> None:
    """That two threads write what a cluster does the role shows, see test_role_plan.py."""
    runs = [on_one_machine(tmp_path, ROWS, SETTINGS, threads=1), on_a_cluster(tmp_path, ROWS, SETTINGS)]
    require_one_plan(runs)
    assert [each.rows for each in runs] == [2_001] * 2
    on_cluster = runs[1].peak_mb
    assert set(on_cluster) == {"driver, Java", "driver, Python", "executor, Java", "task, Python"}
    assert all(peak > 0 for run in runs for peak in run.peak_mb.values())
    assert all(run.cpu_seconds > 1 for run in runs)


def test_one_partition_may_have_all_parts(tmp_path: Path) -> None:
    run = of_one_partition(tmp_path, ROWS, SETTINGS)
    assert run.rows == 1
    assert '"parts":10002' in (tmp_path / "plan.jsonl").read_text()


def test_other_plans_are_refused() -> None:
    with pytest.raises(RuntimeError, match="the plans of the same rows differ"):
        require_one_plan([RUN, replace(RUN, rows_digest="b")])


def test_too_much_memory_is_refused() -> None:
    large = replace(RUN, peak_mb={"driver, Java": 9_000.0})
    with pytest.raises(RuntimeError, match="driver, Java had 9000 MB, and 1792 is the most"):
        require_one_plan([RUN, large])
