# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Timed leases: turns of hosts in maintaining the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    FormatError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.timed_lease import (
    LONGEST_SECONDS,
    Claim,
    TimedLease,
    TimedLeases,
    parse_claim,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Multi,
    Outcome,
    Reason,
    Rejected,
    SetData,
    Unknown,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import ManualClock, MemoryEnsemble

PATH = "/partmove/guard/guard"
PARENT = "/partmove/guard"
FIRST, SECOND = Claim("the first", 60), Claim("the second", 60)


class Losing(HookedStore):
    """Applies the next write of the paths in ``lose``, and loses the answer."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.lose: set[str] = set()

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        outcomes = super().commit(made)
        path = made[0][0].path
        if path not in self.lose:
            return outcomes
        self.lose.discard(path)
        return [Unknown("lost")]


class Hosts:
    """One ensemble, and a session of each host."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot = MemoryEnsemble("hot", self.clock, members=2)

    def host(self, member: int = 0) -> tuple[Losing, TimedLeases]:
        store = Losing(self.hot)
        store.member = member
        return store, TimedLeases(store)

    def claim(self) -> Claim | None:
        znode = self.hot.read([PATH])[0]
        return None if znode is None else parse_claim(znode.data, PATH)


@pytest.fixture
def hosts() -> Hosts:
    return Hosts()


