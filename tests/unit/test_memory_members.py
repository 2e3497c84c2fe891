# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Members of an ensemble in memory are behind as far as ZooKeeper allows, and no further."""

from __future__ import annotations

from random import Random

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Delete,
    Rejected,
    SetData,
)
from support.memory.memory import MemoryEnsemble, MemoryStore


@pytest.fixture
def ensemble() -> MemoryEnsemble:
    return MemoryEnsemble("hot", members=3)


def data(store: MemoryStore, path: str = "/a") -> bytes | None:
    znode = store.read([path])[0]
    return None if znode is None else znode.data


def test_another_member_applies_nothing_by_itself(ensemble: MemoryEnsemble) -> None:
    ensemble.open().commit([(Create("/a", b"1"),)])
    behind = ensemble.open(1)

    assert data(behind) is None
    assert behind.children(["/"]) == [()]
    assert data(ensemble.open()) == b"1"


def test_a_sync_shows_all_that_was_committed_before_it(ensemble: MemoryEnsemble) -> None:
    leader, behind = ensemble.open(), ensemble.open(1)
    leader.commit([(Create("/a", b"1"),)])
    behind.sync("/")
    leader.commit([(SetData("/a", b"2", 0),)])

    assert data(behind) == b"1"
    assert data(ensemble.open(2)) is None


def test_a_session_sees_its_own_write_and_all_before_it(ensemble: MemoryEnsemble) -> None:
    ensemble.open().commit([(Create("/a", b"1"),)])
    behind = ensemble.open(1)

    assert behind.commit([(Create("/b", b""),)]) == [Committed()]
    assert data(behind) == b"1"


def test_a_rejected_write_shows_as_much(ensemble: MemoryEnsemble) -> None:
    ensemble.open().commit([(Create("/a", b"1"),)])
    behind = ensemble.open(1)

    assert isinstance(behind.commit([(Delete("/a", 7),)])[0], Rejected)
    assert data(behind) == b"1"


def test_a_write_whose_answer_is_lost_shows_nothing(ensemble: MemoryEnsemble) -> None:
    behind = ensemble.open(1)
    behind.commit_one((Create("/a", b"1"),), answered=False)

    assert data(behind) is None
    assert data(ensemble.open()) == b"1"


def test_a_session_that_moves_takes_along_what_it_has_seen(ensemble: MemoryEnsemble) -> None:
    store = ensemble.open()
    store.commit([(Create("/a", b"1"),)])
    assert data(store) == b"1"
    ensemble.open().commit([(SetData("/a", b"2", 0),)])

    store.connect_to(2)

    assert data(store) == b"1"
    assert data(ensemble.open(1)) is None


def test_a_new_session_may_know_less(ensemble: MemoryEnsemble) -> None:
    store = ensemble.open()
    store.commit([(Create("/a", b"1"),)])
    assert data(ensemble.open(1)) is None


def test_each_member_can_be_asked(ensemble: MemoryEnsemble) -> None:
    ensemble.open().commit([(Create("/a", b"1"),)])
    ensemble.catch_up(1)

    members = ensemble.open(1).members()

    assert [data(each) for each in members] == [b"1", b"1", None]
    assert [each.name for each in members] == ["hot1.example:2181", "hot2.example:2181", "hot3.example:2181"]


def test_a_member_has_the_tree_of_one_moment() -> None:
    """What a member tells is the tree as it was after one of the transactions, and never an earlier one."""
    random = Random(1)
    ensemble = MemoryEnsemble("hot", members=2)
    leader, behind = ensemble.open(), ensemble.open(1)
    paths = ("/a", "/b", "/a/c")
    trees: list[list[bytes | None]] = []
    last = 0
    for number in range(300):
        path = random.choice(paths)
        znode = leader.read([path])[0]
        value = b"%d" % number
        op = (
            Create(path, value)
            if znode is None
            else random.choice((SetData(path, value, znode.stat.version), Delete(path, znode.stat.version)))
        )
        leader.commit([(op,)])
        trees.append([data(leader, each) for each in paths])
        if random.random() < 0.2:
            ensemble.catch_up(1, random.randint(ensemble.applied(1), ensemble.history.last))
        found = [data(behind, each) for each in paths]
        applied = ensemble.applied(1)
        assert applied >= last
        assert found == (trees[applied - 1] if applied else [None] * len(paths))
        last = applied
    assert last > 250
