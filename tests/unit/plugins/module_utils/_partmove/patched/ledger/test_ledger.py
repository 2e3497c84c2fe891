# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger: which replicas are ready, when entries are written, and how a move uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    FormatError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    FORMAT,
    ColdEnsemble,
    parse_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    VERIFY,
    Ledger,
    LedgerReadiness,
    ReplicaKey,
    ServerChanged,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Delete,
    Multi,
    Outcome,
    SetData,
    Unknown,
)
from support.memory.bench import DAY, PATH, Bench, HookedStore
from support.memory.ledger import enter, entry_of, readiness

REPLICAS = ("r1", "r2")
R1, R2 = (ReplicaKey(PATH, each) for each in REPLICAS)
NO_ENTRY = f"this is no entry of the ledger, its format is not {FORMAT}"
ENTRY = "/partmove/ledger/%2Fclickhouse%2Ftables%2F01%2Fhits/r2"


@pytest.fixture
def bench() -> Bench:
    """A table whose moves read the ledger; no replica is entered yet."""
    bench = Bench()
    bench.context = bench.context._replace(readiness=readiness(bench.hot_store, bench.cold_store))
    return bench


def enter_both(bench: Bench) -> Bench:
    enter(bench.hot_store, bench.cold_store, R1, R2)
    return bench


def refused(bench: Bench, reason: str) -> None:
    """A move defers the partition and leaves nothing behind."""
    report = bench.move()
    refusal = report.deferred[DAY]
    assert (refusal.gate, refusal.reason, refusal.remedy) == ("patched_replicas", reason, VERIFY)
    assert not report.moved
    assert bench.cold.exists(bench.part()) is None
    assert bench.hot.exists(bench.part()) is not None


def test_partitions_move_when_every_replica_is_entered(bench: Bench) -> None:
    assert enter_both(bench).move().moved.keys() == {DAY}


def test_a_path_below_the_coordination_root() -> None:
    bench = Bench()
    ledger = Ledger(bench.hot_store, "/here")
    assert ledger.entry_path(ReplicaKey("/a b/c", "r/2")) == "/here/ledger/%2Fa%20b%2Fc/r%2F2"
    ledger.enter(R2, entry_of(bench.hot_store, bench.cold_store, R2))
    assert (ledger.replicas(PATH), ledger.replicas("/other")) == (["r2"], [])


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda bench: Ledger(bench.hot_store).withdraw(R2), "replica r2 is not in the ledger"),
        (
            lambda bench: bench.servers.restart("r2"),
            "replica r2 restarted, or had a new session, since it was verified",
        ),
        (lambda bench: bench.servers.stop("r2"), "replica r2 is not active"),
        (lambda bench: bench.servers.add_replica("r3"), "replica r3 is not in the ledger"),
        (
            lambda bench: bench.hot.set(ENTRY, b"{}"),
            f"replica r2: The ledger entry {ENTRY}: {NO_ENTRY}",
        ),
        (
            # With the same data version, which a table that is made again starts at too.
            lambda bench: bench.servers.recreate(),
            ", ".join(
                f"replica {each} restarted, or had a new session, since it was verified" for each in REPLICAS
            ),
        ),
    ],
    ids=["withdrawn", "restarted", "stopped", "added", "not understood", "made again"],
)
def test_what_makes_a_replica_unready(bench: Bench, spoil: Callable[[Bench], object], reason: str) -> None:
    enter_both(bench)
    spoil(bench)
    refused(bench, reason)


def test_other_members_of_cold_than_those_that_were_verified(bench: Bench) -> None:
    enter_both(bench)
    other = LedgerReadiness(Ledger(bench.hot_store), ColdEnsemble(("c9:2181",), "/x"))
    bench.context = bench.context._replace(readiness=other)
    reason = "was verified with the cold ensemble cold.example:2181, not c9:2181/x"
    refused(bench, f"replica r1 {reason}, replica r2 {reason}")


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda bench: Ledger(bench.hot_store).withdraw(R2), "replica r2 is not in the ledger"),
        (
            lambda bench: bench.servers.restart("r2"),
            "replica r2 restarted, or had a new session, since it was verified",
        ),
    ],
    ids=["withdrawn", "restarted"],
)
def test_what_comes_right_before_the_switch_makes_it_fail(
    bench: Bench, act: Callable[[Bench], object], reason: str
) -> None:
    enter_both(bench)
    bench.before_switch(lambda: act(bench))
    refused(bench, reason)


def test_the_switch_checks_the_version_of_every_entry(bench: Bench) -> None:
    enter_both(bench)
    switches: list[Multi] = []
    bench.hot_store.before = lambda multi: (
        switches.append(multi)
        if any(isinstance(op, SetData) and op.data == b"COLD" for op in multi)
        else None
    )
    bench.move()
    entries = {op for op in switches[0] if isinstance(op, Check) and "/ledger/" in op.path}
    ledger = Ledger(bench.hot_store)
    assert entries == {Check(ledger.entry_path(R1), 0), Check(ledger.entry_path(R2), 0)}


