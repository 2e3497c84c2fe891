# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a run waits: never between two steps that belong together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PausedTooLong
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock
from support.memory.bench import LOCK, PATH, Bench
from support.memory.memory import MemoryEnsemble
from support.memory.tables import TableOptions, days

DAYS = days(5)
PARTS = 2
"""Of each partition: it has one part on each of two replicas."""


class Noting:
    """Implements Pace: notes what was so whenever the run asked, and lets something happen then."""

    def __init__(self, bench: Bench, parts_at_once: int) -> None:
        self.parts_at_once = parts_at_once
        self.waits: list[int] = []
        self.parts: list[tuple[int, int]] = []
        """How many parts each ensemble had, hot first."""
        self.locked: list[bool] = []
        self.acts: list[Callable[[], object]] = []
        """What to do at each wait, one after the other; then nothing."""
        self._bench = bench

    def wait(self, parts: int, clock: Clock) -> None:
        self.waits.append(parts)
        bench = self._bench
        self.parts.append((parts_in(bench.hot_ensemble), parts_in(bench.cold_ensemble)))
        self.locked.append(bench.hot.exists(LOCK) is not None)
        if self.acts:
            self.acts.pop(0)()


def parts_in(ensemble: MemoryEnsemble) -> int:
    return sum("/parts/" in path for path in ensemble.data())


def paced(parts_at_once: int) -> tuple[Bench, Noting]:
    bench = Bench(TableOptions(partitions=DAYS))
    pace = Noting(bench, parts_at_once)
    bench.context = bench.context._replace(pace=pace)
    return bench, pace


def nothing() -> None:
    pass


def stop() -> None:
    raise PausedTooLong("The run paused")


def test_a_run_asks_before_it_reads_and_before_each_paced_batch() -> None:
    bench, pace = paced(2 * PARTS)
    assert bench.move(*DAYS).moved.keys() == set(DAYS)
    assert pace.waits == [0, 2 * PARTS, 2 * PARTS, PARTS]
    assert pace.locked == [False, True, True, True]


def test_without_a_limit_all_is_one_portion() -> None:
    bench, pace = paced(1_000)
    assert bench.move(*DAYS).moved.keys() == set(DAYS)
    assert pace.waits == [0, 5 * PARTS]


def test_no_copy_waits_for_its_switch() -> None:
    """All that is in cold has left hot whenever the run may pause."""
    bench, pace = paced(PARTS)
    bench.move(*DAYS)
    assert pace.parts[1:] == [(PARTS * (5 - done), PARTS * done) for done in range(5)]


def test_no_switch_waits_for_its_check() -> None:
    """A part that came late is found, and the switch undone, before the run may pause again."""
    bench, pace = paced(PARTS)
    bench.after_switch(lambda: bench.servers.insert(DAYS[0]))
    states: list[bytes] = []
    marker = f"{PATH}/block_numbers/{DAYS[0]}/State"
    pace.acts = [nothing, nothing, lambda: states.append(bench.hot.get(marker)[0])]
    report = bench.move(*DAYS[:2])
    assert report.deferred[DAYS[0]].gate == "late_insert"
    assert states == [b"HOT"]


def test_what_happened_during_a_pause_is_seen_by_the_gates() -> None:
    bench, pace = paced(PARTS)
    pace.acts = [nothing, nothing, lambda: bench.servers.mutate(DAYS[1])]
    report = bench.move(*DAYS[:2])
    assert report.moved.keys() == {DAYS[0]}
    assert report.deferred[DAYS[1]].gate == "mutations_applied"


def test_a_lease_that_was_lost_during_a_pause_is_taken_again() -> None:
    bench, pace = paced(PARTS)
    pace.acts = [nothing, nothing, lambda: bench.hot.delete(LOCK)]
    assert bench.move(*DAYS[:2]).moved.keys() == set(DAYS[:2])


def test_a_run_that_gives_up_leaves_nothing_half_done() -> None:
    bench, pace = paced(PARTS)
    pace.acts = [nothing, nothing, nothing, stop]
    report = PatchedReport(PATH)
    with pytest.raises(PausedTooLong):
        move_shard(bench.context, PATH, DAYS, bench.options, report)
    assert report.moved.keys() == set(DAYS[:2])
    assert (report.deferred, report.failed) == ({}, {})
    assert pace.parts[-1] == (parts_in(bench.hot_ensemble), parts_in(bench.cold_ensemble)) == (6, 4)
    assert bench.hot.exists(LOCK) is None

    again = bench.move(*DAYS)
    assert (again.unchanged, set(again.moved)) == (set(DAYS[:2]), set(DAYS[2:]))


def test_partitions_are_brought_back_in_paced_batches_as_well() -> None:
    bench, pace = paced(1_000)
    bench.move(*DAYS)
    pace.parts_at_once = 2 * PARTS
    pace.waits.clear()
    assert bench.reheat(*DAYS).moved.keys() == set(DAYS)
    assert pace.waits == [0, 2 * PARTS, 2 * PARTS, PARTS]

    bench.clock.time += 601
    pace.waits.clear()
    assert reheat_shard(bench.context, PATH, DAYS).copies_removed == set(DAYS)
    assert pace.waits == [0, 2 * PARTS, 2 * PARTS, PARTS]
