# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The moment to decide for: now, a given one, or that of copied files."""

from __future__ import annotations

import argparse
import time

import pytest

from olap_partmove._partmove.errors import PartMoveError
from partition_classify.moment import check_moment, moment_of

FRIDAY = 1_763_500_000_000
MINUTE = 60_000
IN_AN_HOUR = int(time.time() * 1000) + 60 * MINUTE


def arguments(as_of: int | None = None, *, future: bool = False) -> argparse.Namespace:
    return argparse.Namespace(as_of=as_of, future=future)


def is_now(moment: int) -> bool:
    return abs(time.time() * 1000 - moment) < MINUTE


def test_running_ensembles_are_judged_now() -> None:
    found = moment_of(arguments(), None)
    assert is_now(found.as_of)
    assert found.described("zookeeper hot=zk1") == "zookeeper hot=zk1"


def test_files_are_judged_at_their_last_change(capsys: pytest.CaptureFixture[str]) -> None:
    found = moment_of(arguments(), FRIDAY)
    assert found.as_of == FRIDAY
    assert found.described("files") == "files last_change=2025-11-18T21:06:40.000Z"
    told = "deciding for 2025-11-18T21:06:40.000Z, the last change in the files of hot"
    assert told in capsys.readouterr().err


def test_change_in_the_future_is_no_moment_to_decide_for() -> None:
    assert is_now(moment_of(arguments(), IN_AN_HOUR).as_of)


@pytest.mark.parametrize("last_change", [None, FRIDAY + 1, FRIDAY - MINUTE])
def test_given_moment_is_taken(last_change: int | None) -> None:
    assert moment_of(arguments(FRIDAY), last_change).as_of == FRIDAY


def test_given_moment_after_the_files_is_refused_unless_allowed() -> None:
    with pytest.raises(PartMoveError) as refused:
        moment_of(arguments(FRIDAY), FRIDAY - MINUTE - 1)
    assert str(refused.value).startswith(
        "The moment to decide for, 2025-11-18T21:06:40.000Z, is after the last change in the files of hot,"
        " 2025-11-18T21:05:39.999Z: partitions that changed between the two would count as unchanged"
    )
    assert moment_of(arguments(FRIDAY, future=True), 1).as_of == FRIDAY


def test_future_moment_is_refused_unless_allowed() -> None:
    check_moment(arguments())
    check_moment(arguments(FRIDAY))
    check_moment(arguments(IN_AN_HOUR, future=True))
    with pytest.raises(PartMoveError, match="The moment to decide for is in the future"):
        check_moment(arguments(IN_AN_HOUR))