def test_a_lease_is_taken_once(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()

    assert first.take("guard", FIRST) == TimedLease(FIRST, None, 60.0)
    hosts.clock.time += 20
    assert second.take("guard", SECOND) == TimedLease(FIRST, FIRST, 40.0)
    assert hosts.claim() == FIRST


def test_a_returned_lease_is_free(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)

    assert first.give_back("guard", FIRST.owner) == FIRST
    assert hosts.claim() is None
    assert first.give_back("guard", FIRST.owner) is None
    assert second.take("guard", SECOND) == TimedLease(SECOND, None, 60.0)


def test_a_lease_of_another_owner_is_not_given_back(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)

    assert second.give_back("guard", SECOND.owner) == FIRST
    assert hosts.claim() == FIRST


def test_leases_of_different_names_are_independent(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)

    assert second.take("separate", SECOND) == TimedLease(SECOND, None, 60.0)


@pytest.mark.parametrize(("seconds", "is_over"), [(59.999, False), (60.0, True), (61.0, True)])
def test_an_expired_lease_is_taken_over(hosts: Hosts, seconds: float, is_over: bool) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += seconds

    turn = second.take("guard", SECOND)

    assert turn.former == FIRST
    assert turn.claim == (SECOND if is_over else FIRST)
    assert hosts.claim() == turn.claim


def test_the_owner_sets_the_duration_of_a_lease(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 30

    assert second.take("guard", Claim("the second", 1)).claim == FIRST


def test_a_prolonged_lease_lasts_longer(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 50

    assert first.take("guard", FIRST) == TimedLease(FIRST, FIRST, 60.0)
    hosts.clock.time += 50
    assert second.take("guard", SECOND).claim == FIRST


def test_a_former_owner_does_not_prolong_the_lease(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 60
    second.take("guard", SECOND)

    assert first.take("guard", FIRST) == TimedLease(SECOND, SECOND, 60.0)


def test_the_current_time_comes_from_a_new_write(hosts: Hosts) -> None:
    """By the time of an old write, the lease of a killed run would never end."""
    (_one, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 30
    second.take("guard", SECOND)
    hosts.clock.time += 30

    assert second.take("guard", SECOND).claim == SECOND


def overtake(first: Losing, act: Callable[[], object], path: str = PATH) -> None:
    """Call ``act`` right before the session's first write to the path."""
    waiting = [act]

    def before(multi: Multi) -> None:
        if multi[0].path == path and waiting:
            waiting.pop()()

    first.before = before


def test_of_two_concurrent_takers_of_a_free_lease_one_succeeds(hosts: Hosts) -> None:
    (store, first), (_other, second) = hosts.host(), hosts.host()
    overtake(store, lambda: second.take("guard", SECOND))

    assert first.take("guard", FIRST) == TimedLease(SECOND, SECOND, 60.0)
    assert hosts.claim() == SECOND


@pytest.mark.parametrize("path", [PARENT, PATH], ids=["asks", "takes"])
def test_of_two_concurrent_takers_of_an_expired_lease_one_succeeds(hosts: Hosts, path: str) -> None:
    (_old, former), (store, first), (_other, second) = hosts.host(), hosts.host(), hosts.host()
    former.take("guard", Claim("the former", 60))
    hosts.clock.time += 60
    overtake(store, lambda: second.take("guard", SECOND), path)

    assert first.take("guard", FIRST) == TimedLease(SECOND, SECOND, 60.0)
    assert hosts.claim() == SECOND


def test_a_claim_that_came_and_expired_at_that_moment_is_the_former_one(hosts: Hosts) -> None:
    (store, first), (_other, second) = hosts.host(), hosts.host()

    def pass_by() -> None:
        second.take("guard", SECOND)
        hosts.clock.time += 60

    overtake(store, pass_by)

    assert first.take("guard", FIRST) == TimedLease(FIRST, SECOND, 60.0)


def test_a_lease_prolonged_at_that_moment_is_not_taken_over(hosts: Hosts) -> None:
    (_one, first), (store, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 60
    overtake(store, lambda: first.take("guard", FIRST))

    assert second.take("guard", SECOND) == TimedLease(FIRST, FIRST, 60.0)


def test_a_lease_taken_over_at_that_moment_is_not_given_back(hosts: Hosts) -> None:
    (store, first), (_other, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 60
    overtake(store, lambda: second.take("guard", SECOND))

    first.give_back("guard", FIRST.owner)

    assert hosts.claim() == SECOND


def test_another_host_may_write_the_parent_at_that_moment(hosts: Hosts) -> None:
    (_one, first), (store, second), (_other, third) = hosts.host(), hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 20
    overtake(store, lambda: third.take("guard", Claim("the third", 60)), PARENT)

    assert second.take("guard", SECOND) == TimedLease(FIRST, FIRST, 40.0)


def test_a_lagging_member_gives_no_lease_away(hosts: Hosts) -> None:
    (_one, first), (_other, second) = hosts.host(), hosts.host(member=1)
    first.take("guard", FIRST)

    assert second.take("guard", SECOND).claim == FIRST


@pytest.mark.parametrize("path", [PARENT, PATH], ids=["asked", "taken"])
def test_take_survives_a_lost_answer(hosts: Hosts, path: str) -> None:
    (_one, first), (store, second) = hosts.host(), hosts.host()
    first.take("guard", FIRST)
    hosts.clock.time += 60
    store.lose = {path}

    assert second.take("guard", SECOND) == TimedLease(SECOND, FIRST, 60.0)
    store.lose = {path}
    assert second.give_back("guard", SECOND.owner) == SECOND
    assert hosts.claim() is None


def test_a_lease_that_keeps_changing(hosts: Hosts) -> None:
    store, turns = hosts.host()
    MemoryClient(hosts.hot.open()).ensure_path(PARENT)
    store.loses = lambda _multi: True

    with pytest.raises(
        EnsembleError, match=f"The timed lease {PATH} could not be taken or given back in 10 tries"
    ):
        turns.take("guard", FIRST)
    store.loses = lambda _multi: False
    turns.take("guard", FIRST)
    store.loses = lambda _multi: True
    with pytest.raises(EnsembleError):
        turns.give_back("guard", FIRST.owner)
    assert hosts.claim() == FIRST


def test_an_unwritable_ensemble(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    store, turns = hosts.host()
    MemoryClient(hosts.hot.open()).ensure_path(PARENT)
    monkeypatch.setattr(store, "commit", lambda _multis: [Rejected(0, Reason.NO_AUTH, -102)])

    with pytest.raises(AccessDenied, match=f"Writing {PATH} is denied to this identity by the hot ensemble"):
        turns.take("guard", FIRST)


@pytest.mark.parametrize("name", ["", "a/b", "..", "A", "x" * 61])
def test_invalid_names(hosts: Hosts, name: str) -> None:
    _store, turns = hosts.host()

    with pytest.raises(FormatError, match="which is invalid"):
        turns.take(name, FIRST)
    with pytest.raises(FormatError, match="which is invalid"):
        turns.give_back(name, FIRST.owner)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "its version is 2"),
        ({"format": "another"}, "this is no timed lease"),
        ({"owner": None}, "It has to be text in quotes"),
        ({"ttl": 0}, f"It has to be a whole number of seconds from 1 to {LONGEST_SECONDS}"),
        ({"ttl": LONGEST_SECONDS + 1}, "It has to be a whole number of seconds"),
        ({"ttl": 604_801}, "It has to be a whole number of seconds"),
        ({"ttl": True}, "It has to be a whole number of seconds"),
        ({"ttl": "60"}, "It has to be a whole number of seconds"),
        ({"ttl": 1.5}, "It has to be a whole number of seconds"),
        ({"more": 1}, "is not a known key"),
    ],
)
def test_unknown_data_is_left_unchanged(hosts: Hosts, changes: dict[str, Any], says: str) -> None:
    _store, turns = hosts.host()
    data = json.dumps({**json.loads(FIRST.data), **changes}).encode()
    MemoryClient(hosts.hot.open()).create(PATH, data, makepath=True)

    with pytest.raises(FormatError, match=says) as caught:
        turns.take("guard", SECOND)

    assert str(caught.value).startswith(PATH)
    assert "delete it while no guard is running" in str(caught.value)
    assert hosts.hot.read([PATH])[0].data == data  # type: ignore[union-attr]


def test_the_znode_of_a_claim() -> None:
    """Other versions of the collection read it."""
    data = '{"format": "olap.partmove/timed-lease", "owner": "münchen", "ttl": 60, "version": 1}'
    assert Claim("münchen", 60).data.decode() == data


@pytest.mark.parametrize("ttl", [1, LONGEST_SECONDS])
def test_the_shortest_and_the_longest_claim(ttl: int) -> None:
    assert parse_claim(Claim("the first", ttl).data, PATH) == Claim("the first", ttl)


def test_only_the_lease_and_its_parents_are_written(hosts: Hosts) -> None:
    store, turns = hosts.host()
    written: list[tuple[type, str]] = []
    store.before = lambda multi: written.extend((type(op), op.path) for op in multi)

    turns.take("guard", FIRST)
    turns.take("guard", FIRST)

    assert written == [(Create, "/partmove"), (Create, PARENT), (Create, PATH), (SetData, PATH)]
