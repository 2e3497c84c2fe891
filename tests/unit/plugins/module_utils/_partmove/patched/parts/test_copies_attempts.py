# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies that cannot be made or removed are reported, and a removal rests on the newest facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.copies import ColdCopies
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, Znode
from support.memory.arrange import create, create_cold
from support.memory.behind import Behind
from support.memory.bench import DAY, PART, PATH
from support.memory.copying import LAYOUT, Copying
from support.memory.memory import MemoryEnsemble, MemoryStore

STATE = f"{PATH}/block_numbers/{DAY}/State"


def has_parts(multi: Multi) -> bool:
    return any(f"/parts/{DAY}" in op.path for op in multi)


def bring_back(copying: Copying) -> None:
    create(f"block_numbers/{DAY}/State", b"COLD")(copying.bench)
    copying.bench.hot.set(STATE, b"HOT")


def test_copies_that_cannot_be_made_are_reported() -> None:
    copying = Copying()
    copying.bench.cold_store.loses = has_parts
    with pytest.raises(EnsembleError):
        copying.make(DAY)
    assert copying.parts() == {}


@pytest.mark.parametrize(
    "remove",
    [lambda copying: copying.remove(DAY), lambda copying: copying.copies.remove_own([DAY])],
    ids=["unneeded", "own"],
)
def test_copies_that_cannot_be_removed_are_reported(remove: Callable[[Copying], object]) -> None:
    copying = Copying()
    copying.make(DAY)
    copying.bench.cold_store.loses = has_parts
    with pytest.raises(EnsembleError):
        remove(copying)
    assert copying.parts() == copying.originals(DAY)


def test_a_partition_with_other_copies_is_not_gone() -> None:
    """Hot knows nothing of one part, which another program registered in cold."""
    copying = Copying()
    copying.make(DAY)
    create_cold(f"replicas/r1/parts/{DAY}_7_7_0")(copying.bench)
    removal = copying.copies.remove_unneeded([DAY])
    assert removal.gone == set()
    assert removal.removed == {DAY: {f"{PATH}/replicas/{each}/parts/{PART}" for each in ("r1", "r2")}}
    assert copying.parts().keys() == {f"r1/parts/{DAY}_7_7_0"}


def test_own_copies_are_removed_although_a_member_does_not_show_them_yet() -> None:
    copying = Copying()
    behind = Behind(copying.bench.cold_ensemble)
    behind.fall_behind()
    copying.make(DAY)
    leased = LeasedShard(copying.bench.hot_store, behind, copying.reader, LAYOUT, copying.lease)
    ColdCopies(leased, copying.created).remove_own([DAY])
    assert copying.parts() == {}


def test_members_are_not_asked_while_copies_have_to_stay_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that starts may need them: that is no fault of a member."""
    copying, behind = Copying(), Copying()
    copying.make(DAY)
    bring_back(copying)
    copying.later(599)
    monkeypatch.setattr(copying.bench.hot_store, "members", lambda: [behind.bench.hot_store])
    removal = copying.copies.remove_unneeded([DAY])
    assert (removal.gone, removal.behind, removal.removed) == (set(), {}, {})


class Member(MemoryStore):
    """Shows State, which another program writes right after."""

    def __init__(self, ensemble: MemoryEnsemble, act: Callable[[], object]) -> None:
        super().__init__(ensemble)
        self._act = act

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        found = super().read(paths, absolute=absolute)
        self._act()
        return found


def test_a_removal_rests_on_facts_newer_than_the_answers_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    copying = Copying()
    copying.make(DAY)
    bring_back(copying)
    copying.later(600)
    member = Member(copying.bench.hot_ensemble, lambda: copying.bench.hot.set(STATE, b"COLD"))
    monkeypatch.setattr(copying.bench.hot_store, "members", lambda: [member])
    assert copying.remove(DAY) == set()
    assert copying.parts() == copying.originals(DAY)
