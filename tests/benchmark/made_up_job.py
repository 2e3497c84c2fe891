# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The classification job with rows that Spark makes up, however many, in place of those of an ensemble.

Started by spark-submit, with the number of rows in front of the arguments of the job.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it

from olap_partmove._partmove.plan.origin import OriginZnode
from partition_classify import job
from partition_classify.sources.ensemble_size import EnsembleSize
from partition_classify.sources.inventory_rows import INVENTORY_SCHEMA

NOW = 1_763_600_000_000
"""The moment to decide for, in milliseconds since 1970."""
DAY = 86_400_000

REPLICAS = 2
PARTS = 5
ROWS_OF_A_PARTITION = REPLICAS * PARTS
# One table has every fifth partition, the others share what is left.
_OF_THE_GIANT = 5
_OTHER_TABLES = 4_999
_ROWS_OF_A_TASK = 500_000
_OLDEST_DAYS = 90


@dataclass(frozen=True)
class MadeUp:
    """A source in the place of ensembles: the same rows for the same number, on any machine."""

    rows: int

    @property
    def description(self) -> str:
        """What the header of the plan says was read."""
        return f"made up: {self.rows} rows"

    def inventory(self, spark: SparkSession) -> DataFrame:
        """The inventory, with the columns of INVENTORY_SCHEMA."""
        numbers = spark.range(0, self.rows, 1, 1 + self.rows // _ROWS_OF_A_TASK)
        partition = F.floor(F.col("id") / ROWS_OF_A_PARTITION)
        other = F.format_string("/clickhouse/tables/%04d/hits", partition % _OTHER_TABLES)
        partition_id = F.format_string("%09d", partition)
        number = F.col("id") % PARTS
        replica = F.floor(F.col("id") / PARTS) % REPLICAS
        columns = {
            "shard_path": F.when(partition % _OF_THE_GIANT == 0, "/clickhouse/tables/giant").otherwise(other),
            "replica": F.format_string("clickhouse-%02d.example.org", replica + 1),
            "part": F.format_string("%s_%d_%d_0", partition_id, number, number),
            "partition_id": partition_id,
            "mtime": F.lit(NOW) - partition % _OLDEST_DAYS * DAY - number,
            "bytes": 90 + partition % 30,
            "znodes": F.lit(1),
            "ensemble": F.lit("hot"),
            "state": F.lit(""),
        }
        return numbers.select(
            *(columns[each.name].cast(each.dataType).alias(each.name) for each in INVENTORY_SCHEMA)
        )

    def origin(self, paths: Sequence[str]) -> list[OriginZnode]:
        """As if all had been created by the first transaction."""
        return [OriginZnode(path, 1, NOW) for path in paths]

    def size_of_hot(self) -> EnsembleSize | None:
        """Not told."""
        return None


def main() -> int:
    """Run the job; the exit status is that of the job."""
    rows, *arguments = sys.argv[1:]
    with patch.object(job, "source_of", lambda _arguments: MadeUp(int(rows))):
        return job.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
