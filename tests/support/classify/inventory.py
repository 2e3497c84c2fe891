# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory and servers say of partitions, with ages in place of times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import PartitionUsage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import InventoryRow
from partition_classify.sources.part_groups import GROUP_SCHEMA, part_groups

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 20_000 * DAY
"""The moment to decide for, in milliseconds since 1970."""


def part(
    partition: str,
    age: int,
    *,
    name: str = "0_0_0",
    replica: str = "r1",
    ensemble: str = "hot",
    state: str = "",
) -> InventoryRow:
    """A part of one znode and 100 bytes that was registered ``age`` milliseconds ago."""
    return InventoryRow("", replica, f"{partition}_{name}", partition, NOW - age, 100, 1, ensemble, state)


def inventory_of(spark: SparkSession, rows: Iterable[InventoryRow]) -> DataFrame:
    """The rows as a source gives them to the job."""
    in_order = sorted(rows, key=lambda row: (row.shard_path, row.ensemble != "hot", row.replica))
    groups = part_groups(in_order)  # type: ignore[arg-type]  # rows of the same class by its other name
    return spark.createDataFrame(list(groups), GROUP_SCHEMA)


def sign(partition: str, **known: Any) -> PartitionUsage:
    """What a server says of a partition; fields that are not given say nothing."""
    return PartitionUsage("", partition, "default.t")._replace(**known)
