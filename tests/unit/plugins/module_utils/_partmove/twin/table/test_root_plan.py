# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a root: what is finished is proven, and what is left has an order and a time."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_record import (
    ExchangeRecord,
    ExchangeRecords,
    ReplicaExchange,
    ServerMoment,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.root_plan import (
    SeenMoves,
    Speed,
    Volume,
    in_order,
    is_finished,
    refuse_lost_sight,
    shards_to_move,
    steps_of,
    volume_to_move,
)
from support.memory.pairs import TWIN
from support.memory.roots import ROOT, ModelRoot, contents

PATH = "/t/01/hits"


@pytest.fixture
def root() -> ModelRoot:
    return ModelRoot()


def moved(root: ModelRoot, *, settled: bool = True, side: Side = Side.COLD) -> None:
    """Add a table of two replicas after its move, with the record of the exchange."""
    root.add(PATH, ["1a", "1b"], "hits_cold", parts=0, twin="hits", twin_parts=2)
    session = root.hot.open()
    lease = LeaseKeeper(session, None, root.hot.clock, owner="a test", root=ROOT).acquire(PATH)
    exchange = ReplicaExchange(ServerMoment(7, 8), is_settled=settled)

    def add(record: ExchangeRecord) -> ExchangeRecord:
        return record.having("1a", exchange).having("1b", exchange._replace(is_settled=True))

    ExchangeRecords(session, ROOT, PATH, side).update(lease, add)


def finished(root: ModelRoot, desired: Side = Side.COLD) -> bool:
    return is_finished(root.hot.open(), ROOT, root.table(desired), desired)


def test_a_moved_table_is_finished_in_one_direction(root: ModelRoot) -> None:
    moved(root)
    assert (finished(root), finished(root, Side.HOT)) == (True, False)


@pytest.mark.parametrize("settled", [True, False])
def test_without_the_proof_of_its_record_no_table_is_finished(root: ModelRoot, *, settled: bool) -> None:
    moved(root, settled=settled, side=Side.HOT if settled else Side.COLD)
    assert not finished(root)


def test_a_replica_with_a_part_in_the_other_table_is_not_finished(root: ModelRoot) -> None:
    moved(root)
    root.show("default", PATH, "1b", "hits_cold", 1)
    assert not finished(root)


def test_other_parts_of_the_table_with_the_name_do_not_matter(root: ModelRoot) -> None:
    """Inserts and merges make such differences all the time, and the old table is empty anyway."""
    moved(root)
    place = ("cold", f"{PATH}_cold", "1b")
    root.shown["1b"][place] = root.shown["1b"][place]._replace(contents=contents(2, "other"))
    assert finished(root)


@pytest.mark.parametrize("policy", [f"partmove_moving_{PATH}", "partmove_moving_hits"])
def test_a_table_with_rows_that_a_policy_may_hide_is_not_finished(root: ModelRoot, policy: str) -> None:
    moved(root)
    root.policies = {"1b": ["partmove_moving_/t/02/hits", "partmove_moving_hits_cold"]}
    assert finished(root)
    root.policies["1b"].append(policy)
    assert not finished(root)


def test_policies_that_the_user_may_not_see_are_not_taken_for_none(root: ModelRoot) -> None:
    moved(root)
    root.blind = {"1b"}
    assert not finished(root)


def test_a_partition_between_the_tables_is_not_finished(root: ModelRoot) -> None:
    moved(root)
    ensure_path(root.hot.open(), f"{ROOT}/twins/%2Ft%2F01%2Fhits/20240101")
    assert not finished(root)


def test_a_table_that_never_left_is_finished_on_the_way_back(root: ModelRoot) -> None:
    root.add(PATH, ["1a"])
    assert finished(root, Side.HOT)
    assert shards_to_move(root.table(Side.HOT), Side.HOT) == []
    assert shards_to_move(root.table(), Side.COLD) == [PATH]
    assert not finished(root)


def lost_sight(root: ModelRoot) -> str:
    refusal = refuse_lost_sight(root.hot.open(), ROOT, root.table(Side.HOT), TWIN)
    return "" if refusal is None else refusal.reason


