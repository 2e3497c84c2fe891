# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readers are asked before rows come, before rows go, and at the end, also by a run that finishes records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.readers import (
    NoReaders,
    ReadersSeen,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import TwinRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinTables,
)
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BUSY = Refusal(GateName.TWIN_AT_REST, "a query reads", "Wait")


class Noting:
    """Implements Readers: notes what is in both tables, and refuses a step."""

    def __init__(self, bench: TwinBench, refuse: str = "") -> None:
        self.bench = bench
        self.refuse = refuse
        self.calls: list[tuple[object, ...]] = []

    def _note(self, *call: object) -> Refusal | None:
        at = [side.value for side in Side if self.bench.twins.tables[side].parts]
        self.calls.append((*call, *at))
        return BUSY if call[0] == self.refuse else None

    def before_attach(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """As Readers says."""
        return self._note("before attach", len(tables), sorted(moving), sorted(going))

    def before_drop(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """As Readers says."""
        assert all(moving[each].is_verified for each in going)
        return self._note("before drop", len(tables), sorted(moving), sorted(going))

    def before_repair(self, tables: Sequence[TwinTables]) -> Refusal | None:
        """As Readers says."""
        return self._note("before repair", len(tables))

    def before_removal(self, tables: Sequence[TwinTables], removed: Collection[str]) -> Refusal | None:
        """As Readers says."""
        return self._note("before removal", len(tables), sorted(removed))

    def seen(self) -> ReadersSeen:
        """Nothing."""
        return ReadersSeen()

    def after(self, tables: Sequence[TwinTables], left: Mapping[str, TwinRecord]) -> None:
        """As Readers says."""
        self._note("after", len(tables), sorted(left))


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c")))


def test_readers_are_asked_in_order(bench: TwinBench) -> None:
    readers = Noting(bench)
    assert bench.run(Side.COLD, readers=readers).moved.keys() == {DAY}
    assert readers.calls == [
        ("before attach", 2, [DAY], [], "hot"),
        ("before drop", 2, [DAY], [DAY], "hot", "cold"),
        ("before removal", 2, [DAY], "cold"),
        ("after", 2, [], "cold"),
    ]


def test_nothing_is_attached_while_readers_cannot_be_served(bench: TwinBench) -> None:
    readers = Noting(bench, "before attach")
    assert bench.run(Side.COLD, readers=readers).deferred == {DAY: BUSY}
    assert not bench.records
    assert not bench.servers.statements
    assert [call[0] for call in readers.calls] == ["before attach", "before removal", "after"]


def test_nothing_is_dropped_while_readers_cannot_be_served(bench: TwinBench) -> None:
    readers = Noting(bench, "before drop")
    assert bench.run(Side.COLD, readers=readers).deferred == {DAY: BUSY}
    assert bench.records
    assert bench.servers.statements == ["attach to cold"]
    assert readers.calls[-1] == ("after", 2, [DAY], "hot", "cold")
    assert bench.run(Side.COLD, readers=Noting(bench)).moved.keys() == {DAY}
    assert bench.twins.rows == bench.twins.inserted


def test_clones_are_hidden_again_before_an_undo_drops_them(bench: TwinBench) -> None:
    readers = Noting(bench)
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    script = Script()
    script.actions[trace.last("servers marks r1")] = lambda: bench.twins.mutate(*Side)
    assert DAY in bench.run(Side.COLD, script, readers=readers).deferred
    names = [call[0] for call in readers.calls]
    assert names[:3] == ["before attach", "before drop", "before attach"]
    assert {*names[3:-2]} <= {"before attach"}
    assert names[-2:] == ["before removal", "after"]
    assert readers.calls[2][-2:] == ("hot", "cold")


def test_a_later_run_serves_readers_too(bench: TwinBench) -> None:
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    script = Script()
    script.actions[trace.last("servers drop")] = script.die
    with suppress(Died):
        bench.run(Side.COLD, script, readers=Noting(bench))
    readers = Noting(bench)
    report = bench.run(Side.COLD, partitions=["20200101"], readers=readers)
    assert report.finished.keys() == {DAY}
    assert [call[0] for call in readers.calls] == ["before drop", "before removal", "after"]


def test_records_stay_while_rows_are_hidden(bench: TwinBench) -> None:
    assert bench.run(Side.COLD, readers=Noting(bench, "before removal")).deferred == {DAY: BUSY}
    assert bench.records
    assert bench.twins.rows == bench.twins.inserted
    assert bench.run(Side.COLD, readers=Noting(bench)).moved.keys() == {DAY}


def test_without_readers_nothing_is_hidden() -> None:
    readers = NoReaders()
    assert readers.before_attach([], {}, ()) is None
    assert readers.before_drop([], {}, ()) is None
    assert readers.before_removal([], ()) is None
    readers.after([], {})
    assert readers.seen() == ((), "", "")
