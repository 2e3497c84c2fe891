# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of the rows of a plan: by shard path, and then by partition id, by code point."""

from __future__ import annotations

from ..errors import PlanError
from .lines import PlanRow


def place_of(row: PlanRow) -> tuple[str, str]:
    """What rows are sorted by."""
    return row.shard_path, row.partition


def check_order(last: PlanRow | None, row: PlanRow, where: str) -> None:
    """Raise PlanError for a row that is not behind the last one, which is None before the first row."""
    if last is None or place_of(last) < place_of(row):
        return
    if place_of(last) == place_of(row):
        raise PlanError(
            f"{where}: partition {row.partition} of {row.shard_path} is listed twice",
            remedy="List each partition of a shard path once",
        )
    raise PlanError(
        f"{where}: partition {row.partition} of {row.shard_path} is out of order",
        remedy="Sort the rows by shard path and then by partition, or run the classification again",
    )
