# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Both sources of classification read the tables of a modern ClickHouse, and read the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from support.files.inventories import copied, files, live
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.history import UPDATE, tables_with_a_history
from support.servers.modern.server import ModernShard, ModernShardMaker
from support.servers.spark import spark
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

__all__ = ["spark"]

BASE = "/clickhouse/tables/01"


class Ensembles(NamedTuple):
    """Two of their own: files of one whose leader changed in another test may not begin early enough."""

    hot: Ensemble
    cold: Ensemble


@pytest.fixture
def ensembles(tmp_path: Path) -> Iterator[Ensembles]:
    with Ensemble(tmp_path / "hot") as hot, Ensemble(tmp_path / "cold") as cold:
        yield Ensembles(hot, cold)


@pytest.fixture
def shard(ensembles: Ensembles, start_modern: ModernShardMaker) -> ModernShard:
    hot, cold = (ZooKeeperSource(ensemble.connect_string) for ensemble in ensembles)
    return start_modern(hot, {"cold": cold})


def test_files_and_sessions_tell_the_same_of_tables_of_modern_servers(
    spark: SparkSession, shard: ModernShard, ensembles: Ensembles, tmp_path: Path
) -> None:
    if not shard.servers[0].is_at_least(23, 10):
        pytest.skip("this version cannot stop its cleanup, which deletes znodes between the two readings")
    tables = tables_with_a_history(shard, BASE)
    shard.execute("SYSTEM STOP MERGES")
    shard.execute("SYSTEM STOP CLEANUP")
    expected = sorted(live(spark, BASE, hot=ensembles.hot, cold=ensembles.cold).collect())
    hot, cold = (copied(ensemble, tmp_path / f"copy-{number}") for number, ensemble in enumerate(ensembles))
    found = sorted(files(spark, BASE, hot=hot, cold=cold).collect())
    assert found == expected

    first, _second = shard.servers
    for table in tables[:3]:
        rows = [row for row in expected if row.shard_path == f"{BASE}/{table}" and row.replica == "r1"]
        assert {row.part for row in rows} >= set(first.parts(table))
    if not first.knows(UPDATE):
        return
    # Patches are parts of partitions of their own.
    patches = {row.partition_id for row in expected if row.partition_id.startswith("patch-")}
    assert any(partition.endswith("-20240101") for partition in patches)
