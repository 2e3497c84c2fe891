# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate at a partition that is not where its State says, or nowhere."""

from __future__ import annotations

from ..shard.facts import Whereabouts
from ..shard.location import Location, locate
from ..text import few
from .gate import Refusal


def refusal_of(partition: Whereabouts) -> Refusal:
    """Why a partition that is ABSENT or DRIFTED is not moved."""
    if locate(partition) is Location.ABSENT:
        return Refusal(
            "partition_exists",
            "no part of the partition is registered in either ensemble",
            "Check the partition id (system.parts.partition_id) and the shard path",
        )
    state = "absent" if partition.state is None else partition.state.data.decode(errors="backslashreplace")
    counts = few(
        f"{replica} has {len(partition.hot[replica])} in hot and {len(names)} in cold"
        for replica, names in partition.cold.items()
    )
    return Refusal(
        "not_drifted",
        f"State is {state} while of its parts {counts}",
        "Audit the partition and repair it before it is moved",
    )
