# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An undo drops clones by name, and continues after a kill at any step."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def changed(destination: Side) -> tuple[TwinBench, Script]:
    """A bench, and a script by which a mutation of both tables comes right before the first DROP PART."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"), at=destination.other)).run(destination, trace)
    bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
    script = Script()
    script.actions[trace.last("servers marks r1")] = lambda: bench.twins.mutate(*Side)
    return bench, script


@BOTH_WAYS
def test_mutated_clones_are_dropped(destination: Side) -> None:
    bench, script = changed(destination)
    report = bench.run(destination, script)
    assert "got the mutation" in report.deferred[DAY].reason
    (undone,) = bench.journal.of(Event.ATTACH_UNDONE)
    # By the names as they were read; the next step finds the names after the mutation.
    assert undone["parts"] == [f"{DAY}_1_1_0", f"{DAY}_2_2_0"]
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.records


@BOTH_WAYS
@pytest.mark.parametrize("partition", [DAY, "20200101"])
def test_an_undo_is_continued_after_a_kill_at_any_step(destination: Side, partition: str) -> None:
    bench, script = changed(destination)
    bench.run(destination, script)
    for number in range(max(script.actions) + 1, len(script.trace)):
        bench, script = changed(destination)
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script)
        report = bench.run(destination, partitions=[partition])
        assert not report.failed
        assert not report.unfinished
        assert not bench.records
        assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
def test_a_merge_of_clones_while_an_undo_drops_them_needs_no_manual_action(destination: Side) -> None:
    bench, script = changed(destination)
    bench.run(destination, script)
    first = max(script.actions)
    for number in range(first + 1, len(script.trace)):
        bench, script = changed(destination)
        script.actions[number] = lambda bench=bench: bench.twins.merge(destination)  # type: ignore[misc]
        bench.run(destination, script)
        report = bench.run(destination)
        assert not report.failed, report
        assert bench.twins.rows == bench.twins.inserted
