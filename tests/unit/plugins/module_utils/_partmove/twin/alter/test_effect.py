# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What proves that a statement took effect, when the run that sent it is gone."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import truncate
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side, TwinTables
from support.memory.alters import AlterBench
from support.memory.twins import PATH

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


def with_policies(tables: TwinTables) -> TwinTables:
    """Give each replica a storage policy of its own."""
    end = f" SETTINGS storage_policy = 'of {tables.replica.name}'"
    hot, cold = (
        each._replace(definition=each.definition.rstrip() + end) for each in (tables.hot, tables.cold)
    )
    return tables._replace(hot=hot, cold=cold)


def forget_definitions(bench: AlterBench) -> None:
    """Have the record that the code before would have written."""
    store, path = bench.hot.open(), path_of_bar("/partmove", Bar.ALTER, PATH)
    (znode,) = store.read([path])
    if znode is not None:
        fields = json.loads(znode.data)
        del fields["definitions"]
        store.commit([(SetData(path, json.dumps(fields).encode(), znode.stat.version),)])
    store.expire()


@pytest.mark.parametrize("text", ["ADD COLUMN more UInt8", "MODIFY COMMENT 'c'"])
@pytest.mark.parametrize("is_old", [False, True])
def test_replicas_with_their_own_policies_end_alike_wherever_a_run_is_killed(text: str, is_old: bool) -> None:
    moment, is_killed = 0, True
    while is_killed:
        bench = AlterBench()
        bench.servers.alter = with_policies
        is_killed = bench.run_killed(text, moment)
        if is_old:
            forget_definitions(bench)
        if bench.is_recorded or not bench.servers.executed:
            bench.run(text)
        assert not bench.is_recorded
        for side in Side:
            table = bench.servers.of[side]
            assert table.columns.count("more") == ("COLUMN" in text)
            assert set(table.of_replica.values()) == {"'c'" if "COMMENT" in text else ""}
        moment += 1
    assert moment > 10


def test_a_policy_for_replicas_with_their_own_ones_is_refused() -> None:
    bench = AlterBench()
    bench.servers.alter = with_policies
    with pytest.raises(PartMoveError, match="and a server may refuse the new storage policy") as caught:
        bench.run("MODIFY SETTING storage_policy = 'x'")
    assert "twin_hold" in caught.value.remedy
    assert (bench.servers.executed, bench.is_recorded) == ([], False)


def test_a_policy_that_a_replica_has_not_got_is_named() -> None:
    """As of a run of the code before, which began such a statement."""
    bench = AlterBench()
    bench.run_killed_at("MODIFY SETTING storage_policy = 'x'", HOT, given=False)
    assert bench.is_recorded
    bench.servers.alter = with_policies
    with pytest.raises(
        PartMoveError, match="has storage_policy = 'of r1' on server of r1, and storage_policy"
    ):
        bench.run(None)
    assert bench.is_recorded
