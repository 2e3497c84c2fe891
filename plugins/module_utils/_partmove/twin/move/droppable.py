# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate for parts that are too large for a server to drop."""

from __future__ import annotations

from ...gates.gate import Refusal
from ...gates.names import GateName
from .tables import ActivityInProgress, Parts, TwinTables


def refuse_undroppable(tables: TwinTables, activity: ActivityInProgress, parts: Parts) -> Refusal | None:
    """Refuse parts that the server would not drop: they would stay in both tables.

    tables, activity: of the replica whose server executes the statements. Other replicas compare no sizes.
    """
    most = activity.most_bytes_to_drop
    largest = max(parts, key=lambda part: part.bytes_on_disk, default=None)
    if most is None or largest is None or largest.bytes_on_disk <= most:
        return None
    return not_droppable(
        f"part {largest.name} has {largest.bytes_on_disk:,} bytes, and {tables.server} drops parts of at most"
        f" {most:,} bytes for this user (max_partition_size_to_drop)"
    )


def not_droppable(problem: str) -> Refusal:
    """Return the refusal of a partition with a part that is too large for a server to drop."""
    return Refusal(
        GateName.PARTS_DROPPABLE,
        problem,
        "Let the user change max_partition_size_to_drop: no constraint on it in its profiles. Or raise it"
        " where it is set, in the profile of the user or in the configuration of that server, which takes"
        " effect without a restart (SYSTEM RELOAD CONFIG). Then run again",
    )
