# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No read succeeds after the lease was lost, and a write reports the outcome of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    LeaseLost,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
    Written,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree import multi_batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.multi_batches import (
    GroupTooLarge,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Multi,
    Op,
    Reason,
    Rejected,
    SetData,
    Znode,
)
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.memory import ManualClock

LAYOUT = ShardLayout(PATH)
ONE, TWO, THREE = (f"{PATH}/temp/{name}" for name in ("one", "two", "three"))
# Lock and epoch.
_CHECKS = 2


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def leased(bench: Bench) -> LeasedShard:
    lease = bench.context.leases.acquire(PATH)
    reader = bench.reader()
    return LeasedShard(bench.hot_store, bench.cold_store, reader, LAYOUT, lease)


def test_a_read_has_the_requested_partitions(leased: LeasedShard) -> None:
    look = leased.read([DAY])
    assert look.shard.layout == LAYOUT
    assert look.partitions.keys() == {DAY}
    assert leased.read_hot([DAY], reread=False).partitions[DAY].cold == {}


def test_no_read_succeeds_after_another_run_took_over(bench: Bench, leased: LeasedShard) -> None:
    bench.context.leases.acquire(PATH)
    with pytest.raises(LeaseLost, match=PATH):
        leased.read([DAY])
    with pytest.raises(LeaseLost, match=PATH):
        leased.confirm()


def test_a_write_whose_answer_is_lost_is_not_counted_on(bench: Bench, leased: LeasedShard) -> None:
    """The write was not applied; a part registered by another program must not pass for its result."""
    copy, late = (f"{PATH}/replicas/r1/parts/{DAY}_{number}_{number}_0" for number in (7, 8))
    leased.read([DAY])
    bench.hot_store.loses = lambda multi: any(op.path == copy for op in multi)
    assert leased.hot.commit([("copy", [Create(copy, b"")])]).unknown == ["copy"]
    bench.hot.create(late)
    assert [part.name.text for part in leased.read([DAY]).partitions[DAY].hot["r1"]] == [
        PART,
        f"{DAY}_8_8_0",
    ]


