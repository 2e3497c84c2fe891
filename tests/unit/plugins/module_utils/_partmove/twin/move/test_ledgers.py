# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs ask the ledger and write it: at every moment a record or an entry lists what is in the twin."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.compare import missing_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.moves import MoveLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.ledgers import (
    NoLedger,
    NoLedgers,
    ShardLedger,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import PartsOf, Side
from support.memory.interleaving import Died, Script
from support.memory.ledgers import entered, entries_of
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins, table_of

DEFINITION = table_of(Side.COLD, "r1").definition


def bench_at(side: Side) -> tuple[TwinBench, MemoryWitnesses]:
    """A bench with two parts in a table, and its ledger."""
    bench = TwinBench(Twins(("a",), ("b", "c"), at=side))
    witnesses = MemoryWitnesses(bench.servers)
    bench.ledgers = MoveLedgers(witnesses)
    if side is Side.COLD:
        entered(bench, witnesses)
    return bench, witnesses


def check_listed(bench: TwinBench) -> None:
    """Fail unless the twin has what its entry lists, and nothing without a record or an entry."""
    cold, entry = bench.twins.tables[Side.COLD].shown(), entries_of(bench).get(DAY)
    if bench.records:
        return
    assert (entry is not None) is bool(cold)
    assert entry is None or missing_of(entry, cold, DAY, DEFINITION) == ""
    assert entry is None or entry.rows == sum(part.content.rows for part in cold)


@pytest.mark.parametrize("destination", Side)
def test_what_was_moved_is_entered_and_what_came_back_leaves(destination: Side) -> None:
    bench, _witnesses = bench_at(destination.other)
    assert list(bench.run(destination).moved) == [DAY]
    assert list(entries_of(bench)) == ([DAY] if destination is Side.COLD else [])
    check_listed(bench)


@pytest.mark.parametrize("destination", Side)
def test_a_record_or_an_entry_lists_the_rows_wherever_a_run_is_killed(destination: Side) -> None:
    trace = Script()
    bench_at(destination.other)[0].run(destination, trace)
    for number in range(len(trace.trace)):
        bench, _witnesses = bench_at(destination.other)
        script = Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script)
        check_listed(bench)
        bench.run(destination)
        assert not bench.records
        assert list(entries_of(bench)) == ([DAY] if destination is Side.COLD else [])
        check_listed(bench)


def test_several_groups_write_one_ledger() -> None:
    """A second entry under the same lease follows the first one, whose versions the run has written."""
    bench, _witnesses = bench_at(Side.HOT)
    ledger = MoveLedgers(MemoryWitnesses(bench.servers))
    opened: list[ShardLedger] = []

    class Once:
        def open(self, *args: Any) -> ShardLedger:
            opened.extend([] if opened else [ledger.open(*args)])
            return opened[0]

    bench.ledgers = Once()
    assert list(bench.run(Side.COLD).moved) == [DAY]
    bench.twins.tables[Side.HOT].add(("late",))
    assert list(bench.run(Side.COLD).moved) == [DAY]
    assert entries_of(bench)[DAY].rows == 4


@pytest.mark.parametrize("destination", Side)
def test_a_twin_that_lacks_rows_is_not_moved_either_way(destination: Side) -> None:
    bench, _witnesses = bench_at(Side.COLD)
    cold = bench.twins.tables[Side.COLD]
    cold.parts.popitem()
    bench.twins.inserted.clear()
    if destination is Side.COLD:
        bench.twins.tables[Side.HOT].add(("late",))
    before = entries_of(bench)
    report = bench.run(destination)
    assert {each: refusal.gate for each, refusal in report.deferred.items()} == {DAY: GateName.TWIN_WHOLE}
    assert not bench.servers.executed
    assert entries_of(bench) == before


def test_another_twin_is_not_filled() -> None:
    bench, witnesses = bench_at(Side.COLD)
    bench.twins.tables[Side.HOT].add(("late",))
    witnesses.uuids["db.hits_cold"] = "new"
    assert bench.run(Side.COLD).deferred[DAY].gate is GateName.TWIN_WHOLE


def test_a_server_that_fails_defers_the_partitions() -> None:
    bench, witnesses = bench_at(Side.HOT)

    def fail(*_args: object) -> dict[str, str]:
        raise PartMoveError("no answer")

    witnesses.identities = fail  # type: ignore[method-assign, assignment]
    assert bench.run(Side.COLD).deferred[DAY].reason == "no answer"
    assert not bench.records


def test_a_server_that_fails_at_the_end_leaves_the_record() -> None:
    bench, witnesses = bench_at(Side.HOT)

    def fail(*_args: object) -> dict[str, int]:
        raise PartMoveError("no answer")

    answer, witnesses.expiries = witnesses.expiries, fail  # type: ignore[method-assign, assignment]
    assert bench.run(Side.COLD).deferred[DAY].reason == "no answer"
    assert bench.records
    witnesses.expiries = answer  # type: ignore[method-assign]
    bench.run(Side.COLD)
    assert list(entries_of(bench)) == [DAY]


def test_check_mode_writes_no_entry() -> None:
    bench, _witnesses = bench_at(Side.HOT)
    assert list(bench.run(Side.COLD, check_mode=True).moved) == [DAY]
    assert entries_of(bench) == {}


def test_without_a_ledger_nothing_is_refused_or_written() -> None:
    bench, _witnesses = bench_at(Side.HOT)
    ledger = NoLedgers().open(bench.hot.open(), "/partmove", PATH, ())
    assert isinstance(ledger, NoLedger)
    assert ledger.refusal(DAY, PartsOf((), ())) is None
    assert ledger.ops_of({}) == ()
    ledger.written()
