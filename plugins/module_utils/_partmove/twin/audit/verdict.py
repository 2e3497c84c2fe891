# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict of an audit on a partition, a replica or the tables of a shard path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..move.tables import Side
from .kind import TwinKind

NO_PARTITION = ""
"""The partition of a verdict on a whole table."""
ALL_REPLICAS = ""
"""The replica of a verdict on all replicas."""


class ManualCheck(NamedTuple):
    """The rows to compare by hand, and the parts to drop if the rows are equal."""

    compare: Mapping[Side, tuple[str, ...]]
    """Parts whose rows should be equal; empty if no comparison is needed because the hashes are equal."""
    drop: tuple[tuple[Side, str], ...]
    """Parts that may be dropped after an equal comparison: table and name."""


class TwinVerdict(NamedTuple):
    """The kind of a partition or of a replica, with details.

    parts: names of the parts in question, sorted.
    reason: details; empty if the kind needs none.
    record: path of the znode of the record or of the ledger; empty if the verdict follows from neither.
    manual_check: for kinds that need manual action; else None.
    """

    kind: TwinKind
    parts: tuple[str, ...] = ()
    reason: str = ""
    record: str = ""
    manual_check: ManualCheck | None = None

    @property
    def can_wait(self) -> bool:
        """Whether the inconsistency is harmless so far; never for twins."""
        return False


Verdicts = Mapping[tuple[str, str], TwinVerdict]
"""Partition id and replica → verdict."""
