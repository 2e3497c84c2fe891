# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan from copied files is the plan of the live source, for tables of real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from partition_classify.policy.file import read_policy
from partition_classify.policy.transforms import plan_rows
from support.files.inventories import copied, files, live
from support.servers.moving import Mover
from support.servers.replicated import BY_DAY, OLD_STYLE, UNPARTITIONED, TableMaker
from support.servers.spark import spark
from support.servers.zookeeper import Ensemble

__all__ = ["spark"]

pytestmark = pytest.mark.clickhouse

LATER = 4_000_000_000_000
"""A moment at which every part is old, in milliseconds since 1970."""


def test_plan_from_files_is_the_plan_of_the_live_source(
    spark: SparkSession,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    make_table: TableMaker,
    mover: Mover,
    base: str,
    tmp_path: Path,
) -> None:
    tables = [make_table(definition) for definition in (BY_DAY, OLD_STYLE, UNPARTITIONED)]
    for table in tables:
        table.fill(["2019-12-01", "2019-12-02", "2020-01-03", "2020-02-04"])
        table.settle()
    assert mover.move(tables[0], ["20191201", "20200103"]).moved
    policy_file = tmp_path / "policy.yml"
    policy_file.write_text("version: 1\ndefaults: {cold_after: 1d, keep_newest: 1}\n")
    policy = read_policy(policy_file)

    inventory = live(spark, base, hot=hot_ensemble, cold=cold_ensemble, groups=True)
    expected = plan_rows(inventory, policy, LATER).collect()
    hot, cold = copied(hot_ensemble, tmp_path / "hot"), copied(cold_ensemble, tmp_path / "cold")
    found = plan_rows(files(spark, base, hot=hot, cold=cold, groups="true"), policy, LATER).collect()

    decisions = {(row.state, row.action) for row in expected}
    assert decisions == {("COLD", "move"), ("COLD", "stay"), ("HOT", "stay")}
    assert sorted(found) == sorted(expected)
