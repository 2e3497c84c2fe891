# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run writes a token before its first lease, and again after some time; whatever fails, hot knows it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    BindingConflict,
    EnsembleError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    read_pair,
    write_token,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.token_writer import (
    SECONDS_BETWEEN,
    TokenWriter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.memory.bench import Bench
from support.memory.copied import forget_tokens
from support.memory.interleaving import Died, Lost, Script, WatchedStore
from support.memory.memory import MemoryStore


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    assert bind_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT, "ours", may_join=False).is_bound
    return bench


def number(bench: Bench) -> int:
    """Return the number of the token in cold, which hot knows."""
    pair = read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT)
    assert not pair.is_copied
    assert pair.token is not None
    return pair.token.number


def write(bench: Bench) -> bool:
    return write_token(bench.hot_store, bench.cold_store, DEFAULT_ROOT)


def test_a_pair_has_a_token_from_the_beginning(bench: Bench) -> None:
    assert number(bench) == 1
    assert not write(bench)
    assert number(bench) == 2


def test_a_pair_that_is_not_bound_gets_no_token() -> None:
    bench = Bench()
    assert not write(bench)
    assert bench.hot_ensemble.data("/partmove") == {}


def test_a_run_writes_before_its_first_lease_and_after_some_time(bench: Bench) -> None:
    writer = TokenWriter(bench.hot_store, bench.cold_store, bench.clock, DEFAULT_ROOT)
    found = []
    for seconds in (0.0, 0.0, SECONDS_BETWEEN - 1.0, 1.0, 0.0):
        bench.clock.sleep(seconds)
        writer.before_lease()
        found.append(number(bench))
    assert found == [2, 2, 2, 3, 3]


def test_a_run_reports_the_first_token_of_a_pair(bench: Bench) -> None:
    forget_tokens(bench)
    writer = TokenWriter(bench.hot_store, bench.cold_store, bench.clock, DEFAULT_ROOT)
    assert [writer.before_lease(), writer.before_lease()] == [True, False]


def test_a_clock_that_is_set_back_delays_nothing(bench: Bench) -> None:
    writer = TokenWriter(bench.hot_store, bench.cold_store, bench.clock, DEFAULT_ROOT)
    writer.before_lease()
    bench.clock.sleep(-100.0)
    writer.before_lease()
    assert number(bench) == 3


def test_leases_that_begin_at_once_write_once(bench: Bench) -> None:
    writer = TokenWriter(bench.hot_store, bench.cold_store, bench.clock, DEFAULT_ROOT)
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(lambda _each: writer.before_lease(), range(8)))
    assert number(bench) == 2


def test_a_token_that_could_not_be_written_is_written_before_the_next_lease(bench: Bench) -> None:
    writer = TokenWriter(bench.hot_store, bench.cold_store, bench.clock, DEFAULT_ROOT)
    bench.cold_store.loses = lambda _multi: True
    with pytest.raises(EnsembleError, match="could not be written in 10 tries"):
        writer.before_lease()
    bench.cold_store.loses = lambda _multi: False
    writer.before_lease()
    assert number(bench) == 2


@pytest.mark.parametrize("which", ["hot", "cold"])
@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer(bench: Bench, which: str, applied: bool) -> None:
    store = bench.hot_store if which == "hot" else bench.cold_store
    lost = [store.ensemble.open()]

    def loses(multi: Multi) -> bool:
        if not lost:
            return False
        other = lost.pop()
        if applied:
            other.commit([multi])
        return True

    store.loses = loses
    assert not write(bench)
    assert number(bench) == 2


def test_many_runs_that_begin_at_once(bench: Bench) -> None:
    """Before each write to cold another run is faster: its token serves this one as well."""
    other = bench.beside()
    bench.cold_store.before = lambda multi: (
        write(other) if any(op.path.endswith("/token") for op in multi) else None
    )
    assert not write(bench)
    assert number(bench) == 2


