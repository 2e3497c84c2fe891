# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Some random schedules of faults, each a seed; ``make explore`` plays as many as one likes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explore.explorer import explore
from explore.schedule import make_schedule, told

STEPS = 20_000
FIRST_SEEDS = (1_000_000, 2_000_000, 3_000_000, 4_000_000)


@pytest.mark.parametrize("seed", FIRST_SEEDS)
def test_random_schedules_of_faults(
    seed: int, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    counts = explore(seed, STEPS)
    record_property("explored", str(counts))
    assert not counts.failed, capsys.readouterr().out
    assert counts.steps >= STEPS


def test_a_seed_makes_the_same_schedule_again() -> None:
    assert make_schedule(7) == make_schedule(7)
    assert told(make_schedule(7)) == told(make_schedule(7))
    assert len({make_schedule(seed) for seed in range(50)}) == 50
