# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows are sorted by shard path and then by partition, without duplicates."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.order import check_order, row_key
from support.plans import HITS_1, HITS_2, ROWS, VISITS


def test_sorted_rows_pass() -> None:
    check_order(None, HITS_1, "here")
    check_order(HITS_1, HITS_2, "here")
    check_order(HITS_2, VISITS, "here")
    assert sorted([VISITS, HITS_2, HITS_1], key=row_key) == ROWS


@pytest.mark.parametrize(
    ("last", "row", "problem"),
    [
        (HITS_1, HITS_1, "here: partition 202610 of /ch/hits/01 is listed twice"),
        (HITS_2, HITS_1, "here: partition 202610 of /ch/hits/01 is out of order"),
        (VISITS, HITS_2, "here: partition 202611 of /ch/hits/01 is out of order"),
        # By code point: a slash is before a letter, and behind a hyphen.
        (
            VISITS._replace(shard_path="/ch/a/b"),
            VISITS._replace(shard_path="/ch/a-b"),
            "here: partition all of /ch/a-b is out of order",
        ),
    ],
)
def test_unsorted_and_duplicate_rows_are_refused(last: object, row: object, problem: str) -> None:
    with pytest.raises(PlanError) as refusal:
        check_order(last, row, "here")  # type: ignore[arg-type]
    assert refusal.value.message == problem
