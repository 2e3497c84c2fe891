# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move reads the ledger again and again, up to its multi: a replica may be withdrawn at any moment."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from support.memory.bench import DAY, PATH, Bench
from support.memory.ledger import enter, readiness

KEYS = [ReplicaKey(PATH, name) for name in ("r1", "r2")]


@pytest.fixture
def bench() -> Bench:
    """A bench of replicas that are ready, by the ledger."""
    bench = Bench()
    enter(bench.hot_store, bench.cold_store, *KEYS)
    bench.context = bench.context._replace(readiness=readiness(bench.hot_store, bench.cold_store))
    return bench


def withdraw(bench: Bench) -> None:
    """Withdraw a replica, as somebody else does."""
    assert Ledger(bench.hot_ensemble.open()).withdraw(KEYS[1]).changed


def enter_again(bench: Bench) -> None:
    """Withdraw a replica and enter another of its activations."""
    withdraw(bench)
    bench.servers.restart("r2")
    enter(bench.hot_ensemble.open(), bench.cold_store, KEYS[1])


def test_replicas_that_are_entered_are_ready(bench: Bench) -> None:
    assert bench.move().moved.keys() == {DAY}


def test_a_replica_that_is_withdrawn_right_before_the_switch(bench: Bench) -> None:
    bench.before_switch(lambda: withdraw(bench))
    assert bench.move().deferred[DAY].gate is GateName.PATCHED_REPLICAS
    assert bench.hot.exists(bench.part()) is not None


def test_a_replica_that_is_withdrawn_while_parts_are_copied(bench: Bench) -> None:
    bench.before_copy(lambda: withdraw(bench))
    assert bench.move().deferred[DAY].gate is GateName.PATCHED_REPLICAS
    assert bench.hot.exists(bench.part()) is not None


def test_a_replica_that_is_verified_anew_right_before_the_switch(bench: Bench) -> None:
    """The switch is tried again, with what is in the ledger by then."""
    bench.before_switch(lambda: enter_again(bench))
    assert bench.move().moved.keys() == {DAY}
