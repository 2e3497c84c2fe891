# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers count."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.servers import (
    RepairServers,
    RowCounts,
)
from support.memory.twin_repairs import RepairBench
from support.memory.twins import REPLICAS, Twins, table_of


def test_servers_in_memory_count_as_the_port_says() -> None:
    bench = RepairBench(Twins(("a", "a", "b")))
    bench.twins.insert(Side.COLD, ("a", "c", "c"))
    hot_table, cold_table = (table_of(side, "r1") for side in Side)
    tables = TwinTables(TwinReplica(REPLICAS[0], ""), "", hot_table, cold_table)
    hot, cold = ([part.name for part in bench.twins.tables[side].shown()] for side in Side)
    found = bench.repairers.row_counts(tables, hot, cold)
    assert found == RowCounts(both=1, hot_only=2, cold_only=2, cold_new=2, cold_repeats=1)
    bench.twins.insert(Side.COLD, ("a", "a", "c"))
    first, second = (part.name for part in bench.twins.tables[Side.COLD].shown())
    assert bench.repairers.rows_in_common(tables, [second], [first]) == 2
    assert {name for name in vars(RepairServers) if not name.startswith("_")} <= {*dir(bench.repairers)}
