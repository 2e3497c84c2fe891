# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of the rows of a plan: by shard path, and then by partition id, by code point."""

from __future__ import annotations

from ..errors import PlanError
from .lines import PlanRow


def row_key(row: PlanRow) -> tuple[str, str]:
    """Return the sort key of a row."""
    return row.shard_path, row.partition


def check_order(last: PlanRow | None, row: PlanRow, where: str) -> None:
    """Raise PlanError unless the row sorts after the last row. ``last``: None before the first row."""
    if last is None or row_key(last) < row_key(row):
        return
    if row_key(last) == row_key(row):
        raise PlanError(
            f"{where}: partition {row.partition} of {row.shard_path} is listed twice",
            remedy="List each partition of a shard path once",
        )
    raise PlanError(
        f"{where}: partition {row.partition} of {row.shard_path} is out of order",
        remedy="Sort the rows by shard path and then by partition, or run the classification again",
    )
