# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What patched servers do with a cold partition that another table is to have.

What becomes of statements that a server carries out is among the scenes of test_leftovers.py.
"""

from __future__ import annotations

import pytest

from support.servers.clickhouse import QueryError
from support.servers.moving import Mover
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker

DAY = "20191201"
PART = f"{DAY}_0_0_0"

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched]


def filled(make_table: TableMaker) -> ReplicatedTable:
    made = make_table(WITHOUT_MERGES)
    made.fill(["2019-12-01"])
    made.settle()
    return made


def test_a_cold_partition_is_not_fetched(make_table: TableMaker, mover: Mover, registry: Registry) -> None:
    source, target = filled(make_table), filled(make_table)
    assert mover.move(source).moved.keys() == {DAY}
    before = source.seen(), target.seen()

    with pytest.raises(QueryError, match=f"Partition {DAY} on .* doesn't exist"):
        target.servers[0].execute(f"ALTER TABLE {target.name} FETCH PARTITION {DAY} FROM '{source.path}'")

    assert (source.seen(), target.seen()) == before
    assert registry.of(source, DAY) == ({}, {"r1": [PART], "r2": [PART]})


def test_a_cold_partition_is_copied_on_every_replica(
    make_table: TableMaker, mover: Mover, registry: Registry
) -> None:
    source, target = filled(make_table), make_table(WITHOUT_MERGES)
    assert mover.move(source).moved.keys() == {DAY}
    rows = source.rows()

    target.servers[0].execute(
        f"ALTER TABLE {target.name} REPLACE PARTITION {DAY} FROM {source.name}",
        replication_alter_partitions_sync=2,
    )

    assert [target.rows(number) for number in (0, 1)] == [rows, rows]
    assert [source.rows(number) for number in (0, 1)] == [rows, rows]
    assert registry.of(source, DAY) == ({}, {"r1": [PART], "r2": [PART]})
    assert registry.of(target, DAY).hot.keys() == {"r1", "r2"}
