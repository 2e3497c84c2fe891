# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move is finished only if everything is proven."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.pair import TableContents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.switch_report import (
    FinalCounts,
    TableSwitchReport,
)

EMPTY = TableContents(0, 0, "0")
FINISHED = FinalCounts("r1", "a server", TableContents(3, 1, "1"), EMPTY, None, ())


def report(**fields: object) -> TableSwitchReport:
    counts = [FINISHED, FINISHED._replace(replica="r2", **fields)]  # type: ignore[arg-type]
    return TableSwitchReport("/t", "db.hits", final_counts=counts)


def test_a_move_is_finished_without_rows_and_inserts_elsewhere() -> None:
    assert (report().is_finished, report().unfinished) == (True, "")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"older_inserts": None}, "a server has not exchanged the names of db.hits"),
        ({"older_inserts": ["INSERT 1"]}, "on a server there began before the exchange: INSERT 1"),
        ({"without_name": TableContents(0, 1, "1")}, "the other table of db.hits has 1 part on a server"),
    ],
)
def test_what_keeps_a_move_from_being_finished(fields: dict[str, object], reason: str) -> None:
    assert (report(**fields).is_finished, report(**fields).unfinished) == (False, reason)


def test_different_parts_of_the_table_with_the_name_do_not_matter() -> None:
    """Inserts and merges make such differences all the time, and the old table is empty anyway."""
    whole = report()
    whole.differing = "they differ"
    assert (whole.is_finished, whole.unfinished) == (True, "")


def test_a_partition_between_the_tables_and_a_run_without_an_end_are_not_finished() -> None:
    whole = report()
    whole.between = ["20240101"]
    assert (whole.is_finished, whole.unfinished) == (
        False,
        "partition 20240101 of /t is between the two tables by its record",
    )
    assert not TableSwitchReport("/t").is_finished


def test_a_table_that_never_left_is_finished_at_home() -> None:
    assert TableSwitchReport("/t", never_left=True).is_finished
