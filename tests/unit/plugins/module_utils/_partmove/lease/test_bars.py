# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bars keep every run from a shard path, and only the clock of the ensemble ends a hold."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    AlterUnfinished,
    EnsembleError,
    FormatError,
    LeaseLost,
    ShardHeld,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import (
    EVERY_BAR,
    Bar,
    Hold,
    parse_hold,
    path_of_bar,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    LeaseKeeper,
    path_of_lock,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, Multi
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import START, ManualClock, MemoryEnsemble

PATH = "/clickhouse/tables/01/hits"
HOLD = path_of_bar("/partmove", Bar.HOLD, PATH)
ALTER = path_of_bar("/partmove", Bar.ALTER, PATH)
NOW = int(START * 1000)


class Barred:
    """A shard path, and a keeper that the bars concern."""

    def __init__(self) -> None:
        self.hot = MemoryEnsemble("hot")
        self.store = HookedStore(self.hot)
        self.client = MemoryClient(self.hot.open())

    def keeper(self, bars: Collection[Bar] = EVERY_BAR) -> LeaseKeeper:
        return LeaseKeeper(self.store, None, self.hot.clock, owner="a run", wait_seconds=0, bars=bars)

    def put(self, path: str, data: bytes) -> None:
        self.client.create(path, data, makepath=True)

    @property
    def is_locked(self) -> bool:
        return self.store.read([path_of_lock("/partmove", PATH)])[0] is not None


@pytest.fixture
def barred() -> Barred:
    return Barred()


def test_a_hold_keeps_every_run_away_and_leaves_no_lock(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW + 1).data)
    with pytest.raises(ShardHeld, match="is held by me until 20.*: a migration"):
        barred.keeper().acquire(PATH)
    assert not barred.is_locked
    assert barred.store.read([HOLD])[0] is not None


def test_a_hold_whose_time_has_passed_is_deleted_and_named(barred: Barred) -> None:
    hold = Hold("me", "a migration", NOW)
    barred.put(HOLD, hold.data)
    lease = barred.keeper().acquire(PATH)
    assert lease.ended_hold == hold
    assert barred.store.read([HOLD])[0] is None
    assert barred.is_locked


def test_the_clock_of_the_host_ends_no_hold(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW + 1000).data)
    ahead = LeaseKeeper(barred.store, None, ManualClock(START + 86_400), owner="a run", wait_seconds=0)
    with pytest.raises(ShardHeld):
        ahead.acquire(PATH)


def test_a_hold_that_was_prolonged_meanwhile_stays(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW).data)
    later = Hold("me", "a migration", NOW + 5000)

    def prolong(multi: Multi) -> None:
        if any(isinstance(op, Delete) and op.path == HOLD for op in multi):
            barred.client.set(HOLD, later.data)

    barred.store.before = prolong
    with pytest.raises(ShardHeld):
        barred.keeper().acquire(PATH)
    znode = barred.store.read([HOLD])[0]
    assert znode is not None
    assert parse_hold(znode) == later


def test_a_run_that_lost_its_lease_ends_no_hold(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW).data)

    def lose(multi: Multi) -> None:
        if any(isinstance(op, Delete) and op.path == HOLD for op in multi):
            barred.store.before = lambda _multi: None
            barred.client.delete(path_of_lock("/partmove", PATH))

    barred.store.before = lose
    with pytest.raises(LeaseLost):
        barred.keeper().acquire(PATH)
    assert barred.store.read([HOLD])[0] is not None


def test_a_hold_that_may_not_be_deleted_is_reported(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW).data)
    barred.store.denied_writes.add(HOLD)
    with pytest.raises(AccessDenied):
        barred.keeper().acquire(PATH)
    assert not barred.is_locked


def test_a_hold_whose_deletion_is_unknown_ends_the_run(barred: Barred) -> None:
    barred.put(HOLD, Hold("me", "a migration", NOW).data)
    barred.store.loses = lambda multi: any(isinstance(op, Delete) and op.path == HOLD for op in multi)
    with pytest.raises(EnsembleError):
        barred.keeper().acquire(PATH)
    assert not barred.is_locked


def test_the_data_of_a_hold() -> None:
    text = '{"format": "olap.partmove/hold", "owner": "Zoë", "reason": "a move", "until": 5, "version": 1}'
    assert Hold("Zoë", "a move", 5).data.decode() == text


def test_an_unfinished_statement_keeps_every_run_away(barred: Barred) -> None:
    barred.put(ALTER, b"whatever it is")
    with pytest.raises(
        AlterUnfinished, match="has not finished a statement, see the znode /partmove/twin-alters"
    ):
        barred.keeper().acquire(PATH)
    assert not barred.is_locked
    assert barred.keeper(bars=(Bar.HOLD,)).acquire(PATH).ended_hold is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", Hold("me", "x", 1).data.replace(b'"until": 1', b'"until": "1"')],
    ids=["nothing", "no hold", "a text"],
)
def test_an_unknown_hold_is_refused(barred: Barred, data: bytes) -> None:
    barred.put(HOLD, data)
    with pytest.raises(FormatError, match="holds/%2Fclickhouse"):
        barred.keeper().acquire(PATH)
    assert not barred.is_locked


def test_holds_of_other_shard_paths_do_not_matter(barred: Barred) -> None:
    barred.put(path_of_bar("/partmove", Bar.HOLD, f"{PATH}_2"), Hold("me", "x", NOW + 1).data)
    assert barred.keeper().acquire(PATH).ended_hold is None
