# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The constants that a benchmark fits to the times of moves."""

from __future__ import annotations

from itertools import product

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import (
    FULL_SPEED,
    Speed,
    Work,
)
from benchmark.growth import Row, Setting, fitted
from benchmark.spread import Spread

KNOWN = Speed(0.03, 30.0, 0.006, 25.0, 0.002, 6.0, 0.00006, 0.001)
MIXED = Work(20, 6_000, 300, 100, is_first=True)
SIZES = [
    *(Work(each, 3 * each, 3, 1, is_first) for each, is_first in product((1, 10, 100, 1000), (True, False))),
    *(Work(1, each, each, each // 3, is_first=True) for each in (10_000, 100_000)),
]


def row(speed: Speed, work: Work, latency: float, *, is_fitted: bool = True) -> Row:
    setting = Setting(0.0, latency)
    seconds = speed.seconds(work, setting.round_trip)
    return Row("move", setting, work, Spread.of([seconds]), 40.0, is_fitted)


def rows(speed: Speed) -> list[Row]:
    return [row(speed, work, latency) for work in SIZES for latency in (0.0, 0.002, 0.005, 0.01)]


def test_fit_predicts_times_made_with_known_constants() -> None:
    found = fitted(rows(KNOWN), FULL_SPEED)
    for each in [*rows(KNOWN), row(KNOWN, MIXED, 0.003)]:
        assert each.ratio(found) == pytest.approx(1, abs=0.05)


def test_a_row_that_is_not_fitted_changes_nothing() -> None:
    other = row(KNOWN._replace(part=1.0), MIXED, 0.0, is_fitted=False)
    assert fitted([*rows(KNOWN), other], FULL_SPEED) == fitted(rows(KNOWN), FULL_SPEED)
    assert not other.is_predicted(KNOWN)


@pytest.mark.parametrize(("factor", "is_predicted"), [(0.7, False), (0.8, True), (1.2, True), (1.3, False)])
def test_a_quarter_is_tolerated(factor: float, is_predicted: bool) -> None:
    each = row(KNOWN, MIXED, 0.0)
    faster = Speed(*(value * factor for value in KNOWN))
    assert each.is_predicted(faster) == is_predicted
