# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ATTACH is executed only where no clone is, and clones are adopted or dropped before another ATTACH."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def killed_after_attach(destination: Side) -> TwinBench:
    """A run that was killed right after the ATTACH, and servers that have forgotten what they cloned."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"), at=destination.other)).run(destination, trace)
    bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
    script = Script()
    script.actions[trace.trace.index("servers attach") + 1] = script.die
    with suppress(Died):
        bench.run(destination, script)
    assert bench.records
    assert len(bench.twins.tables[destination].parts) == 2
    bench.twins.forget_clones()
    bench.servers.statements.clear()
    return bench


@BOTH_WAYS
def test_clones_of_a_killed_run_are_adopted(destination: Side) -> None:
    bench = killed_after_attach(destination)
    assert bench.run(destination).moved.keys() == {DAY}
    assert not any(each.startswith("attach") for each in bench.servers.statements)
    assert bench.twins.rows == bench.twins.inserted


@pytest.mark.parametrize("is_merged", [False, True])
def test_clones_of_a_killed_run_are_undone_if_the_twin_has_something_newer(is_merged: bool) -> None:
    """Each run would clone the parts again otherwise: 6 rows became 24."""
    bench = killed_after_attach(Side.COLD)
    bench.twins.insert(Side.HOT, ("late",))
    if is_merged:
        bench.twins.merge(Side.HOT)
    for _run in range(3):
        bench.run(Side.COLD)
        assert bench.twins.rows == bench.twins.inserted
    assert bench.twins.tables[Side.COLD].rows == bench.twins.inserted


def test_an_insert_that_equals_a_clone_stays_beside_the_clones_of_a_killed_run() -> None:
    bench = killed_after_attach(Side.HOT)
    bench.twins.insert(Side.HOT, ("a",))
    bench.run(Side.HOT)
    assert bench.twins.rows == {"a": 2, "b": 1, "c": 1}
    assert not bench.twins.tables[Side.COLD].parts
    assert not bench.records


def test_an_insert_that_may_be_a_clone_needs_manual_action() -> None:
    """The log is gone, and nobody can tell."""
    bench = killed_after_attach(Side.HOT)
    bench.twins.trim_logs()
    report = bench.run(Side.HOT)
    assert report.failed[DAY].gate is GateName.TWIN_KNOWN
    assert "is a clone or was inserted" in report.failed[DAY].reason
    assert not bench.servers.statements
    assert bench.records


def test_a_structure_that_changed_since_the_run_began_is_refused() -> None:
    bench = TwinBench(Twins(("a",)))
    bench.twins.structure[Side.HOT] = "(a UInt16)"
    assert bench.run(Side.COLD).deferred[DAY].gate is GateName.TWIN_ALIKE
    assert not bench.servers.statements
