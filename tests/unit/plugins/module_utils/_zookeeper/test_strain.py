# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Problems of an ensemble: latency, waiting requests, lagging members."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.strain import (
    MOST_OUTSTANDING,
    MemberState,
    Strain,
)

QUICK = (0.001, 0.001, 0.001, 0.001, 0.004)


def strain(first: Sequence[float] = QUICK, allowed: float = 0.1) -> Strain:
    return Strain("hot", first, allowed)


def answered(judged: Strain, *seconds: float) -> list[bool]:
    """Whether there was a problem after each answer."""
    found = []
    for each in seconds:
        judged.add_latency(each)
        found.append(bool(judged.problem()))
    return found


def test_unchanged_ensemble_has_no_problem() -> None:
    assert not any(answered(strain(), *QUICK, *QUICK))


def test_latency_below_the_allowed_limit_is_no_problem() -> None:
    """From 1 ms to 3 ms, or to 90 ms, is a large factor, but harmless."""
    assert not any(answered(strain(), *[0.003] * 9, *[0.09] * 9))


def test_single_late_answer_is_no_problem() -> None:
    assert not any(answered(strain(), 0.4, 0.001, 0.4, 0.001, 0.001, 0.4))


def test_late_answers_are_a_problem_until_the_latency_halves() -> None:
    judged = strain()
    assert answered(judged, 0.2, 0.2, 0.2, 0.2, 0.2) == [False, False, True, True, True]
    assert judged.problem() == "ensemble hot takes 200 ms to answer, and took 1 ms at the start"
    assert answered(judged, *[0.09] * 5) == [True] * 5
    assert answered(judged, *[0.04] * 5) == [True, True, False, False, False]
    assert not any(answered(judged, *[0.09] * 5))


def test_initially_slow_ensemble_may_stay_slow() -> None:
    far = strain([0.3] * 5)
    assert not any(answered(far, *[1.4] * 5))
    assert answered(far, *[1.6] * 9)[-1]
    assert far.problem() == "ensemble hot takes 1.6 s to answer, and took 300 ms at the start"


@pytest.mark.parametrize(("late", "trouble"), [(0.0, False), (0.4, False), (1.1, False), (1.6, True)])
def test_missing_answer_is_a_problem_before_it_comes(late: float, trouble: bool) -> None:
    assert bool(strain().problem(late)) is trouble


def test_late_answer_counts_for_skipped_requests() -> None:
    assert answered(strain(), 30.0) == [True]


def problem_after(*samples: dict[str, tuple[int, int]]) -> str:
    """The problem after these samples: address → outstanding, zxid."""
    judged = strain()
    for sample in samples:
        judged.add_members({address: MemberState(*state) for address, state in sample.items()})
    return judged.problem()


CROWDED = {"a": (0, 1), "b": (MOST_OUTSTANDING + 1, 1)}
CALM = {"a": (0, 1), "b": (MOST_OUTSTANDING, 1)}


def test_waiting_requests_are_a_problem_if_they_persist() -> None:
    assert problem_after(CROWDED, CROWDED) == ""
    assert problem_after(CROWDED, CALM, CROWDED) == ""
    assert problem_after(CALM, CALM, CALM) == ""
    assert problem_after(CALM, CROWDED, CROWDED, CROWDED) == (
        f"{MOST_OUTSTANDING + 1} requests wait at member b of ensemble hot"
    )


def test_lagging_member_is_a_problem() -> None:
    behind = problem_after(
        {"a": (0, 9), "b": (0, 9)}, {"a": (0, 20), "b": (0, 9)}, {"a": (0, 30), "b": (0, 8)}
    )
    assert behind == "member b of ensemble hot has fallen behind the others"


def test_follower_may_be_some_transactions_late() -> None:
    assert (
        problem_after({"a": (0, 9), "b": (0, 5)}, {"a": (0, 20), "b": (0, 8)}, {"a": (0, 30), "b": (0, 9)})
        == ""
    )


def test_members_of_an_idle_ensemble_are_even() -> None:
    assert problem_after(*[{"a": (0, 9), "b": (0, 9)}] * 4) == ""


def test_silent_members_are_not_judged() -> None:
    assert problem_after({}, {}, {}) == ""