class _Unwatched:
    def commit(self, _run: object, store: MemoryStore, multi: Multi, *, answered: bool = True) -> object:
        return store.commit_one(multi, answered=answered)

    def look_at_members(self) -> None:
        pass

    def check(self) -> None:
        pass


def interrupted(bench: Bench, at: int, lost: Lost | None = None) -> Script:
    """Write a token in a process that dies before an operation, or after a multi whose answer it loses."""
    script = Script({at: lost} if lost else {})
    script.actions[at + (lost is not None)] = script.die
    hot, cold = (
        WatchedStore(each.open(), script, _Unwatched())  # type: ignore[arg-type]
        for each in (bench.hot_ensemble, bench.cold_ensemble)
    )
    with suppress(Died):
        write_token(hot, cold, DEFAULT_ROOT)
    return script


@pytest.mark.parametrize("lost", [None, *Lost])
def test_a_run_that_dies_anywhere_leaves_a_token_that_hot_knows(bench: Bench, lost: Lost | None) -> None:
    """Again and again: the next one goes on where it was."""
    steps = len(interrupted(bench, 1_000).trace)
    assert steps > 4
    for at in range(steps):
        before = number(bench)
        for _each in range(3):
            interrupted(bench, at, lost)
            assert number(bench) >= before
        assert not write(bench)
        assert number(bench) in range(before + 1, before + 5)


def test_an_adoption_that_dies_between_the_ensembles(bench: Bench) -> None:
    forget_tokens(bench)
    trace = interrupted(bench, 1_000).trace
    at = next(n for n, each in enumerate(trace) if each.startswith("cold commit"))
    forget_tokens(bench)
    interrupted(bench, at)
    assert read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT).token is None
    assert write(bench)
    assert number(bench) == 1


@pytest.mark.parametrize("at", range(12))
def test_another_run_in_between_is_no_copy(bench: Bench, at: int) -> None:
    """It begins before any operation of the first one; both are of one hot ensemble."""
    script = Script()

    def write_thrice() -> None:
        for _each in range(3):
            write(bench)

    script.actions[at] = write_thrice
    hot, cold = (
        WatchedStore(each.open(each.members[-1]), script, _Unwatched())  # type: ignore[arg-type]
        for each in (bench.hot_ensemble, bench.cold_ensemble)
    )
    assert not read_pair(hot, cold, DEFAULT_ROOT).is_copied
    write_token(hot, cold, DEFAULT_ROOT)
    assert number(bench) >= 4


def test_a_token_of_another_ensemble_is_never_overwritten(bench: Bench) -> None:
    hot_before = bench.hot_ensemble.data()
    write(bench)
    for path, data in hot_before.items():
        if path.endswith("/tokens"):
            bench.hot.set(path, data)
    before = bench.cold_ensemble.data()
    with pytest.raises(BindingConflict, match="does not know"):
        write(bench)
    assert bench.cold_ensemble.data() == before


def test_a_second_cold_ensemble_has_tokens_of_its_own(bench: Bench) -> None:
    other = Bench()
    other.hot_store.ensemble = bench.hot_ensemble
    assert bind_pair(other.hot_store, other.cold_store, DEFAULT_ROOT, "ours", may_join=False).is_bound
    for _each in range(3):
        write_token(other.hot_store, other.cold_store, DEFAULT_ROOT)
    assert number(bench) == 1
    assert number(other) == 4
    write(bench)
    assert number(other) == 4


def test_a_denied_write_is_reported(bench: Bench) -> None:
    bench.hot_store.denied_writes.add(f"{DEFAULT_ROOT}/tokens")
    with pytest.raises(AccessDenied):
        write(bench)


def test_a_cold_ensemble_that_was_set_back_is_no_copy(bench: Bench) -> None:
    path = next(each for each in bench.cold_ensemble.data() if each.endswith("/token"))
    before = bench.cold.get(path)[0]
    for times in (1, 40):
        for _each in range(times):
            write(bench)
        bench.cold.set(path, before)
        assert not read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT).is_copied
        assert not write(bench)
