# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""InventoryRows on their way to Spark."""

from __future__ import annotations

from collections.abc import Iterator

from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.sources.inventory_rows import INVENTORY_SCHEMA, record_batches


def row(number: int) -> InventoryRow:
    return InventoryRow(
        "/ch/é", f"r{number % 3}", f"p_{number}", "p", 10**12 + number, 2**40, 3, "hot", "COLD"
    )


def test_columns_are_the_fields_of_a_row() -> None:
    assert tuple(INVENTORY_SCHEMA.names) == InventoryRow._fields


def test_every_row_arrives_once_and_in_order() -> None:
    rows = [row(number) for number in range(12_001)]
    batches = list(record_batches(iter(rows)))
    assert [InventoryRow(**values) for batch in batches for values in batch.to_pylist()] == rows
    assert len(batches) > 1
    assert list(record_batches(iter([]))) == []


def test_only_the_rows_of_one_batch_are_taken_at_a_time() -> None:
    taken = 0

    def counted() -> Iterator[InventoryRow]:
        nonlocal taken
        for number in range(12_001):
            taken += 1
            yield row(number)

    arrived = 0
    for batch in record_batches(counted()):
        arrived += batch.num_rows
        assert taken == arrived
