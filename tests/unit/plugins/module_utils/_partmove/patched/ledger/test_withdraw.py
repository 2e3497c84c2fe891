# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The downgrade guard: the obstacles, and the order of the writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    NoSuchReplica,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    BACK_TO_HOT,
    ColdPartition,
    DowngradeGuard,
    NotEntered,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, Multi
from support.memory.arrange import both, create, create_cold, delete
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.ledger import enter, readiness
from support.memory.memory import MemoryEnsemble
from support.memory.tables import TableOptions, build_table

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")
HOST = b"host: ch1.example\nport: 9009\ntcp_port: 9000\ndatabase: my\\nshop\ntable: hits\nscheme: http\n"


@pytest.fixture
def bench() -> Bench:
    """A table whose replicas are all entered."""
    bench = Bench()
    bench.context = bench.context._replace(readiness=readiness(bench.hot_store, bench.cold_store))
    bench.hot.set(f"{PATH}/replicas/r2/host", HOST)
    enter(bench.hot_store, bench.cold_store, R1, R2)
    return bench


def guard_of(bench: Bench) -> DowngradeGuard:
    return DowngradeGuard(bench.hot_store, bench.cold_store, DEFAULT_ROOT)


def found(bench: Bench) -> list[str]:
    return [each.partition for each in guard_of(bench).cold_partitions(PATH)]


def entered(bench: Bench) -> list[str]:
    return Ledger(bench.hot_store).replicas(PATH)


def without_hot(name: str = PART) -> Callable[[Bench], object]:
    return both(*(delete(f"replicas/{each}/parts/{name}") for each in ("r1", "r2")))


def in_cold(name: str = PART) -> Callable[[Bench], object]:
    return both(*(create_cold(f"replicas/{each}/parts/{name}") for each in ("r1", "r2")))


def dropped(bench: Bench) -> None:
    bench.move()
    bench.servers.drop(DAY)
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"COLD"


def test_a_moved_partition_is_reported_with_its_table(bench: Bench) -> None:
    bench.move()
    assert guard_of(bench).cold_partitions(PATH) == [ColdPartition(PATH, "my\nshop.hits", DAY)]


@pytest.mark.parametrize(
    "arrange",
    [
        lambda _bench: None,
        in_cold(),
        both(
            in_cold(), without_hot(), *(create(f"replicas/{each}/parts/{DAY}_0_3_1") for each in ("r1", "r2"))
        ),
        dropped,
        lambda bench: bench.servers.drop_table(),
    ],
    ids=["nothing in cold", "copies", "copies of what was merged", "dropped", "no table"],
)
def test_what_is_not_in_the_way(bench: Bench, arrange: Callable[[Bench], object]) -> None:
    arrange(bench)
    assert found(bench) == []


@pytest.mark.parametrize(
    "arrange",
    [
        both(in_cold(), without_hot()),
        both(in_cold(), delete(f"replicas/r2/parts/{PART}")),
        both(
            in_cold(), without_hot(), *(create(f"replicas/{each}/parts/{DAY}_1_3_1") for each in ("r1", "r2"))
        ),
        create_cold(f"replicas/r9/parts/{PART}"),
    ],
    ids=["State is not COLD", "one replica", "beside other parts", "a replica that hot does not have"],
)
def test_what_only_cold_has_is_in_the_way_whatever_state_says(
    bench: Bench, arrange: Callable[[Bench], object]
) -> None:
    arrange(bench)
    assert found(bench) == [DAY]


def test_a_cold_ensemble_that_knows_nothing_of_a_cold_partition(bench: Bench) -> None:
    """A cold partition without a note of the ensemble to which it went."""
    create(f"block_numbers/{DAY}/State", b"COLD")(bench)
    with pytest.raises(PartMoveError) as caught:
        guard_of(bench).cold_partitions(PATH)
    assert caught.value.message == (
        f"State of partitions {DAY} of {PATH} is COLD, and the ensemble given as cold does not have the table"
    )
    assert caught.value.remedy == "Check the hosts and the chroot of cold"


def test_another_cold_ensemble_is_refused_by_name(bench: Bench) -> None:
    """Even if it has the shard path, with no part missing in hot."""
    bench.move()
    other = MemoryEnsemble("cold", bench.clock)
    MemoryClient(other.open()).create(f"{PATH}/replicas", makepath=True)
    guard = DowngradeGuard(bench.hot_store, other.open(), DEFAULT_ROOT)
    with pytest.raises(BindingConflict, match="went to the cold ensemble cold.example:2181"):
        withdraw_replicas(guard, Ledger(bench.hot_store), [R2], Withdrawal())
    assert entered(bench) == ["r1", "r2"]


def test_another_coordination_root_is_refused_by_name(bench: Bench) -> None:
    bench.move(OTHER)
    bench.reheat(OTHER)
    guard = DowngradeGuard(bench.hot_store, bench.cold_store, "/other")
    with pytest.raises(BindingConflict, match="meet at /partmove of the hot ensemble"):
        withdraw_replicas(guard, Ledger(bench.hot_store, "/other"), [R2], Withdrawal())
    assert entered(bench) == ["r1", "r2"]