def test_cold_is_waited_for_after_the_versions_were_read(bench: Bench, leased: LeasedShard) -> None:
    """A removal from cold before that read is seen; after it, the multi fails."""
    versions = bench.hot_store.read([f"{PATH}/log"])
    order: list[str] = []
    read, sync = bench.hot_store.read, bench.cold_store.sync

    def read_hot(paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        if LAYOUT.log in paths:
            order.append("versions")
        return read(paths, absolute=absolute)

    def sync_cold(path: str) -> None:
        order.append("cold")
        sync(path)

    bench.hot_store.read = read_hot  # type: ignore[method-assign]
    bench.cold_store.sync = sync_cold  # type: ignore[method-assign]

    shard = leased.read([DAY]).shard

    assert order == ["versions", "cold"]
    assert versions[0] is not None
    assert Check(f"{PATH}/log", versions[0].stat.version) in shard.fence


@pytest.mark.parametrize("ensemble", ["hot", "cold"])
def test_a_run_that_was_paused_writes_nothing(bench: Bench, leased: LeasedShard, ensemble: str) -> None:
    bench.cold.create(ONE, makepath=True)
    bench.context.leases.acquire(PATH)
    path = f"{ONE}/late"

    written = getattr(leased, ensemble).commit([("one", [Create(path, b"")])])

    assert (written.committed, written.rejected) == ([], ["one"])
    with pytest.raises(LeaseLost):
        written.raise_problem()
    assert getattr(bench, f"{ensemble}_store").read([path]) == [None]


def test_a_collision_is_no_problem_and_nothing_whole(leased: LeasedShard) -> None:
    written = leased.hot.commit([("one", [SetData(f"{PATH}/log", b"", 77)])])
    assert written == Written([], ["one"], [], None, {})
    assert not written.is_whole()


def test_a_check_that_fails_rejects_all_groups_of_the_multi(leased: LeasedShard) -> None:
    groups = [("one", [Create(ONE, b"")]), ("two", [Create(TWO, b"")])]
    assert leased.hot.commit(groups, [Check(f"{PATH}/log", 77)]).rejected == ["one", "two"]
    assert leased.hot.commit(groups, [Check(f"{PATH}/log", 0)]).committed == ["one", "two"]


def test_groups_are_taken_while_multis_are_on_their_way(
    bench: Bench, leased: LeasedShard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_batches, "MAX_OPS", _CHECKS + 1)
    happened: list[str] = []
    bench.hot_store.before = lambda multi: happened.append(multi[-1].path)

    def groups() -> Iterator[tuple[str, list[Op]]]:
        for path in (ONE, TWO, THREE):
            happened.append(f"take {path}")
            yield path, [Create(path, b"")]

    assert leased.hot.commit(groups()).committed == [ONE, TWO, THREE]
    # A multi is full when the next group does not fit.
    assert happened == [f"take {ONE}", f"take {TWO}", ONE, f"take {THREE}", TWO, THREE]


def test_groups_that_cannot_be_made_end_it_and_what_was_sent_is_known(
    leased: LeasedShard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_batches, "MAX_OPS", _CHECKS + 1)

    def groups() -> Iterator[tuple[str, list[Op]]]:
        yield "one", [Create(ONE, b"")]
        yield "two", [Create(TWO, b"")]
        raise PartMoveError("no space left")

    written = leased.hot.commit(groups())

    assert written.committed == ["one"]
    with pytest.raises(PartMoveError, match="no space left"):
        written.is_whole()


def test_a_group_that_fits_no_multi_ends_it(leased: LeasedShard) -> None:
    most = [Create(f"{ONE}{number}", b"") for number in range(1000)]

    written = leased.hot.commit([("one", [Create(ONE, b"")]), ("many", most), ("two", [Create(TWO, b"")])])

    assert (written.committed, written.rejected, written.unknown) == (["one"], [], [])
    assert isinstance(written.problem, GroupTooLarge)


def test_an_answer_that_is_lost_is_unknown(bench: Bench, leased: LeasedShard) -> None:
    bench.hot_store.loses = lambda _multi: True
    written = leased.hot.commit([("one", [Create(ONE, b"")])])
    assert written == Written([], [], ["one"], None, {})
    assert not written.is_whole()


def test_what_cannot_be_written_is_a_problem(bench: Bench, leased: LeasedShard) -> None:
    def denied(multis: list[Multi]) -> list[Rejected]:
        return [Rejected(len(multi) - 1, Reason.NO_AUTH, -102) for multi in multis]

    bench.hot_store.commit = denied  # type: ignore[method-assign,assignment]
    written = leased.hot.commit([("one", [Create(ONE, b"")])])
    with pytest.raises(AccessDenied, match=f"Writing {ONE} is denied"):
        written.is_whole()


def test_the_lease_takes_room_in_a_multi(leased: LeasedShard) -> None:
    most = 1000
    ops = [Create(f"{ONE}{number}", b"") for number in range(most)]
    assert leased.hot.room().holds(ops[:-2])
    assert not leased.hot.room().holds(ops[:-1])
    assert leased.cold.room().holds(ops[:-1])
    assert not leased.cold.room([Check(PATH, 0)]).holds(ops[:-1])
    assert not leased.cold.room().holds(ops[:1], more_bytes=512 * 1024)


@pytest.mark.parametrize(
    "read",
    [
        lambda leased: leased.shard(),
        lambda leased: leased.binding(),
        lambda leased: leased.read([DAY]),
        lambda leased: leased.read_names([DAY]),
    ],
    ids=["shard", "binding", "partitions", "names"],
)
def test_cold_takes_no_write_once_the_marker_has_changed(
    bench: Bench, read: Callable[[LeasedShard], object]
) -> None:
    """Then the table may be another cluster's, whatever was read before."""
    bench.move(DAY)
    marker = bench.cold.get(PATH)[0]
    for changes in (False, True):
        lease = bench.context.leases.acquire(PATH)
        leased = LeasedShard(bench.hot_store, bench.cold_store, bench.reader(), LAYOUT, lease)
        read(leased)
        if changes:
            bench.cold.set(PATH, marker)
        written = leased.cold.commit([("one", [Create(f"{PATH}/{changes}", b"")])])
        assert bool(written.committed) is not changes


def test_parents_are_created_once(bench: Bench, leased: LeasedShard) -> None:
    paths = [f"{PATH}/replicas/{each}/parts" for each in ("r1", "r2")]
    leased.cold.ensure(paths)
    before = bench.cold_ensemble.tree()
    assert set(paths) <= before.keys()
    leased.cold.ensure(paths)
    assert bench.cold_ensemble.tree() == before


def test_a_run_that_was_paused_creates_no_parents(bench: Bench, leased: LeasedShard) -> None:
    bench.context.leases.acquire(PATH)
    before = bench.cold_ensemble.data()
    with pytest.raises(LeaseLost, match=PATH):
        leased.cold.ensure([f"{PATH}/replicas/r1/parts"])
    assert bench.cold_ensemble.data() == before


def test_parents_that_do_not_stay(bench: Bench, leased: LeasedShard) -> None:
    path = f"{PATH}/gone"
    bench.hot_store.after = lambda multi: bench.hot.delete(path) if multi[-1].path == path else None
    with pytest.raises(EnsembleError, match=f"{path} does not stay in the hot ensemble"):
        leased.hot.ensure([path])


def test_everything_is_judged_for_a_moment_of_the_clock_of_hot(bench: Bench) -> None:
    """With a clock that is ahead, copies would be removed that a server still needs."""
    ahead = ManualClock(bench.clock.now() + 660.0)
    leases = LeaseKeeper(bench.hot_store, bench.cold_store, ahead, owner="a test")
    leased = LeasedShard(bench.hot_store, bench.cold_store, bench.reader(), LAYOUT, leases.acquire(PATH))
    assert leased.taken_at == bench.clock.now()
