# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record is about the tables that a run has found, or about others."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.known_pair import (
    problem_of_record,
    refuse_other_pair,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.between import record
from support.memory.twins import table_of


def test_a_record_of_another_pair_is_told() -> None:
    hot, cold = (table_of(side, "r1") for side in Side)
    tables = TwinTables(TwinReplica("r1", ""), "server", hot, cold)
    known = record()._replace(hot=hot.place, cold=cold.place)
    assert problem_of_record(known, tables) == ""
    assert "between default:/tables/01/hits and c, and these tables" in problem_of_record(
        known._replace(cold="c"), tables
    )
    assert problem_of_record(known._replace(hot="h"), tables)


def test_a_record_of_another_pair_lets_no_move_begin() -> None:
    hot, cold = (table_of(side, "r1") for side in Side)
    tables = TwinTables(TwinReplica("r1", ""), "server", hot, cold)
    assert refuse_other_pair({}, tables) is None
    assert refuse_other_pair({"1": record()}, tables) is None
    refusal = refuse_other_pair({"1": record(), "2": record()._replace(cold="c")}, tables)
    assert refusal is not None
    assert refusal.gate is GateName.TWIN_WHOLE
    assert refusal.reason.startswith("partition 2: its record is about a move between")
