# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lagging members of hot keep the copies of partitions that were brought back."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleUnreachable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.hot_members import (
    refuse_behind,
)
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.memory import MemoryEnsemble, MemoryStore

LAYOUT = ShardLayout(PATH)


class TwoMembers(MemoryStore):
    """A store of an ensemble with one member more."""

    def __init__(self, ensemble: MemoryEnsemble, other: MemoryStore) -> None:
        super().__init__(ensemble)
        self._other = other

    def members(self) -> list[MemoryStore]:
        return [self, self._other]


def test_all_members_that_know_let_the_copies_go() -> None:
    bench = Bench()
    bench.move(DAY)
    bench.reheat(DAY)
    assert refuse_behind(bench.hot_store, LAYOUT, [DAY]) == {}
    assert refuse_behind(bench.hot_store, LAYOUT, []) == {}


def test_a_member_that_does_not_know_yet_keeps_them() -> None:
    bench, behind = Bench(), Bench()
    for each in (bench, behind):
        each.move(DAY)
    bench.reheat(DAY)
    store = TwoMembers(bench.hot_ensemble, behind.hot_ensemble.open())

    refused = refuse_behind(store, LAYOUT, [DAY])

    assert refused[DAY].gate is GateName.HOT_MEMBERS
    assert "on hot the partition is still cold" in refused[DAY].reason


def test_a_member_that_has_no_state_keeps_them() -> None:
    bench = Bench()
    assert refuse_behind(bench.hot_store, LAYOUT, [DAY]).keys() == {DAY}


def test_a_member_that_does_not_answer_keeps_all() -> None:
    class Silent(MemoryStore):
        def members(self) -> list[MemoryStore]:
            raise EnsembleUnreachable("h3:2181 does not answer")

    refused = refuse_behind(Silent(Bench().hot_ensemble), LAYOUT, [DAY, OTHER])
    assert refused.keys() == {DAY, OTHER}
    assert "h3:2181 does not answer" in refused[DAY].reason
