# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one look of an audit cannot tell by itself, and when a partition is cold."""

from __future__ import annotations

import pytest

from support.memory.evidence import AB, A, B, partition, parts, replica


@pytest.mark.parametrize(
    ("fields", "doubtful"),
    [
        ({}, ""),
        ({"hot": A, "disk": A}, ""),
        ({"cold": A, "disk": A}, ""),
        ({"hot": f"{A} {B}", "disk": AB}, AB),
        ({"hot": AB, "disk": f"{A} {B}"}, AB),
        ({"hot": f"{A} {B} {AB}", "disk": AB}, ""),
        ({"disk": A}, A),
        ({"cold": A}, A),
        ({"hot": A, "disk": B}, f"{A} {B}"),
        ({"hot": A, "disk": None}, A),
    ],
)
def test_what_is_in_doubt(fields: dict[str, str | None], doubtful: str) -> None:
    assert replica(**fields).in_doubt == set(doubtful.split())  # type: ignore[arg-type]


@pytest.mark.parametrize(("seen_before", "counts"), [(None, True), ("", False), (B, False), (A, True)])
def test_what_counts(seen_before: str | None, counts: bool) -> None:
    (part,) = parts(A)
    assert replica(seen_before=seen_before).counts(part) is counts


@pytest.mark.parametrize(("state", "cold"), [("", False), ("HOT", False), ("COLD", True), ("COLD\n", False)])
def test_only_one_state_is_cold(state: str, cold: bool) -> None:
    assert partition(state=state).is_cold is cold
