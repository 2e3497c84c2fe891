# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move ends once every recorded part is gone, and is reported by the run that ended it."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import FinishedTwin
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def dropped(destination: Side) -> TwinBench:
    """A run was killed after it had dropped all parts, and before it removed the record."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"), at=destination.other)).run(destination, trace)
    bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
    script = Script()
    script.actions[trace.last("hot commit /partmove/twins")] = script.die
    with suppress(Died):
        bench.run(destination, script)
    assert bench.records
    assert not bench.twins.tables[destination.other].parts
    return bench


@BOTH_WAYS
def test_a_later_run_reports_what_it_was_asked_for_as_moved(destination: Side) -> None:
    bench = dropped(destination)
    moved = bench.run(destination).moved[DAY]
    assert (moved.parts, moved.rows, moved.seen_twice_seconds) == (2, 3, None)
    assert [row["state"] for row in bench.journal.of(Event.TWIN_MOVED)] == [destination.value.upper()]
    assert not bench.records


@BOTH_WAYS
def test_a_run_for_another_partition_reports_it_as_finished(destination: Side) -> None:
    bench = dropped(destination)
    report = bench.run(destination.other, partitions=["20200101"])
    assert report.finished == {DAY: FinishedTwin(DAY, destination, undone=False)}
    assert not report.moved
    assert report.is_changed
    assert not bench.records


@BOTH_WAYS
def test_a_run_in_the_other_direction_ends_the_move_and_moves_back(destination: Side) -> None:
    bench = dropped(destination)
    assert bench.run(destination.other).moved.keys() == {DAY}
    assert not bench.twins.tables[destination].parts
    assert bench.twins.rows == bench.twins.inserted
