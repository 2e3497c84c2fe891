# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plays schedule after schedule until so many steps were explored, and counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from explore.player import Player
from explore.schedule import make_schedule, told

_MOST_FAILURES = 5


@dataclass
class Counts:
    """What was explored."""

    schedules: int = 0
    faults: int = 0
    steps: int = 0
    multis: int = 0
    looks: int = 0
    failed: list[int] = field(default_factory=list)
    """Seeds of the schedules that show an error."""
    ends: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"explored {self.schedules} schedules with {self.faults} faults: {self.steps} operations of runs,"
            f" {self.multis} multis judged, {self.looks} looks at all members, {len(self.failed)} failures"
        )


def explore(first_seed: int, steps: int, *, show: bool = True) -> Counts:
    """Play the schedules from that seed on, until their runs have done so many operations."""
    counts = Counts()
    seed = first_seed
    while counts.steps < steps and len(counts.failed) < _MOST_FAILURES:
        problem = _play(seed, counts)
        if problem:
            counts.failed.append(seed)
            if show:
                print(f"{problem}\nReplay it: make explore SEED={seed}\n")
        seed += 1
    return counts


def _play(seed: int, counts: Counts) -> str:
    schedule = make_schedule(seed)
    player = Player(schedule)
    problem = ""
    try:
        player.play()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
        lines = "\n".join(player.log)
        problem = f"{told(schedule)}\n{lines}\n{type(error).__name__}: {error}"
    counts.schedules += 1
    counts.faults += sum(len(run.faults) for run in schedule.runs)
    counts.steps += player.steps
    counts.multis += player.scene.watch.judged
    counts.looks += player.scene.watch.looks
    return problem


def replay(seed: int) -> int:
    """Play the schedule of one seed and tell all; raises what it shows."""
    schedule = make_schedule(seed)
    print(told(schedule))
    player = Player(schedule)
    try:
        player.play()
    finally:
        print("\n".join(player.log))
    return 0
