# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that limit the speed of a run."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    PausedTooLong,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import MOST_AT_ONCE
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.pacing import PaceOptions
from support.memory.bench import Bench
from support.memory.memory import ManualClock
from support.memory.resources import MemoryResources, MemoryWatch

DEFAULTS = {name: option.get("default") for name, option in (argspec.LOAD | argspec.PARTS_PER_SECOND).items()}


def options(**given: Any) -> PaceOptions:
    return PaceOptions.of(DEFAULTS | given)


def test_by_default_the_rate_has_no_limit() -> None:
    assert options() == PaceOptions(0, 1.0, 600, 0.005)


def test_a_module_that_only_reads_has_no_rate() -> None:
    reading = {name: DEFAULTS[name] for name in argspec.LOAD}
    assert PaceOptions.of(reading).parts_per_second == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_parts_per_second": -1}, "max_parts_per_second is -1"),
        ({"max_latency": -0.5}, "max_latency is -0.5"),
        ({"max_latency": nan}, "max_latency is nan"),
        ({"max_latency": inf}, "max_latency is inf"),
        ({"latency_target": -0.1}, "latency_target is -0.1"),
        ({"latency_target": nan}, "latency_target is nan"),
        ({"give_up_after": "soon"}, "give_up_after is 'soon'"),
    ],
)
def test_invalid_values_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PartMoveError, match=message):
        options(**given)


@pytest.mark.parametrize(("check_mode", "at_once"), [(False, 100), (True, MOST_AT_ONCE)])
def test_check_mode_writes_nothing_that_would_need_a_rate(check_mode: bool, at_once: int) -> None:
    pace = options(max_parts_per_second=100).pace([], print, check_mode=check_mode)
    assert pace.parts_at_once == at_once


def test_either_ensemble_makes_a_run_wait() -> None:
    for each in range(2):
        watches = [MemoryWatch(), MemoryWatch()]
        watches[each].problems = ["slow"]
        with pytest.raises(PausedTooLong, match="as slow"):
            options(give_up_after="0").pace(watches, lambda _line: None).wait(1, ManualClock())


@pytest.mark.parametrize(
    ("latency", "target", "is_watched"),
    [(0.0, 0.0, False), (1.0, 0.0, True), (0.0, 0.005, True), (1.0, 0.005, True)],
)
def test_nothing_is_watched_without_max_latency_and_target(
    latency: float, target: float, is_watched: bool
) -> None:
    resources = MemoryResources(Bench(), {})
    resources.open_pace(options(max_latency=latency, latency_target=target), print, members=False)
    assert resources.watched == ([("hot", False), ("cold", False)] if is_watched else [])


@pytest.mark.parametrize(("latency", "pauses"), [(0.0, False), (1.0, True)])
def test_a_run_never_pauses_without_max_latency(latency: float, pauses: bool) -> None:
    resources, lines = MemoryResources(Bench(), {}), list[str]()
    resources.watches["hot"].problems = ["slow"]
    pace = resources.open_pace(options(max_latency=latency), lines.append, members=False)
    pace.wait(1, ManualClock())
    assert bool(lines) == pauses
