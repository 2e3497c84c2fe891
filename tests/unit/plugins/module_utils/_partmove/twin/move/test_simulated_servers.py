# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode executes nothing, and lists the statements of a run."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def bench_of(destination: Side) -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c"), at=destination.other))


@BOTH_WAYS
@pytest.mark.parametrize("stop_merges", [False, True])
@pytest.mark.parametrize("checksums", [False, True])
def test_check_mode_lists_what_a_run_executes(destination: Side, stop_merges: bool, checksums: bool) -> None:
    bench = bench_of(destination)
    before = bench.hot.data()
    foreseen = bench.run(destination, check_mode=True, stop_merges=stop_merges, checksums=checksums)
    assert (bench.servers.executed, bench.hot.data()) == ([], before)
    done = bench.run(destination, stop_merges=stop_merges, checksums=checksums)
    assert foreseen.statements == bench.servers.executed
    assert len(foreseen.statements) == (2 if not stop_merges else 2 + 8)
    assert foreseen.moved[DAY] == done.moved[DAY]._replace(seen_twice_seconds=None)


@BOTH_WAYS
@pytest.mark.parametrize("stop_merges", [False, True])
def test_check_mode_foresees_what_becomes_of_a_killed_run(destination: Side, stop_merges: bool) -> None:
    """Whatever statement was the last one, the next run executes what check mode lists."""
    whole = bench_of(destination)
    script = Script()
    whole.run(destination, script, stop_merges=stop_merges)
    for step in range(len(script.trace)):
        bench = bench_of(destination)
        dying = Script()
        dying.actions[step] = dying.die
        with suppress(Died):
            bench.run(destination, dying, stop_merges=stop_merges)
        bench.servers.executed.clear()
        before = bench.hot.data()
        foreseen = bench.run(destination, check_mode=True)
        assert (bench.servers.executed, bench.hot.data()) == ([], before)
        done = bench.run(destination)
        assert foreseen.statements == bench.servers.executed
        assert foreseen.moved.keys() == done.moved.keys()
        assert foreseen.unchanged == done.unchanged


def test_a_clone_gets_the_next_number_and_keeps_its_level() -> None:
    twins = Twins(("a",), ("b",))
    twins.insert(Side.COLD, ("x",))
    twins.merge(Side.HOT)
    bench = TwinBench(twins)
    report = bench.run(Side.COLD, check_mode=True)
    assert report.statements[-1] == f"ALTER TABLE db.hits DROP PART '{DAY}_1_2_1'"
    assert report.moved[DAY].rows == 2
