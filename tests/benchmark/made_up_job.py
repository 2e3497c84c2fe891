# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The classification job with rows that are made up, however many, in place of those of an ensemble.

Started by spark-submit, with the shape of the rows and their number in front of the arguments of the job.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from olap_partmove._partmove.plan.origin import OriginZnode
from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify import job
from partition_classify.sources.choice import InventorySource
from partition_classify.sources.ensemble_size import EnsembleSize
from partition_classify.sources.inventory_rows import record_batches
from partition_classify.sources.part_groups import GROUP_SCHEMA, part_groups

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
_ENSEMBLES = 2


MANY = "many"
"""Partitions of ten parts each, a fifth of them of one table."""
ONE = "one"
"""One partition whose State is COLD: each part is in hot and in cold, so that all keep their names."""


@dataclass(frozen=True)
class MadeUp:
    """A source in the place of ensembles: the same rows for the same number, on any machine."""

    rows: int
    shape: str = MANY

    @property
    def description(self) -> str:
        """What the header of the plan says was read."""
        return f"made up: {self.rows} rows"

    def opened(self) -> AbstractContextManager[MadeUp]:
        """Nothing to prepare."""
        return nullcontext(self)

    def reader(self, tasks_at_once: int) -> MadeUpReader:
        """What makes the inventory, with the columns of GROUP_SCHEMA."""
        return MadeUpReader(self.rows, self.shape)

    def origin(self, paths: Sequence[str]) -> list[OriginZnode]:
        """As if all had been created by the first transaction."""
        return [OriginZnode(path, 1, NOW) for path in paths]

    def last_change(self) -> int | None:
        """Made up at the moment of the run."""
        return None

    def size_of_hot(self) -> EnsembleSize | None:
        """Not told."""
        return None


@dataclass(frozen=True)
class MadeUpReader(DataSourceReader):
    """Tasks make the rows of parts, and add them up."""

    rows: int
    shape: str

    def partitions(self) -> Sequence[InputPartition]:
        """Numbers, of partitions or of parts, about as many for each task."""
        numbers = -(-self.rows // (ROWS_OF_A_PARTITION if self.shape == MANY else _ENSEMBLES))
        tasks = 1 + self.rows // _ROWS_OF_A_TASK
        ends = [task * numbers // tasks for task in range(tasks + 1)]
        return [InputPartition(range(*each)) for each in pairwise(ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The groups of the parts of these numbers."""
        return _made_up(self.rows, partition.value) if self.shape == MANY else _of_one(partition.value)


def _made_up(rows: int, numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The parts of the partitions of these numbers, of so many parts in all."""
    parts = (row for number in numbers for row in _parts_of(number, rows))
    return record_batches(part_groups(parts), GROUP_SCHEMA)


def _of_one(numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The parts of these numbers, each in both ensembles."""
    rows = (
        InventoryRow(
            "/clickhouse/tables/01/hits", "clickhouse-01.example.org", f"202501_{number}_{number}_0",
            "202501", NOW - 90 * DAY, 120, 1, ensemble, "COLD",
        )
        for number in numbers
        for ensemble in ("hot", "cold")
    )  # fmt: skip
    return record_batches(part_groups(rows, has_all=False), GROUP_SCHEMA)


def _parts_of(partition: int, rows: int) -> Iterator[InventoryRow]:
    is_of_giant = partition % _OF_THE_GIANT == 0
    path = "/clickhouse/tables/" + ("giant" if is_of_giant else f"{partition % _OTHER_TABLES:04d}/hits")
    partition_id = f"{partition:09d}"
    written = NOW - partition % _OLDEST_DAYS * DAY
    first = partition * ROWS_OF_A_PARTITION
    for number in range(min(ROWS_OF_A_PARTITION, rows - first)):
        replica, block = divmod(number, PARTS)
        part = f"{partition_id}_{block}_{block}_0"
        yield InventoryRow(
            path, f"clickhouse-{replica + 1:02d}.example.org", part, partition_id,
            written - block, 90 + partition % 30, 1, "hot", "",
        )  # fmt: skip


def main() -> int:
    """Run the job; the exit status is that of the job."""
    shape, rows, *arguments = sys.argv[1:]
    source: InventorySource = MadeUp(int(rows), shape)
    with patch.object(job, "source_of", lambda _arguments: source):
        return job.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
