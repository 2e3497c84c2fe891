# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The forecast, by hand-made months."""

from __future__ import annotations

from partition_classify.report.figures import Amount, HotFigures, MonthCount, MonthForecast
from partition_classify.report.forecast import MonthZnodes, forecast_of, month_text

NOW = 2026 * 12 + 10


def hot(*, now: int = 0, gated: int = 0, stay: int = 0, reheated: int = 0) -> HotFigures:
    """Sums of a plan, in znodes."""
    numbers = (now + gated + stay, now + gated, now, gated, reheated, 0, 0, stay + reheated, now)
    return HotFigures(*(Amount(znodes=number) for number in numbers))


def months(*znodes: MonthZnodes) -> dict[int, MonthZnodes]:
    """So many months, of which the last is that of the plan."""
    return {NOW - len(znodes) + 1 + number: each for number, each in enumerate(znodes)}


def test_growth_without_policy_and_constant_rest_with_policy() -> None:
    found = forecast_of(months(*[MonthZnodes(100)] * 5), NOW, hot(now=400, stay=100))
    assert found is not None
    assert (found.znodes_per_month, found.months_counted, len(found.to_come)) == (100, 4, 12)
    assert found.to_come[0] == MonthForecast("2026-12", 600, 100, 100)
    assert found.to_come[-1] == MonthForecast("2027-11", 1700, 100, 100)
    assert found.so_far[:2] == (MonthCount("2026-07", 100), MonthCount("2026-08", 200))
    assert found.so_far[-1] == MonthCount("2026-11", 500)


def test_tables_that_are_left_alone_grow_with_the_policy_too() -> None:
    found = forecast_of(months(*[MonthZnodes(100, left_alone=30)] * 5), NOW, hot(now=250, stay=250))
    assert found is not None
    assert (found.to_come[0].with_merges, found.to_come[1].with_merges) == (280, 310)


def test_partitions_needing_a_merge_accumulate_without_merges() -> None:
    found = forecast_of(
        months(*[MonthZnodes(100, left_alone=20)] * 6), NOW, hot(now=300, gated=100, stay=200, reheated=7)
    )
    assert found is not None
    first, second = found.to_come[:2]
    # A quarter of the 80 that are not of tables left alone, and the 20 of those.
    assert (first.without, first.without_merges, first.with_merges) == (700, 347, 227)
    assert (second.without, second.without_merges, second.with_merges) == (800, 387, 247)


def test_single_month_of_bulk_load_or_move_has_little_weight() -> None:
    usual = [MonthZnodes(10, cold=90)] * 6
    spike = MonthZnodes(10_000, cold=10**6)
    found = forecast_of(months(*usual, spike, *usual), NOW, hot(stay=100))
    assert found is not None
    assert found.znodes_per_month == 100


def test_months_without_growth_count() -> None:
    found = forecast_of({NOW - 4: MonthZnodes(900), NOW: MonthZnodes(5)}, NOW, hot(stay=905))
    assert found is not None
    assert (found.znodes_per_month, found.months_counted) == (0, 4)
    assert [each.znodes for each in found.so_far] == [900, 900, 900, 900, 905]


def test_current_month_does_not_count() -> None:
    found = forecast_of(months(*[MonthZnodes(100)] * 3, MonthZnodes(1)), NOW, hot(stay=301))
    assert found is not None
    assert found.znodes_per_month == 100


def test_no_forecast_from_less_than_three_full_months() -> None:
    assert forecast_of(months(*[MonthZnodes(100)] * 3), NOW, hot(stay=300)) is None
    assert forecast_of({}, NOW, hot()) is None


def test_counts_of_earlier_runs_override_sums() -> None:
    found_by_runs = {NOW - 6: 900, NOW - 2: 700, NOW: 1}
    found = forecast_of(months(*[MonthZnodes(100)] * 5), NOW, hot(stay=500), found_by_runs)
    assert found is not None
    assert [(each.when, each.znodes) for each in found.so_far] == [
        # Of the month before nothing is left, and of the one in between nothing is known.
        ("2026-07", 100),
        ("2026-08", 200),
        ("2026-09", 700),
        ("2026-10", 400),
        ("2026-11", 500),
    ]
    without = forecast_of(months(*[MonthZnodes(100)] * 5), NOW, hot(stay=500))
    assert without is not None
    assert (found.znodes_per_month, found.to_come) == (without.znodes_per_month, without.to_come)


def test_past_covers_two_years_at_most() -> None:
    found = forecast_of({NOW - 50: MonthZnodes(7), NOW: MonthZnodes(1)}, NOW, hot(stay=8))
    assert found is not None
    assert len(found.so_far) == 24
    assert found.so_far[0] == MonthCount(month_text(NOW - 23), 7)


def test_growth_of_an_even_number_of_months_is_the_mean_of_the_middle_two() -> None:
    found = forecast_of(months(*map(MonthZnodes, (100, 100, 300, 400, 0))), NOW, hot(now=900))
    assert found is not None
    assert (found.months_counted, found.znodes_per_month) == (4, 200)