def test_a_table_with_its_twin_at_another_place_did_leave(root: ModelRoot) -> None:
    """The rollback of a move to another ensemble than the one of the options."""
    root.add(PATH, ["1a"], "hits_cold", parts=0)
    assert "it is named as the twin of db.hits" in lost_sight(root)
    root.show("keeper", f"{PATH}_cold", "1a", "hits", 7)
    assert f"db.hits at keeper:{PATH}_cold may be the other table" in lost_sight(root)


def test_a_twin_at_another_place_before_the_exchange_counts(root: ModelRoot) -> None:
    root.add(PATH, ["1a"])
    assert not lost_sight(root)
    root.show("keeper", f"{PATH}_cold", "1a", "hits_cold", 7)
    assert f"db.hits_cold at keeper:{PATH}_cold may be the other table" in lost_sight(root)


def test_a_table_whose_twin_is_seen_did_not_get_lost(root: ModelRoot) -> None:
    moved(root)
    assert not lost_sight(root)


def test_split_tables_come_first_and_then_small_ones(root: ModelRoot) -> None:
    root.add("/t/01/large", ["1a"], "large", parts=9)
    root.add("/t/01/small", ["1a"], "small", parts=1)
    root.add("/t/02/small", ["2a"], "small", parts=2)
    root.add("/t/01/split", ["1a"], "split_cold", parts=20, twin="split", twin_parts=0)
    root.add("/t/02/split", ["2a"], "split", parts=20, twin="split_cold", twin_parts=0)
    tables = in_order(root.find().tables, Side.COLD)
    assert [each.name for each in tables] == ["db.split", "db.small", "db.large"]
    assert volume_to_move(tables[1], Side.COLD) == Volume(3, 3, 30, 300)
    assert volume_to_move(tables[1], Side.HOT) == Volume(0, 0, 0, 0)


def test_the_replica_with_most_partitions_counts(root: ModelRoot) -> None:
    root.add(PATH, ["1a", "1b"], parts=1)
    root.show("default", PATH, "1b", "hits", 3)
    assert volume_to_move(root.table(), Side.COLD).partitions == 3


def test_the_steps_are_those_of_the_run(root: ModelRoot) -> None:
    ends = ["wait for older inserts", "compare the replicas"]
    root.add(PATH, ["1a", "1b"], parts=2)
    assert steps_of(root.table(), Side.COLD) == [
        "create the twin on 2 replicas",
        "move 2 partitions",
        "exchange the names on 2 replicas",
        *ends,
    ]
    # A table that never left needs no twin on its way home.
    assert steps_of(root.table(Side.HOT), Side.HOT) == ends


def test_a_table_whose_exchange_has_begun_moves_after_it(root: ModelRoot) -> None:
    root.add(PATH, ["1a"], "hits_cold", parts=2, twin="hits", twin_parts=0)
    root.add("/t/02/hits", ["2a"], parts=0, twin_parts=0)
    steps = steps_of(root.table(), Side.COLD)
    assert steps[:2] == ["exchange the names on 1 replica", "move 2 partitions"]


def test_the_time_is_that_of_partitions_and_shards() -> None:
    assert Speed(20.0, 2.0).seconds(100, 3) == 11.0


def test_the_speed_is_that_of_the_run_once_it_has_moved_enough() -> None:
    given = Speed(25.0, 1.0)
    assert given.after(SeenMoves(0, 0, 0.0, 0.0)) == given
    # Ten partitions say nothing of the speed, but the time of a shard is known.
    few = given.after(SeenMoves(10, 2, 10.0, 4.0))
    assert list(few) == pytest.approx([25.0, 3.4])
    many = given.after(SeenMoves(100, 2, 16.8, 10.8))
    assert list(many) == pytest.approx([10.0, 3.4])
    # Shards that took less than is usual say nothing of the partitions.
    assert given.after(SeenMoves(100, 10, 3.0, 3.0)).partitions_per_second == 25.0
