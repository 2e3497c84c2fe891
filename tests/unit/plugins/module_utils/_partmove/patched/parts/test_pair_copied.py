# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hot ensemble that does not know the token in cold: it is trusted, or gets an identity of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    read_pair,
    renew_identity,
    trust_hot,
    write_token,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.behind import lose_answer
from support.memory.bench import OTHER, Bench
from support.memory.copied import Copied, fresh, pair_of

TOKENS = f"{DEFAULT_ROOT}/tokens"
IDENTITY = f"{DEFAULT_ROOT}/identity"


@pytest.fixture
def copied() -> Copied:
    """Whose original has moved since."""
    copied = Copied.build()
    assert fresh(copied.original).bench.move(OTHER).moved
    assert pair_of(copied.copy).is_copied
    return copied


def trust(bench: Bench) -> bool:
    return trust_hot(bench.hot_store, bench.cold_store, DEFAULT_ROOT)


def renew(bench: Bench) -> None:
    renew_identity(bench.hot_store, bench.cold_store, DEFAULT_ROOT)


def test_a_trusted_ensemble_knows_the_token(copied: Copied) -> None:
    token = pair_of(copied.copy).token
    bench = copied.copy.bench
    assert trust(bench)
    pair = pair_of(copied.copy)
    assert not pair.is_copied
    assert (pair.token, pair.chain and pair.chain.newest) == (token, token)
    before = bench.hot_ensemble.data()
    assert not trust(bench)
    assert bench.hot_ensemble.data() == before


@pytest.mark.parametrize("act", [trust, renew])
def test_an_ensemble_that_nobody_used_is_left_as_it_is(act: Callable[[Bench], object]) -> None:
    bench = Bench()
    assert not act(bench)
    assert bench.hot_ensemble.data(DEFAULT_ROOT) == {}


def test_a_copy_gets_an_identity_of_its_own(copied: Copied) -> None:
    former = pair_of(copied.copy).hot_id
    renew(copied.copy.bench)
    pair = pair_of(copied.copy)
    assert pair.hot_id not in ("", former)
    assert not pair.is_copied
    assert pair_of(copied.original).hot_id == former


def test_an_original_keeps_its_identity(copied: Copied) -> None:
    before = pair_of(copied.original)
    renew(copied.original.bench)
    assert pair_of(copied.original) == before


@pytest.mark.parametrize(("act", "path"), [(trust, TOKENS), (renew, IDENTITY)])
def test_a_write_that_does_not_stay_is_reported(
    copied: Copied, act: Callable[[Bench], object], path: str
) -> None:
    store = copied.copy.bench.hot_store
    store.loses = lambda multi: any(op.path == path for op in multi)
    with pytest.raises(EnsembleError, match="in 10 tries"):
        act(copied.copy.bench)
    assert pair_of(copied.copy).is_copied


@pytest.mark.parametrize(("act", "path"), [(trust, TOKENS), (renew, IDENTITY)])
def test_a_lost_answer_is_looked_up(copied: Copied, act: Callable[[Bench], object], path: str) -> None:
    """The second try finds what the first one has written."""
    bench = copied.copy.bench
    lose_answer(bench.hot_store, bench.hot_ensemble, lambda multi: any(op.path == path for op in multi))
    assert act(bench) in (True, None)
    assert not pair_of(copied.copy).is_copied


def test_a_bound_pair_gets_its_first_token_once() -> None:
    bench = Bench()
    stores = bench.hot_store, bench.cold_store
    assert bind_pair(*stores, DEFAULT_ROOT, "ours", may_join=False).token is not None
    token = read_pair(*stores, DEFAULT_ROOT).token
    assert token is not None
    assert token.number == 1
    assert not write_token(*stores, DEFAULT_ROOT)