def test_entering_again_writes_nothing_until_the_server_is_activated_anew(bench: Bench) -> None:
    hot, cold = bench.hot_store, bench.cold_store
    ledger = Ledger(hot)
    first = ledger.enter(R2, entry_of(hot, cold, R2, "then"))
    again = ledger.enter(R2, entry_of(hot, cold, R2, "later"))
    assert (first.before, first.changed, again.changed) == (None, True, False)
    kept = ledger.read(PATH, ["r2"])["r2"]
    assert kept is not None
    assert parse_entry(kept).verified_at == "then"
    assert kept.stat.version == 0

    bench.servers.restart("r2")
    anew = ledger.enter(R2, entry_of(hot, cold, R2, "later"))
    assert (anew.before, anew.changed) == (kept, True)
    kept = ledger.read(PATH, ["r2"])["r2"]
    assert kept is not None
    assert (parse_entry(kept).verified_at, kept.stat.version) == ("later", 1)


def test_a_server_that_is_activated_anew_meanwhile_is_not_entered(bench: Bench) -> None:
    entry = entry_of(bench.hot_store, bench.cold_store, R2)
    bench.servers.restart("r2")
    with pytest.raises(ServerChanged, match=f"^The server of replica r2 of {PATH} started"):
        Ledger(bench.hot_store).enter(R2, entry)
    assert Ledger(bench.hot_store).read(PATH, ["r2"]) == {"r2": None}


def test_an_entry_of_a_later_version_is_not_overwritten_but_withdrawn(bench: Bench) -> None:
    ledger = Ledger(bench.hot_store)
    enter_both(bench)
    bench.hot.set(ENTRY, b'{"format": "olap.partmove/ledger", "version": 2}')
    with pytest.raises(FormatError, match="its version is 2, this collection reads version 1"):
        ledger.enter(R2, entry_of(bench.hot_store, bench.cold_store, R2))
    assert ledger.withdraw(R2).changed
    assert ledger.read(PATH, ["r2"]) == {"r2": None}
    assert not ledger.withdraw(R2).changed


def test_check_mode_sees_its_own_entries_and_writes_none(bench: Bench) -> None:
    before = bench.hot_ensemble.data()
    overlay = OverlayStore(bench.hot_store, bench.clock)
    entered = enter(overlay, bench.cold_store, R1, R2)
    assert [each.changed for each in entered] == [True, True]
    assert [each.changed for each in enter(overlay, bench.cold_store, R1, R2)] == [False, False]
    assert Ledger(overlay).withdraw(R2).changed
    assert not Ledger(overlay).withdraw(R2).changed
    assert bench.hot_ensemble.data() == before


class LosingStore(HookedStore):
    """Applies every multi and loses the answer of the first that writes an entry."""

    lost = 0

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in order."""
        made = [*multis]
        outcomes = super().commit(made)
        if self.lost == 0 and any(multi[-1].path == ENTRY for multi in made):
            self.lost += 1
            return [Unknown("lost")] * len(made)
        return outcomes


@pytest.mark.parametrize("applied", [False, True])
def test_a_lost_answer_is_found_out_about(bench: Bench, applied: bool) -> None:
    def store() -> HookedStore:
        if applied:
            return LosingStore(bench.hot_ensemble)
        losing, left = HookedStore(bench.hot_ensemble), [True]
        losing.loses = lambda multi: multi[-1].path == ENTRY and bool(left) and left.pop()
        return losing

    entry = entry_of(bench.hot_store, bench.cold_store, R2)
    entered = Ledger(store()).enter(R2, entry)
    assert (entered.before, entered.changed) == (None, True)
    withdrawn = Ledger(store()).withdraw(R2)
    assert withdrawn.changed
    assert Ledger(bench.hot_store).read(PATH, ["r2"]) == {"r2": None}


def test_an_entry_that_somebody_keeps_changing(bench: Bench) -> None:
    enter_both(bench)

    def interfere(multi: Multi) -> None:
        if isinstance(multi[-1], Delete):
            bench.hot.set(ENTRY, b"x")

    bench.hot_store.before = interfere
    with pytest.raises(EnsembleError, match="changed 10 times while it was to be written"):
        Ledger(bench.hot_store).withdraw(R2)


def test_another_chroot_of_cold_than_the_one_that_was_verified(bench: Bench) -> None:
    enter_both(bench)
    other = LedgerReadiness(Ledger(bench.hot_store), ColdEnsemble(("cold.example:2181",), "/x"))
    bench.context = bench.context._replace(readiness=other)
    reason = "was verified with the cold ensemble cold.example:2181, not cold.example:2181/x"
    refused(bench, f"replica r1 {reason}, replica r2 {reason}")


def test_an_entry_that_another_program_writes_each_time_is_not_called_entered(bench: Bench) -> None:
    enter_both(bench)
    bench.servers.restart("r2")
    entry = entry_of(bench.hot_store, bench.cold_store, R2)
    before = bench.hot.get(ENTRY)[0]
    bench.hot_store.before = lambda multi: (
        bench.hot.set(ENTRY, before) if any(isinstance(op, SetData) for op in multi) else None
    )
    with pytest.raises(EnsembleError):
        Ledger(bench.hot_store).enter(R2, entry)


def test_an_entry_that_may_not_be_written_is_tried_once(bench: Bench) -> None:
    enter_both(bench)
    bench.servers.restart("r2")
    entry = entry_of(bench.hot_store, bench.cold_store, R2)
    bench.hot_store.denied_writes.add(ENTRY)
    ledger = Ledger(bench.hot_store)
    with pytest.raises(AccessDenied):
        ledger.enter(R2, entry)
    with pytest.raises(AccessDenied):
        ledger.withdraw(R2)


def test_a_replica_without_an_address_is_not_ready(bench: Bench) -> None:
    enter_both(bench)
    bench.hot.delete(f"{PATH}/replicas/r2/host")
    refused(bench, "replica r2 is not active")
