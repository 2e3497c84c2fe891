# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pair of ensembles gets its identities once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    Pair,
    hots_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    FormatError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    name_of,
    read_pair,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.bench import Bench, HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.two_clusters import TwoClusters


@pytest.fixture
def bench() -> Bench:
    return Bench()


def bind(bench: Bench, *, may_join: bool = False) -> Pair:
    return bind_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT, "a name", may_join=may_join)


def read(bench: Bench) -> Pair:
    return read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT)


def test_a_pair_is_bound_once(bench: Bench) -> None:
    assert read(bench) == Pair("", "", ())
    pair = bind(bench)
    assert pair.is_bound
    assert pair.hot_id != pair.cold_id
    assert read(bench) == bind(bench) == pair


@pytest.mark.parametrize("which", ["hot", "cold"])
@pytest.mark.parametrize("number", range(4))
def test_a_lost_answer_changes_nothing(bench: Bench, which: str, number: int) -> None:
    store = bench.hot_store if which == "hot" else bench.cold_store
    multis: list[object] = []

    def loses(multi: object) -> bool:
        multis.append(multi)
        return len(multis) == number + 1

    store.loses = loses
    assert bind(bench).is_bound


def test_of_two_hot_ensembles_one_comes_first() -> None:
    """The second one looks at the list before the first one is in it."""
    ours, theirs = Bench(), Bench()
    ours.cold_store.ensemble = theirs.cold_ensemble
    acts = [lambda: bind(theirs)]
    ours.cold_store.before = lambda multi: (
        acts.pop()() if acts and any("/hots/" in op.path for op in multi) else None
    )
    assert not bind(ours).is_bound
    assert read(theirs).is_bound
    assert bind(ours, may_join=True).is_bound
    assert read(theirs).is_bound


class ActsAfterRead(HookedStore):
    """Does something after it has read the folder of the list, once."""

    def __init__(self, ensemble: MemoryEnsemble, act: Callable[[], object]) -> None:
        super().__init__(ensemble)
        self._acts = [act]

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        found = super().read(paths, absolute=absolute)
        if hots_path(DEFAULT_ROOT) in paths and self._acts:
            self._acts.pop()()
        return found


def test_of_two_hot_ensembles_one_comes_first_although_the_other_read_before() -> None:
    """The list was empty, and is not when its folder is read."""
    ours, theirs = Bench(), Bench()
    ours.cold_store = ActsAfterRead(theirs.cold_ensemble, lambda: bind(theirs))
    assert not bind(ours).is_bound
    assert read(theirs).is_bound


class LosesFolder(HookedStore):
    """Shows no folder of the list once, as somebody deletes it before the read of that number."""

    def __init__(self, ensemble: MemoryEnsemble, number: int) -> None:
        super().__init__(ensemble)
        self._number = number

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        folder = hots_path(DEFAULT_ROOT)
        if folder in paths:
            self._number -= 1
            if self._number == 0 and self.ensemble.read([folder]) != [None]:
                MemoryClient(self.ensemble.open()).delete(folder)
        return super().read(paths, absolute=absolute)


@pytest.mark.parametrize("number", range(1, 4))
def test_a_folder_that_is_deleted_meanwhile_is_made_again(bench: Bench, number: int) -> None:
    bench.cold_store = LosesFolder(bench.cold_ensemble, number)
    assert bind(bench).is_bound


def test_a_second_hot_ensemble_joins_on_request_alone() -> None:
    ours, theirs = (each.bench for each in TwoClusters.build())
    assert not bind(ours).is_bound
    assert bind(ours, may_join=True).is_bound
    assert len(read(theirs).bound_hots) == 2


def test_unknown_data_is_refused(bench: Bench) -> None:
    bench.hot.create(f"{DEFAULT_ROOT}/identity", b"?", makepath=True)
    with pytest.raises(FormatError, match="/partmove/identity"):
        bind(bench)


def test_denied_reads_are_reported(bench: Bench) -> None:
    bench.hot_store.denied.add(f"{DEFAULT_ROOT}/identity")
    with pytest.raises(AccessDenied):
        bind(bench)


def test_a_znode_that_does_not_stay_is_reported(bench: Bench) -> None:
    bench.cold_store.loses = lambda multi: any(op.path.endswith("/identity") for op in multi)
    with pytest.raises(EnsembleError, match="could not be bound to each other in 10 tries"):
        bind(bench)


def test_the_name_has_the_members(bench: Bench) -> None:
    assert name_of(bench.hot_store) == "hot.example:2181"


@pytest.mark.parametrize("which", ["hot", "cold"])
def test_a_member_that_lags_behind_is_synced(bench: Bench, which: str) -> None:
    other = bench.beside()
    store = other.hot_store if which == "hot" else other.cold_store
    store.connect_to(store.ensemble.members[-1])
    pair = bind(bench)
    assert read(other) == pair
