# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A read of a shard path: its table is gone, or all replicas are known to have both tables, or neither."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    RecordZnode,
    ReplicaTables,
    TwinShardRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from support.memory.twins import PATH, table_of


def pair(replica: str, *, with_twin: bool = True) -> ReplicaTables:
    cold = table_of(Side.COLD, replica) if with_twin else None
    return ReplicaTables(TwinReplica(replica, ""), f"server of {replica}", table_of(Side.HOT, replica), cold)


def test_a_table_is_gone_without_any_replica() -> None:
    assert TwinShardRead(PATH, (), {}, {}, {"1": RecordZnode("/r", None)}).is_gone
    assert not TwinShardRead(PATH, (), {"r1": "silent"}, {}, {}).is_gone
    assert not TwinShardRead(PATH, [pair("r1")], {}, {}, {}).is_gone


def test_tables_are_known_if_every_replica_has_both() -> None:
    read = TwinShardRead(PATH, [pair("r1"), pair("r2")], {}, {}, {})
    assert [str(each.cold) for each in read.tables or ()] == ["db.hits_cold"] * 2


@pytest.mark.parametrize(
    "read",
    [
        TwinShardRead(PATH, [pair("r1"), pair("r2", with_twin=False)], {}, {}, {}),
        TwinShardRead(PATH, [pair("r1")], {"r2": "silent"}, {}, {}),
        TwinShardRead(PATH, [pair("r1", with_twin=False)], {}, {}, {}),
    ],
)
def test_partitions_are_not_read_unless_all_tables_are_known(read: TwinShardRead) -> None:
    assert read.tables is None