def test_a_ledger_that_nothing_was_ever_entered_in_is_refused(bench: Bench) -> None:
    """It may be the wrong ledger, and nothing else would show this: the table was never moved."""
    guard, ledger = (
        DowngradeGuard(bench.hot_store, bench.cold_store, "/other"),
        Ledger(bench.hot_store, "/other"),
    )
    withdrawal = Withdrawal()
    with pytest.raises(NotEntered) as caught:
        withdraw_replicas(guard, ledger, [R2], withdrawal)
    assert caught.value.message == (
        f"No replica of {PATH} was ever entered in /other/ledger, so there is nothing to withdraw, and no"
        f" proof that moves read this ledger"
    )
    assert "never_entered" in caught.value.remedy
    assert not withdrawal.changes

    withdraw_replicas(guard, ledger, [R2], withdrawal, never_entered=True)
    assert not withdrawal.changes[R2].changed


def test_a_table_that_was_moved_by_this_root_needs_no_entry() -> None:
    """Cold says so itself, and what assume_patched moved was brought back."""
    bench = Bench()
    bench.move()
    bench.reheat()
    withdrawal = Withdrawal()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2], withdrawal)
    assert not withdrawal.changes[R2].changed


def test_replicas_are_withdrawn_while_nothing_is_cold(bench: Bench) -> None:
    withdrawal = Withdrawal()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2, R2], withdrawal)
    assert {key: change.changed for key, change in withdrawal.changes.items()} == {R2: True}
    assert entered(bench) == ["r1"]
    again = Withdrawal()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2], again)
    assert {key: change.changed for key, change in again.changes.items()} == {R2: False}


def test_nothing_is_withdrawn_while_something_is_cold(bench: Bench) -> None:
    bench.move(DAY, OTHER)
    withdrawal = Withdrawal()
    with pytest.raises(StillCold) as caught:
        withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2], withdrawal)
    assert caught.value.message == (
        "2 partitions are registered in cold only, which a server without the patch does not read; nothing"
        f" was withdrawn: {DAY} of my\nshop.hits ({PATH}), {OTHER} of my\nshop.hits ({PATH})"
    )
    assert caught.value.remedy == BACK_TO_HOT
    assert [each.partition for each in withdrawal.cold_partitions] == [DAY, OTHER]
    assert not withdrawal.changes
    assert entered(bench) == ["r1", "r2"]


def test_a_move_that_is_faster_is_seen_and_the_entries_stay_withdrawn(bench: Bench) -> None:
    left = [bench.move]

    def move_first(multi: Multi) -> None:
        if left and any(isinstance(op, Delete) and "/ledger/" in op.path for op in multi):
            left.pop()()

    bench.hot_store.before = move_first
    withdrawal = Withdrawal()
    with pytest.raises(StillCold) as caught:
        withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R1, R2], withdrawal)
    assert caught.value.message.startswith(
        "1 partition is registered in cold only, which a server without the patch does not read; the"
        f" entries were withdrawn by then, and stay withdrawn: {DAY} of"
    )
    assert [change.changed for change in withdrawal.changes.values()] == [True, True]
    assert entered(bench) == []


def test_a_replica_that_nobody_knows_is_refused(bench: Bench) -> None:
    with pytest.raises(NoSuchReplica, match=f"There is no replica r3 of {PATH} in hot"):
        withdraw_replicas(
            guard_of(bench), Ledger(bench.hot_store), [R1, ReplicaKey(PATH, "r3")], Withdrawal()
        )
    with pytest.raises(NoSuchReplica, match="There is no replica r1 of /a in hot"):
        withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [ReplicaKey("/a", "r1")], Withdrawal())
    assert entered(bench) == ["r1", "r2"]


def test_an_entry_that_outlived_its_replica_can_be_withdrawn(bench: Bench) -> None:
    bench.servers.remove_replica("r2")
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2], Withdrawal())
    bench.servers.drop_table()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R1], Withdrawal())
    assert entered(bench) == []


def test_check_mode_reports_the_planned_withdrawals(bench: Bench) -> None:
    before = bench.hot_ensemble.data()
    hot, cold = OverlayStore(bench.hot_store, bench.clock), OverlayStore(bench.cold_store, bench.clock)
    withdrawal = Withdrawal()
    withdraw_replicas(DowngradeGuard(hot, cold, DEFAULT_ROOT), Ledger(hot), [R1], withdrawal)
    assert withdrawal.changes[R1].changed
    assert bench.hot_ensemble.data() == before


SECOND = ReplicaKey(f"{PATH}_second", "x1")
"""A replica of a table that was never entered and never moved; its replicas have other names."""


def moved_and_brought_back() -> Bench:
    bench = Bench()
    bench.move()
    bench.reheat()
    return bench


@pytest.mark.parametrize("is_entered", [True, False], ids=["entered", "proven by cold"])
def test_one_table_of_a_server_is_enough_to_show_that_moves_read_the_ledger(
    bench: Bench, is_entered: bool
) -> None:
    bench = bench if is_entered else moved_and_brought_back()
    build_table(bench.hot, SECOND.shard_path, TableOptions(replicas=("x1", "x2")))
    withdrawal = Withdrawal()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [R2, SECOND], withdrawal)
    assert {key: change.changed for key, change in withdrawal.changes.items()} == {
        R2: is_entered,
        SECOND: False,
    }


def test_a_server_without_tables_has_nothing_to_withdraw(bench: Bench) -> None:
    withdrawal = Withdrawal()
    withdraw_replicas(guard_of(bench), Ledger(bench.hot_store), [], withdrawal)
    assert withdrawal == Withdrawal()
