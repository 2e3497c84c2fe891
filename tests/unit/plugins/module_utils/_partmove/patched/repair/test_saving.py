# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is deleted or changed is kept before, and nothing is sent where that fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    DELETED,
    Left,
    SavedZnode,
    WrittenZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.saving import (
    SavedWrite,
    SavingStore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Delete,
    SetData,
)
from support.memory.memory import ManualClock, MemoryEnsemble


class Kept:
    """A store with two znodes, and the znodes saved so far."""

    def __init__(self) -> None:
        self.inner = MemoryEnsemble("hot", ManualClock()).open()
        self.inner.commit([(Create("/a", b"1"), Create("/b", b"2"))])
        self.kept: list[SavedWrite] = []
        self.done: list[str] = []
        self.announced: list[list[str]] = []
        self.store = SavingStore(self.inner, "hot", self.save, self.announce, self.done)

    def announce(self, multis: Sequence[Sequence[str]]) -> None:
        assert not self.done
        self.announced += [list(each) for each in multis]

    def save(self, writes: Sequence[SavedWrite]) -> None:
        for each in writes:
            now = self.inner.read([each.path])[0]
            if isinstance(each, SavedZnode):
                assert now is not None
                assert each == SavedZnode.of("hot", now, each.left)
        self.kept += writes


def test_what_is_deleted_and_changed_is_kept() -> None:
    kept = Kept()
    kept.store.commit(
        [(Check("/a", 0), SetData("/a", b"new", 0)), (Delete("/b", 0), Create("/c", b"x" * 17))]
    )
    assert kept.kept == [
        SavedZnode("hot", "/a", b"1", 0, Left(b"new", 1)),
        SavedZnode("hot", "/b", b"2", 0, DELETED),
        WrittenZnode("hot", "/c", Left(b"x" * 17, 0)),
    ]
    for each in kept.kept:
        now = kept.inner.read([each.path])[0]
        assert each.left == (DELETED if now is None else Left.of(now))
    assert kept.done == ["hot: set /a to 'new'", "hot: delete /b", "hot: create /c"]
    assert kept.announced == [kept.done[:1], kept.done[1:]]


def test_each_write_to_a_znode_is_kept_with_what_it_leaves() -> None:
    kept = Kept()
    kept.store.commit([(Delete("/a", 0),), (Create("/a", b"x"), SetData("/a", b"y", 0)), (Delete("/a", 1),)])
    assert kept.kept == [
        SavedZnode("hot", "/a", b"1", 0, DELETED),
        WrittenZnode("hot", "/a", Left(b"x", 0)),
        WrittenZnode("hot", "/a", Left(b"y", 1)),
        WrittenZnode("hot", "/a", DELETED),
    ]


def test_what_is_not_as_it_was_read_is_neither_kept_nor_done() -> None:
    kept = Kept()
    kept.store.commit([(Delete("/a", 5),), (Delete("/gone", 0),)])
    assert (kept.kept, kept.done) == ([], [])
    assert kept.inner.read(["/a"])[0] is not None


def test_what_cannot_be_kept_is_not_done() -> None:
    kept = Kept()

    def full(_writes: Sequence[SavedWrite]) -> None:
        raise PartMoveError("No space left")

    store = SavingStore(kept.inner, "hot", full, kept.announce, kept.done)
    with pytest.raises(PartMoveError):
        store.commit([(Delete("/a", 0),)])
    assert kept.inner.read(["/a"])[0] is not None
    assert kept.done == []


def test_a_write_that_cannot_be_announced_is_not_done() -> None:
    kept = Kept()

    def full(_multis: Sequence[Sequence[str]]) -> None:
        raise PartMoveError("No space left")

    store = SavingStore(kept.inner, "hot", kept.save, full, kept.done)
    with pytest.raises(PartMoveError):
        store.commit([(Delete("/a", 0),)])
    assert kept.inner.read(["/a"])[0] is not None
    assert kept.done == []


def test_the_rest_is_that_of_the_store() -> None:
    kept = Kept()
    store, inner = kept.store, kept.inner
    store.sync("/")
    assert (store.name, store.chroot, store.addresses) == (inner.name, inner.chroot, inner.addresses)
    assert (store.server_id, store.session_id) == (inner.server_id, inner.session_id)
    assert store.children(["/"]) == inner.children(["/"])
    assert [each.name for each in store.members()] == [each.name for each in inner.members()]
