# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said of partitions that stay where they are, once a run has begun with them."""

from __future__ import annotations

from ...gates.gate import Refusal
from ...gates.names import GateName
from .record import TwinRecord


class Refused(Exception):
    """The partition stays as it is; ``failed`` where a person has to look at it."""

    def __init__(self, refusal: Refusal, *, failed: bool = False) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
        self.failed = failed


def absent() -> Refusal:
    """Return the refusal of a partition that neither table has."""
    return Refusal(
        GateName.PARTITION_EXISTS,
        "neither the table nor its twin has a part of it",
        "Check the partition id (system.parts.partition_id) and the shard path",
    )


def keeps_changing(problem: str) -> Refusal:
    """What to say of a partition that was attached a few times in vain; ``problem`` is what was seen."""
    return Refusal(
        GateName.CLONES_EQUAL,
        f"what was cloned is not what the source has, and was dropped: {problem or 'it keeps changing'}",
        "Run again when nothing is inserted into the partition or merged; where parts are not cloned because"
        " they were before, OPTIMIZE TABLE … PARTITION ID … FINAL",
    )


def too_large(record: TwinRecord) -> Refusal:
    """What to say of a partition with too many parts."""
    return Refusal(
        GateName.FITS_ONE_MULTI,
        f"it has {len(record.parts) + len(record.held)} parts, more than a record can hold",
        "OPTIMIZE TABLE … PARTITION ID … FINAL, and run again",
    )


def not_known(problem: str, path: str) -> Refusal:
    """What to say of a partition whose state is unknown; ``path`` is the one of its record."""
    return Refusal(
        GateName.TWIN_KNOWN,
        problem,
        "Nothing was dropped because of it. Compare what both tables have of the partition, drop by name what"
        f" is there twice, delete the znode {path} of hot, and run again",
    )
