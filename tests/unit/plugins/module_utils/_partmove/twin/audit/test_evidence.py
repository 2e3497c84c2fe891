# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a look is of: a table that is gone, or one whose replicas are known to have both tables."""

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


def test_a_table_is_gone_where_no_server_was_to_be_asked() -> None:
    assert TwinShardRead(PATH, (), {}, {}, {"1": RecordZnode("/r", None)}).is_gone
    assert not TwinShardRead(PATH, (), {"r1": "silent"}, {}, {}).is_gone
    assert not TwinShardRead(PATH, [pair("r1")], {}, {}, {}).is_gone


def test_tables_are_those_of_all_replicas() -> None:
    look = TwinShardRead(PATH, [pair("r1"), pair("r2")], {}, {}, {})
    assert [str(each.cold) for each in look.tables or ()] == ["db.hits_cold"] * 2


@pytest.mark.parametrize(
    "look",
    [
        TwinShardRead(PATH, [pair("r1"), pair("r2", with_twin=False)], {}, {}, {}),
        TwinShardRead(PATH, [pair("r1")], {"r2": "silent"}, {}, {}),
        TwinShardRead(PATH, [pair("r1", with_twin=False)], {}, {}, {}),
    ],
)
def test_without_one_of_them_nothing_is_asked_of_partitions(look: TwinShardRead) -> None:
    assert look.tables is None
