# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many sessions the arguments ask for, with real ensembles and a real local Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession

from partition_classify.sources.choice import LiveSource
from partition_classify.sources.distributed_read import DistributedRead
from partition_classify.sources.part_groups import GROUP_SCHEMA
from support.memory.synthetic import SyntheticTable
from support.servers.zookeeper import Ensemble


@pytest.mark.parametrize(
    ("sessions", "znodes_per_second", "target", "tasks"),
    # Two tasks run at once: with a limit to the rate, a third would keep its share while it waits. A low rate
    # is reached by one.
    # With a latency target, a task has two sessions.
    [
        *((32, 0, 0.0, 5), (3, 0, 0.0, 3), (32, 100_000, 0.0, 2), (32, 5_000, 0.0, 1), (32, 5_001, 0.0, 2)),
        *((1, 100_000, 0.0, 1), (32, 0, 0.005, 5), (7, 0, 0.005, 3), (32, 5_001, 0.005, 2)),
        *((32, 5_000, 0.005, 1), (3, 5_001, 0.005, 1), (1, 0, 0.005, 1)),
    ],
)
def test_tasks_are_as_many_as_may_have_a_session(
    spark: SparkSession,
    hot: Ensemble,
    connect: Callable[[str], KazooClient],
    base: str,
    sessions: int,
    znodes_per_second: float,
    target: float,
    tasks: int,
) -> None:
    client = connect(hot.connect_string)
    for number in range(5):
        SyntheticTable(client, f"{base}/{number}/hits").create().add_part("r1", "202611_0_0_0")
    connections = {"hot": {"hosts": hot.connect_string.split(",")}}
    source = LiveSource(connections, base, sessions, znodes_per_second, target)
    rows = DistributedRead(source.reader(2), GROUP_SCHEMA).rows(spark)
    assert rows.rdd.getNumPartitions() == tasks
    assert rows.count() == 5
    size = source.size_of_hot()
    assert size is not None
    assert size.znodes > 5
