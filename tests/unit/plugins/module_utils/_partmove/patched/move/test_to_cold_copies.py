# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of a move: compared byte for byte on each member, and taken back only where nobody needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, Znode
from support.memory.arrange import create, entry, mark
from support.memory.behind import lose_answer
from support.memory.bench import DAY, OTHER, PART, PATH, Bench, HookedStore
from support.memory.memory import MemoryEnsemble

PARTS = f"{PATH}/replicas/r1/parts"


class Member(HookedStore):
    """A member that shows other data of some znodes."""

    def __init__(self, ensemble: MemoryEnsemble, change: Callable[[Znode], Znode]) -> None:
        super().__init__(ensemble)
        self._change = change

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        return [each and self._change(each) for each in super().read(paths, absolute=absolute)]


class Cold(HookedStore):
    """Has members of its own, of which the connection itself is none."""

    shown: Sequence[HookedStore] = ()

    def members(self) -> Sequence[HookedStore]:
        return self.shown


def changed(znode: Znode) -> Znode:
    return znode._replace(data=b"other") if znode.path.endswith(PART) else znode


def test_a_member_with_other_bytes_keeps_a_partition_hot() -> None:
    bench = Bench()
    cold = Cold(bench.cold_ensemble)
    cold.shown = [Member(bench.cold_ensemble, lambda znode: znode), Member(bench.cold_ensemble, changed)]
    bench.context = bench.context._replace(cold=cold)

    report = bench.move(DAY, OTHER)

    assert report.moved.keys() == {OTHER}
    assert report.failed[DAY].gate is GateName.COPIES_EQUAL
    assert "differs on cold" in report.failed[DAY].reason
    assert bench.hot.exists(bench.part()) is not None
    assert not any(bench.cold.exists(bench.part(each)) for each in ("r1", "r2"))


def test_copies_of_a_partition_that_another_run_made_cold_are_not_taken_back() -> None:
    """This run made them, and lost its lease; the other one found them and relies on them."""
    bench = Bench()
    other = bench.beside()

    def take_over() -> None:
        bench.hot_store.expire()
        assert other.move(DAY).moved.keys() == {DAY}
        create("log/log-0000000000", entry(b"explode\nnow\n"))(bench)

    bench.before_switch(take_over)

    assert bench.move(DAY, OTHER).deferred[OTHER].gate is GateName.READABLE
    assert bench.cold.get_children(PARTS) == [PART]


def test_copies_made_under_a_lease_that_was_lost_are_taken_back() -> None:
    """Else what is dropped then would be registered in cold for ever."""
    bench = Bench()
    mark(bench)

    def lose_the_lease_and_drop() -> None:
        bench.hot_store.expire()
        bench.servers.drop(DAY)

    bench.before_switch(lose_the_lease_and_drop)

    assert bench.move(DAY).deferred[DAY].gate is GateName.PARTITION_EXISTS
    assert bench.cold.get_children(PARTS) == [f"{OTHER}_0_0_0"]


def test_copies_whose_answer_was_lost_are_taken_back() -> None:
    bench = Bench()
    mark(bench)

    def copies(multi: Multi) -> bool:
        return any(op.path == f"{PARTS}/{PART}" for op in multi)

    lose_answer(bench.cold_store, bench.cold_ensemble, copies)
    bench.before_switch(lambda: bench.servers.drop(DAY))

    assert bench.move(DAY).deferred[DAY].gate is GateName.PARTITION_EXISTS
    assert bench.cold.get_children(PARTS) == [f"{OTHER}_0_0_0"]


@pytest.mark.parametrize("partitions", [(DAY,), (DAY, OTHER)])
def test_copies_of_other_partitions_are_not_taken_back(partitions: tuple[str, ...]) -> None:
    """What cannot be read any more is the reason to take back the copies of what is not cold."""
    bench = Bench()
    bench.after_switch(lambda: create("log/log-0000000000", entry(b"explode\nnow\n"))(bench))

    report = bench.move(*partitions)

    assert report.failed.keys() == set(partitions)
    assert bench.cold.get_children(PARTS) == sorted(f"{each}_0_0_0" for each in partitions)
