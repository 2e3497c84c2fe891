# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hold begins only while no run is at work, and belongs to its owner."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AlterUnfinished,
    EnsembleError,
    LeaseHeld,
    LeaseLost,
    PartMoveError,
    ShardHeld,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    LeaseKeeper,
    path_of_lock,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Multi,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.holds import (
    Holds,
    hold_line,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import START, MemoryEnsemble

PATH = "/clickhouse/tables/01/hits"
HOLD = path_of_bar("/partmove", Bar.HOLD, PATH)


class Ground:
    """A shard path that may be held."""

    def __init__(self) -> None:
        self.hot = MemoryEnsemble("hot")
        self.store = HookedStore(self.hot)
        self.client = MemoryClient(self.hot.open())
        keeper = LeaseKeeper(self.store, None, self.hot.clock, owner="a hold", wait_seconds=0, bars=())
        self.holds = Holds(self.store, keeper)

    def run(self) -> LeaseKeeper:
        """The keeper of another run."""
        return LeaseKeeper(self.hot.open(), None, self.hot.clock, owner="a run", wait_seconds=0)

    @property
    def is_held(self) -> bool:
        return self.store.read([HOLD])[0] is not None

    @property
    def is_locked(self) -> bool:
        return self.store.read([path_of_lock("/partmove", PATH)])[0] is not None


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_a_hold_begins_and_ends(ground: Ground) -> None:
    placed = ground.holds.place(PATH, "me", "a migration", 60)
    hold = Hold("me", "a migration", int(START * 1000) + 60_000)
    assert (placed.before, placed.after, placed.is_change) == (None, hold, True)
    assert not ground.is_locked
    with pytest.raises(ShardHeld):
        ground.run().acquire(PATH)
    removed = ground.holds.remove(PATH, "me")
    assert (removed.before, removed.after, removed.is_change) == (hold, None, True)
    assert ground.run().acquire(PATH).ended_hold is None
    assert not ground.holds.remove(PATH, "me").is_change


def test_the_owner_prolongs_a_hold(ground: Ground) -> None:
    ground.holds.place(PATH, "me", "a migration", 60)
    ground.hot.clock.sleep(50)
    again = ground.holds.place(PATH, "me", "a migration", 60)
    assert not again.is_change
    assert again.after is not None
    assert again.after.until == int(START * 1000) + 110_000
    assert ground.holds.place(PATH, "me", "another migration", 60).is_change


def test_a_hold_belongs_to_its_owner(ground: Ground) -> None:
    ground.holds.place(PATH, "me", "a migration", 60)
    with pytest.raises(ShardHeld, match="is held by me"):
        ground.holds.place(PATH, "you", "a migration", 60)
    with pytest.raises(ShardHeld, match="Its owner is 'me', and not 'you'"):
        ground.holds.remove(PATH, "you")
    assert ground.is_held


def test_another_owner_gets_a_hold_whose_time_has_passed(ground: Ground) -> None:
    ground.holds.place(PATH, "me", "a migration", 60)
    ground.hot.clock.sleep(60)
    placed = ground.holds.place(PATH, "you", "a migration", 60)
    assert placed.before is not None
    assert placed.after is not None
    assert (placed.before.owner, placed.after.owner) == ("me", "you")


def test_a_run_at_work_is_waited_for(ground: Ground) -> None:
    ground.run().acquire(PATH)
    with pytest.raises(LeaseHeld, match="is locked by another run: a run"):
        ground.holds.place(PATH, "me", "a migration", 60)
    assert not ground.is_held


def test_a_partition_between_the_tables_has_to_arrive_first(ground: Ground) -> None:
    ground.client.create(Records(ground.store, "/partmove", PATH).path("201912"), b"a record", makepath=True)
    with pytest.raises(
        PartMoveError, match="partition 201912 is between .* Run twin_move for partition 201912"
    ):
        ground.holds.place(PATH, "me", "a migration", 60)
    assert not ground.is_held
    assert not ground.is_locked


def test_an_unfinished_statement_has_to_be_finished_first(ground: Ground) -> None:
    ground.client.create(path_of_bar("/partmove", Bar.ALTER, PATH), b"a statement", makepath=True)
    with pytest.raises(AlterUnfinished, match="Run twin_alter"):
        ground.holds.place(PATH, "me", "a migration", 60)
    assert not ground.is_held


def test_a_run_that_took_over_meanwhile_gets_no_hold(ground: Ground) -> None:
    def take_over(multi: Multi) -> None:
        if any(isinstance(op, Create) and op.path == HOLD for op in multi):
            ground.store.expire()
            ground.run().acquire(PATH)

    ground.store.before = take_over
    with pytest.raises(LeaseLost):
        ground.holds.place(PATH, "me", "a migration", 60)
    assert not ground.is_held


def test_a_hold_that_changed_meanwhile_is_left(ground: Ground) -> None:
    ground.holds.place(PATH, "me", "a migration", 60)
    other = Hold("me", "by hand", 1).data

    def write(multi: Multi) -> None:
        if any(isinstance(op, SetData) and op.path == HOLD for op in multi):
            ground.client.set(HOLD, other)

    ground.store.before = write
    with pytest.raises(LeaseLost, match="has changed since this run read it"):
        ground.holds.place(PATH, "me", "a migration", 60)
    assert ground.client.get(HOLD)[0] == other


def test_a_lost_answer_is_no_success(ground: Ground) -> None:
    ground.store.loses = lambda multi: multi[-1].path == HOLD
    with pytest.raises(EnsembleError, match="It is not known whether"):
        ground.holds.place(PATH, "me", "a migration", 60)


def test_a_line_says_who_has_the_hold() -> None:
    assert hold_line("/t", None) == "/t: not held\n"
    assert hold_line("/t", Hold("me", "why", 0)) == "/t: held by me until 1970-01-01T00:00:00.000Z: why\n"
