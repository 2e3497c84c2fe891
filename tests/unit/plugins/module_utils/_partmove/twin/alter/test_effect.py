# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What proves that a statement took effect, when the run that sent it is gone."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import truncate
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.alters import AlterBench

UPDATE = "UPDATE v = v + 1 WHERE 1"


HOT = " db.hits "


def test_a_mutation_that_is_not_listed_yet_is_not_executed_again() -> None:
    bench = AlterBench()
    bench.run_killed_at(UPDATE, HOT, given=True)
    bench.servers.lag = 3
    bench.run(None)
    assert [bench.servers.of[side].updates for side in Side] == [1, 1]
    assert len(bench.servers.of[Side.HOT].mutations) == 2


def test_a_mutation_that_was_never_executed_is_executed() -> None:
    bench = AlterBench()
    bench.run_killed_at(UPDATE, HOT, given=False)
    assert bench.servers.of[Side.HOT].updates == 0
    bench.run(None)
    assert [bench.servers.of[side].updates for side in Side] == [1, 1]


@pytest.mark.parametrize("earlier", [0, 2])
def test_a_mutation_that_somebody_removed_is_not_executed_again(earlier: int) -> None:
    bench = AlterBench()
    bench.servers.of[Side.HOT].mutations = ["DELETE WHERE 0"] * earlier
    bench.run_killed_at(UPDATE, HOT, given=False)
    bench.servers.of[Side.HOT].mutations.append("UPDATE that somebody killed")
    bench.servers.of[Side.HOT].killed = {earlier}
    with pytest.raises(PartMoveError, match="no longer lists every mutation") as caught:
        bench.run(None)
    assert caught.value.remedy.startswith("Compare the rows. If the statement is still to be executed")
    assert bench.is_recorded
    assert bench.servers.of[Side.HOT].updates == 0


def test_a_table_without_parts_needs_no_proof() -> None:
    bench = AlterBench()
    bench.run_killed_at(UPDATE, HOT, given=False)
    bench.servers.of[Side.HOT].parts.clear()
    bench.run(None)
    assert not any("barrier" in each for each in bench.servers.executed)


@pytest.mark.parametrize("given", [True, False])
def test_an_insert_after_a_truncate_is_not_taken_for_an_older_part(given: bool) -> None:
    bench = AlterBench()
    bench.run_killed_at(truncate(), "TABLE db.hits", given=given)
    bench.servers.of[Side.HOT].insert("p1", "later")
    bench.run(None)
    # A statement that was not executed yet takes later rows too.
    assert [bench.servers.of[side].rows for side in Side] == [["later"] if given else [], []]


def test_a_part_that_contains_a_recorded_one_is_dropped() -> None:
    bench = AlterBench()
    bench.run_killed_at("DROP PARTITION ID 'p1'", HOT, given=False)
    bench.servers.of[Side.HOT].insert("p1", "later")
    bench.run(None)
    assert bench.servers.of[Side.HOT].rows == ["hot 2"]


def test_a_failing_mutation_is_named() -> None:
    bench = AlterBench()
    bench.servers.failing = "cannot parse"
    bench.servers.silent = {"UPDATE": True}
    with pytest.raises(PartMoveError, match="mutation 0000000000 of db.hits fails: cannot parse"):
        bench.run(UPDATE)
    bench.servers.failing, bench.servers.silent = "", {}
    bench.run(None)
    assert [bench.servers.of[side].updates for side in Side] == [1, 1]
